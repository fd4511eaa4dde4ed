/* test_precision.c - how precise a row is said to be: squared weights of its samples, held against the truth of
 * simulated threads. */
#include "profile/value_columns.h"
#include "profile/window_part.h"
#include "simulated_threads.h"
#include "window.h"

#define PERIOD_NS  1000u
#define NEAR(a, b) CHECK(fabs((a) - (b)) <= 1e-9 * fabs(b))

static rpp_carry_over carry_over;

static void add(rpp_profile *profile, uint32_t place, rpp_sample sample)
{
    sample.thread_seq = 1;
    sample.depth = 1;
    CHECK_OK(rpp_profile_add(profile, &sample, &(rpp_location){100 + place, 1}));
}

static rpp_profile *shared_out(rpp_profile *profile)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_profile_distribute(profile, PERIOD_NS, true, &carry_over);
    return profile;
}

/* --- one row after the other --- */

/* Samples that weigh 10,000 ns get 20,000 of the clock: each of them then weighs twice as much. */
TEST(the_squares_are_of_what_each_sample_got)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    for (int i = 0; i < 3; i++) add(profile, 0, (rpp_sample){.cpu_sampled_ns = 2000});
    add(profile, 1, (rpp_sample){.cpu_sampled_ns = 4000});
    CHECK_OK(rpp_profile_add(profile,
                             &(rpp_sample){.thread_seq = 1, .cpu_ns = 20000, .wall_ns = 5000, .is_total = true}, NULL));
    const rpp_row *rows = rpp_profile_rows(shared_out(profile));
    CHECK_INT(rows[0].cpu_ns, 12000);
    CHECK_INT(rows[0].samples, 3);
    NEAR(rows[0].squares.of[RPP_VALUE_CPU], 3 * 4000.0 * 4000.0);
    NEAR(rows[1].squares.of[RPP_VALUE_CPU], 8000.0 * 8000.0);
    CHECK_INT(rows[0].wall_ns, 15000); /* with the gaps, which nothing drew */
    NEAR(rows[0].squares.of[RPP_VALUE_WALL], 3 * 5000.0 * 5000.0);
    rpp_profile_free(profile);
}

TEST(what_was_timed_exactly_adds_nothing)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    add(profile, 0, (rpp_sample){.wall_ns = 7000, .state = RPP_STATE_BLOCKED});
    add(profile, 0, (rpp_sample){.wall_ns = 100, .wall_sampled_ns = 1000, .state = RPP_STATE_BLOCKED});
    CHECK_OK(rpp_profile_add(
        profile, &(rpp_sample){.thread_seq = 1, .wall_ns = 600, .state = RPP_STATE_BLOCKED, .is_total = true}, NULL));
    const rpp_row *row = rpp_profile_rows(shared_out(profile));
    CHECK_INT(row->wall_ns, 7700);
    CHECK_INT(row->samples, 2);
    NEAR(row->squares.of[RPP_VALUE_WALL], 600.0 * 600.0);
    rpp_profile_free(profile);
}

/* All of it is a guess. */
TEST(time_that_no_sample_found_is_as_uncertain_as_it_is_long)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    add(profile, 0, (rpp_sample){.wall_ns = 7000, .state = RPP_STATE_BLOCKED});
    CHECK_OK(rpp_profile_add(
        profile, &(rpp_sample){.thread_seq = 1, .wall_ns = 600, .state = RPP_STATE_WAITING, .is_total = true}, NULL));
    const rpp_row *rows = rpp_profile_rows(shared_out(profile));
    CHECK_INT(rpp_profile_row_count(profile), 2);
    CHECK_INT(rows[1].wall_ns, 600);
    CHECK_INT(rows[1].samples, 0);
    NEAR(rows[1].squares.of[RPP_VALUE_WALL], 600.0 * 600.0);
    rpp_profile_free(profile);
}

TEST(of_allocations_objects_and_bytes_have_their_own)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    add(profile, 0, (rpp_sample){.alloc_sampled = 10, .alloc_sampled_bytes = 400});
    add(profile, 0, (rpp_sample){.alloc_sampled = 10, .alloc_sampled_bytes = 800});
    CHECK_OK(rpp_profile_add(profile, &(rpp_sample){.alloc_objects = 40, .is_total = true}, NULL));
    const rpp_row *row = rpp_profile_rows(shared_out(profile));
    CHECK_INT(row->alloc_objects, 40);
    CHECK_INT(row->alloc_space, 2400);
    NEAR(row->squares.of[RPP_VALUE_ALLOC_OBJECTS], 2 * 20.0 * 20.0);
    NEAR(row->squares.of[RPP_VALUE_ALLOC_SPACE], 800.0 * 800.0 + 1600.0 * 1600.0);
    rpp_profile_free(profile);
}

/* The first part takes the samples along; what is late is a wait, which was timed. */
TEST(a_window_in_parts_has_its_samples_once)
{
    test_window window = window_open();
    rpp_location stack = {window_frame(&window, "f", "f.rb", false), 1};
    window_add(&window, (rpp_sample){.thread_seq = 1, .cpu_sampled_ns = 2000}, &stack, 1, NULL);
    window_add(&window, (rpp_sample){.thread_seq = 1, .cpu_ns = 3000, .is_total = true}, &stack, 1, NULL);
    shared_out(window.profile);
    rpp_profile *known = rpp_window_part_known(window.profile, window.names, &rpp_profile_default_limits);
    CHECK(known);
    CHECK_INT(rpp_profile_rows(known)->samples, 1);
    NEAR(rpp_profile_rows(known)->squares.of[RPP_VALUE_CPU], 3000.0 * 3000.0);
    CHECK_INT(rpp_profile_rows(window.profile)->samples, 0);
    CHECK(rpp_profile_rows(window.profile)->squares.of[RPP_VALUE_CPU] == 0);
    rpp_profile_free(known);
    window_close(&window);
}

/* --- columns --- */

static size_t names_of(unsigned mode, const char **names)
{
    rpp_column columns[RPP_COLUMNS_MAX];
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    size_t count = rpp_columns_of(profile, mode | RPP_MODE_PRECISION, columns);
    for (size_t i = 0; i < count; i++) names[i] = columns[i].type;
    rpp_profile_free(profile);
    return count;
}

static void check_names(unsigned mode, const char *const *expected)
{
    const char *names[RPP_COLUMNS_MAX];
    size_t count = names_of(mode, names), wanted = 0;
    while (expected[wanted]) wanted++;
    CHECK_INT(count, wanted);
    for (size_t i = 0; i < count; i++) CHECK_STR(names[i], expected[i]);
}

TEST(the_weight_has_its_squares_and_each_other_value_that_is_sampled)
{
    check_names(RPP_MODE_CPU, LABELS("cpu", "samples", "weight_squares"));
    check_names(RPP_MODE_CPU | RPP_MODE_WALL, LABELS("cpu", "wall", "samples", "weight_squares", "wall_squares"));
    check_names(RPP_MODE_WALL | RPP_MODE_ALLOC_OBJECTS | RPP_MODE_ALLOC_SPACE,
                LABELS("wall", "alloc_objects", "alloc_space", "samples", "weight_squares", "alloc_objects_squares",
                       "alloc_space_squares"));
    check_names(RPP_MODE_INUSE_OBJECTS | RPP_MODE_INUSE_SPACE, LABELS("inuse_objects", "inuse_space", "samples"));
    check_names(RPP_MODE_CUSTOM, LABELS(NULL));
}

TEST(what_no_integer_has_room_for_is_the_largest)
{
    rpp_column columns[RPP_COLUMNS_MAX];
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    CHECK_INT(rpp_columns_of(profile, RPP_MODE_CPU | RPP_MODE_PRECISION, columns), 3);
    CHECK_INT(rpp_column_at(&columns[2], &(rpp_row){.squares = {{16e12}}}), UINT64_C(16000000000000));
    CHECK_INT(rpp_column_at(&columns[2], &(rpp_row){.squares = {{1e30}}}), INT64_MAX);
    CHECK_INT(rpp_column_at(&columns[1], &(rpp_row){.samples = 7}), 7);
    rpp_profile_free(profile);
}

/* --- statistics --- */

typedef struct experiment {
    uint64_t period_ns, window_ns;
    double piece_ms, wait_ms; /* on average */
    unsigned threads, windows;
    double least; /* of a hundred intervals, so many have the truth in them */
} experiment;

typedef struct outcome {
    unsigned intervals, hits;
    double said, missed_by; /* sums of squares */
} outcome;

enum { METHODS = 10, WAITS = 4, FIRST_WAIT = 40, RUNS = 200 };

static void note(outcome *o, double seen_ns, double is_ns, double squares)
{
    o->intervals++;
    o->hits += fabs(seen_ns - is_ns) <= 2 * sqrt(squares);
    o->said += squares;
    o->missed_by += (seen_ns - is_ns) * (seen_ns - is_ns);
}

/* Pieces and waits follow each other at random; their lengths are random, too. */
static pattern shuffled(const experiment *e)
{
    pattern p = {.shuffled = true};
    for (uint8_t i = 0; i < METHODS; i++) {
        p.phases[p.count++] = (phase){.place = i, .to_ns = MS(2 * e->piece_ms)};
    }
    for (uint8_t i = 0; e->wait_ms > 0 && i < WAITS; i++) {
        p.phases[p.count++] =
            (phase){.state = RPP_STATE_BLOCKED, .place = (uint8_t)(FIRST_WAIT + i), .to_ns = MS(2 * e->wait_ms)};
    }
    return p;
}

static void run(const experiment *e, uint64_t seed, outcome *cpu, outcome *waits)
{
    static pattern patterns[8];
    static sim_world world;
    for (unsigned i = 0; i < e->threads; i++) patterns[i] = shuffled(e);
    sim_world_init(&world, seed, e->period_ns, MS(4));
    world.window_ns = e->window_ns;
    sim_run(&world, patterns, e->threads, e->windows);
    for (unsigned i = 0; i < METHODS; i++) {
        note(cpu, world.seen.cpu_ns[i][RPP_STATE_RUNNING], world.is.cpu_ns[i][RPP_STATE_RUNNING],
             world.seen.cpu_squares[i]);
    }
    for (unsigned i = FIRST_WAIT; e->wait_ms > 0 && i < FIRST_WAIT + WAITS; i++) {
        note(waits, world.seen.wall_ns[i][RPP_STATE_BLOCKED], world.is.wall_ns[i][RPP_STATE_BLOCKED],
             world.seen.wall_squares[i]);
    }
    sim_world_destroy(&world);
}

static void check_hits(const char *what, const outcome *o, double least)
{
    double hits = 100.0 * o->hits / o->intervals;
    if (hits < least) FAIL("%s: %.1f %% of the intervals have the truth in them, not %.1f %%", what, hits, least);
    /* An interval that is much too wide is always right, and of no use. */
    if (o->said > 9 * o->missed_by + 1) {
        FAIL("%s: the error is said to be %.2f times what it is", what, sqrt(o->said / o->missed_by));
    }
}

static outcome check_intervals(experiment e)
{
    outcome cpu = {0}, waits = {0};
    for (unsigned i = 0; i < RUNS; i++) run(&e, 1000 + i, &cpu, &waits);
    check_hits("methods", &cpu, e.least);
    if (e.wait_ms > 0) check_hits("waits", &waits, e.least);
    return cpu;
}

/* Two standard errors: 95 of 100, and more where the clocks' sum or the strata help. Here samples are as good as
 * independent, and a method has a tenth of the time. */
TEST_BY_NUMBERS(two_standard_errors_have_the_truth_in_them)
{
    experiment e = {
        .period_ns = MS(1), .window_ns = MS(2000), .piece_ms = 0.3, .threads = 1, .windows = 5, .least = 95};
    outcome o = check_intervals(e);
    CHECK(o.said < 1.5 * o.missed_by);
}

/* Ticks of such periods come in bursts of four: where a piece lasts for a burst, samples say the same several times. */
TEST_BY_NUMBERS(so_they_have_where_ticks_come_in_bursts)
{
    static const double pieces_ms[] = {0.3, 2, 5, 15};
    for (unsigned i = 0; i < sizeof pieces_ms / sizeof *pieces_ms; i++) {
        experiment e = {.period_ns = MS(10.1), .window_ns = MS(10000), .threads = 1, .windows = 3, .least = 93};
        e.piece_ms = pieces_ms[i];
        check_intervals(e);
    }
}

TEST_BY_NUMBERS(so_they_have_beside_short_waits)
{
    experiment e = {.period_ns = MS(10.1), .window_ns = MS(10000), .piece_ms = 2, .wait_ms = 1, .threads = 1};
    e.windows = 3;
    e.least = 94;
    check_intervals(e);
}

TEST_BY_NUMBERS(so_they_have_in_the_pool_of_threads_with_little_time)
{
    experiment e = {.period_ns = MS(10.1), .window_ns = MS(500), .piece_ms = 2, .wait_ms = 3, .threads = 8};
    e.windows = 40;
    e.least = 94;
    check_intervals(e);
}

/* Waits of a period or longer: to the nanosecond, apart from what the ends of windows cut. */
TEST_BY_NUMBERS(long_waits_are_certain)
{
    static sim_world world;
    pattern p = {.count = 2};
    p.phases[0] = (phase){.to_ns = MS(20)};
    p.phases[1] = (phase){.state = RPP_STATE_BLOCKED, .place = FIRST_WAIT, .from_ns = MS(11), .to_ns = MS(200)};
    sim_world_init(&world, 3, MS(10.1), MS(4));
    world.window_ns = MS(10000);
    sim_run(&world, &p, 1, 10);
    CHECK(world.seen.wall_ns[FIRST_WAIT][RPP_STATE_BLOCKED] > 8e9);
    CHECK(2 * sqrt(world.seen.wall_squares[FIRST_WAIT]) <= 0.001 * world.seen.wall_ns[FIRST_WAIT][RPP_STATE_BLOCKED]);
    CHECK(world.seen.cpu_squares[0] > 0);
    sim_world_destroy(&world);
}
