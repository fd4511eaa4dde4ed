/* test_distribution.c - sums by the clocks, shares by the samples, and integers that add up. */
#include "profile/distribution.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "test.h"

#define PERIOD 100u

static rpp_carry_over carry_over;

static rpp_row sampled_row(uint32_t thread_seq, uint64_t sampled_ns)
{
    return (rpp_row){.thread_seq = thread_seq, .cpu_sampled_ns = sampled_ns};
}

static void add_sum(rpp_distribution *shares, uint32_t thread_seq, rpp_state state, uint64_t cpu_ns, uint64_t wall_ns)
{
    rpp_sample sum = {
        .thread_seq = thread_seq, .state = (uint8_t)state, .cpu_ns = cpu_ns, .wall_ns = wall_ns, .is_total = true};
    rpp_distribution_add(shares, &sum, 0);
}

static rpp_unplaced give(rpp_distribution *shares, rpp_row *rows, size_t count, bool last)
{
    rpp_unplaced unplaced;
    rpp_distribution_rules how = {.period_ns = PERIOD, .last = last};
    rpp_distribution_give(shares, rows, count, &how, &carry_over, &unplaced);
    return unplaced;
}

TEST(a_busy_thread_shares_its_own)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {sampled_row(1, 300), sampled_row(1, 700), sampled_row(2, 500), sampled_row(2, 500)};
    add_sum(&shares, 1, RPP_STATE_RUNNING, 1201, 0);
    add_sum(&shares, 2, RPP_STATE_RUNNING, 2000, 0);
    give(&shares, rows, 4, false);
    CHECK_INT(rows[0].cpu_ns, 360);
    CHECK_INT(rows[1].cpu_ns, 841);
    CHECK_INT(rows[2].cpu_ns, 1000);
    CHECK_INT(rows[3].cpu_ns, 1000);
    CHECK_INT(rows[0].wall_ns, 360); /* what ran was wall time too */
    CHECK_INT(rows[0].cpu_sampled_ns, 0);
    CHECK_INT(carry_over.cpu_ns[RPP_STATE_RUNNING], 0);
}

/* Else whoever happens to be sampled would weigh less than who is not. */
TEST(threads_of_few_periods_are_one_pool)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {sampled_row(1, 100), sampled_row(3, 300)};
    add_sum(&shares, 1, RPP_STATE_RUNNING, 900, 0);
    add_sum(&shares, 2, RPP_STATE_RUNNING, 300, 0);
    add_sum(&shares, 3, RPP_STATE_RUNNING, 400, 0);
    give(&shares, rows, 2, false);
    CHECK_INT(rows[0].cpu_ns, 400);
    CHECK_INT(rows[1].cpu_ns, 1200);
}

/* However the pool weighs its samples: a thread has the wall time that it had. */
TEST(wall_time_is_each_threads_own)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {sampled_row(1, 100), sampled_row(1, 300), sampled_row(3, 100)};
    add_sum(&shares, 1, RPP_STATE_RUNNING, 900, 60); /* a gap that nothing drew goes with what ran */
    add_sum(&shares, 3, RPP_STATE_RUNNING, 70, 0);
    give(&shares, rows, 3, false);
    CHECK_INT(rows[0].cpu_ns, 100);
    CHECK_INT(rows[0].wall_ns, 240);
    CHECK_INT(rows[1].wall_ns, 720);
    CHECK_INT(rows[2].cpu_ns, 100);
    CHECK_INT(rows[2].wall_ns, 70);
}

/* Who lived too short to be sampled ran where samples weigh more than their threads had. */
TEST(unassigned_wall_time_goes_where_samples_weigh_too_much)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {sampled_row(1, 100), sampled_row(2, 100)};
    add_sum(&shares, 1, RPP_STATE_RUNNING, 40, 0);
    add_sum(&shares, 2, RPP_STATE_RUNNING, 80, 0);
    add_sum(&shares, 3, RPP_STATE_RUNNING, 110, 0);
    rpp_unplaced unplaced = give(&shares, rows, 2, false);
    CHECK_INT(rows[0].wall_sampled_ns, 60);
    CHECK_INT(rows[1].wall_sampled_ns, 20);
    CHECK_INT(unplaced.over_ns[RPP_STATE_RUNNING], 80);
    CHECK_INT(unplaced.unassigned[RPP_STATE_RUNNING], 80);
    CHECK_INT(carry_over.wall_ns[RPP_STATE_RUNNING], 30);
}

/* Many of them: that no sample found one is no chance. */
TEST(short_lives_without_a_sample_are_unknown)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    uint64_t all = 0;
    for (uint32_t thread = 1; thread <= 40; thread++) {
        rpp_sample sum = {
            .thread_seq = thread, .state = RPP_STATE_WAITING, .wall_ns = PERIOD / 2 + thread, .is_total = true};
        CHECK_OK(rpp_profile_add(profile, &sum, NULL));
        all += sum.wall_ns;
    }
    rpp_profile_distribute(profile, PERIOD, false, &carry_over);
    CHECK_INT(rpp_profile_row_count(profile), 1);
    CHECK_INT(rpp_profile_rows(profile)[0].wall_ns, all);
    CHECK_INT(rpp_profile_rows(profile)[0].state, RPP_STATE_WAITING);
    CHECK_INT(carry_over.wall_ns[RPP_STATE_WAITING], 0);
    rpp_profile_free(profile);
}

TEST(a_thread_without_a_sample_has_its_wall_time_where_it_was_seen)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {{.thread_seq = 2, .state = RPP_STATE_BLOCKED, .wall_ns = 500}, sampled_row(1, 100)};
    rpp_distribution_rules how = {.period_ns = PERIOD};
    rpp_stand_in wanted;
    size_t cursor = 0;
    add_sum(&shares, 1, RPP_STATE_RUNNING, 40, 0);
    add_sum(&shares, 2, RPP_STATE_RUNNING, 30, 5);
    add_sum(&shares, 3, RPP_STATE_RUNNING, 30, 5);
    add_sum(&shares, 4, RPP_STATE_WAITING, 0, RPP_MISSED_PERIODS * PERIOD); /* it lived long enough to be somebody */
    rpp_distribution_find_rows(&shares, rows, 2);
    CHECK(rpp_distribution_next_stand_in(&shares, &how, &cursor, &wanted));
    CHECK_INT(wanted.row, 0);
    CHECK_INT(wanted.state, RPP_STATE_RUNNING);
    CHECK(rpp_distribution_next_stand_in(&shares, &how, &cursor, &wanted));
    CHECK(wanted.row == RPP_NO_ROW && wanted.thread_seq == 4 && wanted.state == RPP_STATE_WAITING);
    CHECK(!rpp_distribution_next_stand_in(&shares, &how, &cursor, &wanted));
    rpp_distribution_destroy(&shares);
}

/* The leaf of an allocation is a class, where no time is spent. */
TEST(objects_are_no_place_for_time)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {{.thread_seq = 1, .state = RPP_STATE_BLOCKED, .wall_ns = 500},
                      {.thread_seq = 1, .alloc_sampled = 7},
                      {.thread_seq = 2, .alloc_objects = 1}};
    rpp_distribution_rules how = {.period_ns = PERIOD};
    rpp_stand_in wanted;
    size_t cursor = 0;
    add_sum(&shares, 1, RPP_STATE_RUNNING, 30, 5);
    add_sum(&shares, 2, RPP_STATE_WAITING, 0, RPP_MISSED_PERIODS * PERIOD);
    rpp_distribution_find_rows(&shares, rows, 3);
    CHECK(rpp_distribution_next_stand_in(&shares, &how, &cursor, &wanted));
    CHECK_INT(wanted.row, 0);
    CHECK(rpp_distribution_next_stand_in(&shares, &how, &cursor, &wanted));
    CHECK(wanted.row == RPP_NO_ROW && wanted.thread_seq == 2);
    rpp_distribution_destroy(&shares);
}

TEST(unseen_time_goes_to_no_object)
{
    rpp_location class_and_method[] = {{100, 0}, {101, 1}}, method = {102, 1};
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    rpp_carry_over none = {.waits = 0};
    rpp_sample ran = {.thread_seq = 1, .depth = 1, .cpu_ns = 10};
    rpp_sample object = {.thread_seq = 1, .depth = 2, .alloc_sampled = 1, .alloc_sampled_bytes = 40};
    rpp_sample sum = {.thread_seq = 1, .cpu_ns = PERIOD, .is_total = true};
    CHECK_OK(rpp_profile_add(profile, &ran, &method));
    CHECK_OK(rpp_profile_add(profile, &object, class_and_method));
    CHECK_OK(rpp_profile_add(profile, &sum, NULL));
    uint32_t stack_of_object = rpp_profile_rows(profile)[1].stack;
    rpp_profile_distribute(profile, PERIOD, true, &none);
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        if (row->stack == stack_of_object) CHECK_INT(row->cpu_ns, 0);
    }
    rpp_profile_free(profile);
}

TEST(a_small_pool_weighs_each_sample_as_sampled_and_keeps_the_rest)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {sampled_row(1, 100)};
    add_sum(&shares, 1, RPP_STATE_RUNNING, 30, 0);
    give(&shares, rows, 1, false);
    CHECK_INT(rows[0].cpu_ns, 100);
    CHECK_INT(carry_over.cpu_ns[RPP_STATE_RUNNING], -70);
    add_sum(&shares, 1, RPP_STATE_RUNNING, 90, 0);
    give(&shares, rows, 0, false);
    CHECK_INT(carry_over.cpu_ns[RPP_STATE_RUNNING], 20);
    rows[0] = sampled_row(1, 900); /* a large pool has its own */
    add_sum(&shares, 2, RPP_STATE_RUNNING, 1000, 0);
    give(&shares, rows, 1, false);
    CHECK_INT(rows[0].cpu_ns, 1000);
    CHECK_INT(carry_over.cpu_ns[RPP_STATE_RUNNING], 20);
}

/* As where ticks do not come. */
TEST(samples_get_a_rest_that_is_more_than_chance)
{
    static const struct {
        int64_t rest;
        bool all;
    } cases[] = {{-100, false}, {999, false}, {1000, true}, {20000, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t sum = 50; sum <= 950; sum += 900) { /* what is burnt now does not matter */
            carry_over = (rpp_carry_over){.cpu_ns = {cases[i].rest}};
            rpp_distribution shares = {0};
            rpp_row rows[] = {sampled_row(1, 50), sampled_row(2, 150)};
            add_sum(&shares, 1, RPP_STATE_RUNNING, sum, 0);
            uint64_t gives = cases[i].all ? (uint64_t)cases[i].rest + sum : 200;
            give(&shares, rows, 2, false);
            CHECK_INT(rows[0].cpu_ns, gives / 4);
            CHECK_INT(rows[1].cpu_ns, gives - gives / 4);
            CHECK_INT(carry_over.cpu_ns[RPP_STATE_RUNNING], cases[i].rest + (int64_t)sum - (int64_t)gives);
        }
    }
}

TEST(the_last_window_keeps_nothing)
{
    carry_over = (rpp_carry_over){.waits = 0};
    carry_over.cpu_ns[RPP_STATE_RUNNING] = 25;
    rpp_distribution shares = {0};
    rpp_row rows[] = {sampled_row(1, 100), sampled_row(2, 100)};
    add_sum(&shares, 1, RPP_STATE_RUNNING, 30, 0);
    rpp_line_totals unseen = give(&shares, rows, 2, true).unseen;
    CHECK_INT(rows[0].cpu_ns + rows[1].cpu_ns, 55);
    CHECK_INT(unseen.cpu_ns[RPP_STATE_RUNNING], 0);
    CHECK_INT(carry_over.cpu_ns[RPP_STATE_RUNNING], 0);
}

/* Ten periods that no tick found are no chance. */
TEST(much_time_without_a_sample_is_told)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    add_sum(&shares, 1, RPP_STATE_RUNNING, 999, 0);
    rpp_line_totals unseen = give(&shares, NULL, 0, false).unseen;
    CHECK_INT(unseen.cpu_ns[RPP_STATE_RUNNING], 0);
    add_sum(&shares, 1, RPP_STATE_RUNNING, 1000, 0);
    unseen = give(&shares, NULL, 0, false).unseen;
    CHECK_INT(unseen.cpu_ns[RPP_STATE_RUNNING], 1000);
    CHECK_INT(unseen.wall_ns[RPP_STATE_RUNNING], 1999); /* what ran was wall time too */
    CHECK_INT(carry_over.cpu_ns[RPP_STATE_RUNNING], 999);
}

TEST(few_samples_may_stand_for_much)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {sampled_row(8, 100)};
    for (uint32_t thread = 8; thread < 18; thread++) add_sum(&shares, thread, RPP_STATE_RUNNING, 400, 0);
    give(&shares, rows, 1, false);
    CHECK_INT(rows[0].cpu_ns, 4000);
    CHECK_INT(carry_over.cpu_ns[RPP_STATE_RUNNING], 0);
}

/* However many ticks come to others. */
TEST(a_busy_thread_without_a_sample_keeps_its_own)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {sampled_row(1, 100), sampled_row(2, 1)};
    rpp_distribution_rules how = {.period_ns = PERIOD};
    rpp_stand_in wanted;
    size_t cursor = 0;
    add_sum(&shares, 1, RPP_STATE_RUNNING, 1000, 0);
    add_sum(&shares, 2, RPP_STATE_RUNNING, 1500, 0);
    add_sum(&shares, 2, RPP_STATE_GC_MARKING, 1700, 0);
    rpp_distribution_find_rows(&shares, rows, 2);
    CHECK(rpp_distribution_next_stand_in(&shares, &how, &cursor, &wanted));
    CHECK(wanted.row == 1 && wanted.state == RPP_STATE_GC_MARKING && wanted.of_cpu && !wanted.of_wall);
    CHECK(!rpp_distribution_next_stand_in(&shares, &how, &cursor, &wanted));
    give(&shares, rows, 2, false);
    CHECK_INT(rows[0].cpu_ns, 1000);
    CHECK_INT(rows[1].cpu_ns, 1500);
}

TEST(states_and_kinds_are_lines_of_their_own)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_distribution shares = {0};
    rpp_row rows[] = {{.thread_seq = 1, .state = RPP_STATE_BLOCKED, .cpu_sampled_ns = 100, .wall_sampled_ns = 200},
                      {.thread_seq = 1, .state = RPP_STATE_BLOCKED, .wall_sampled_ns = 200},
                      {.thread_seq = 1, .state = RPP_STATE_RUNNING, .wall_sampled_ns = 100}};
    add_sum(&shares, 1, RPP_STATE_BLOCKED, 1100, 4000);
    add_sum(&shares, 1, RPP_STATE_RUNNING, 0, 1300);
    give(&shares, rows, 3, false);
    CHECK_INT(rows[0].cpu_ns, 1100);
    CHECK_INT(rows[0].wall_ns, 2000);
    CHECK_INT(rows[1].cpu_ns, 0);
    CHECK_INT(rows[1].wall_ns, 2000);
    CHECK_INT(rows[2].cpu_ns, 0);
    CHECK_INT(rows[2].wall_ns, 1300);
}

TEST(parts_add_up_to_the_whole)
{
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        uint64_t total = rpp_random_next(&random) >> (rpp_random_next(&random) % 64), parts[20], whole = 0, sum = 0;
        unsigned count = 1 + (unsigned)(rpp_random_next(&random) % 20);
        for (unsigned j = 0; j < count; j++) whole += parts[j] = 1 + (rpp_random_next(&random) >> (32 + i % 30));
        uint64_t before = 0;
        for (unsigned j = 0; j < count; j++) {
            sum += rpp_share_of(total, before, parts[j], whole);
            before += parts[j];
        }
        CHECK_INT(sum, total);
    }
}

/* Whatever is sampled of whatever threads, whichever allocation fails: what comes in goes out, or stays in the
 * carry_over. */
static void check_conservation(uint64_t seed, size_t failing)
{
    static rpp_row rows[64];
    uint64_t in = 0, out = 0;
    carry_over = (rpp_carry_over){.waits = 0};
    for (int window = 0; window < 6; window++) {
        rpp_distribution shares = {0};
        unsigned count = (unsigned)(rpp_random_next(&seed) % 64);
        rpp_alloc_fail_at(failing);
        for (int i = 0; i < 40; i++) {
            uint64_t cpu = rpp_random_next(&seed) % 1300, wall = rpp_random_next(&seed) % 300;
            rpp_state state = (rpp_state)(rpp_random_next(&seed) % RPP_STATE_COUNT);
            add_sum(&shares, 1 + (uint32_t)(rpp_random_next(&seed) % 9), state, cpu, wall);
            in += state == RPP_STATE_RUNNING ? 2 * cpu + wall : cpu + wall;
        }
        rpp_alloc_fail_at(0);
        for (unsigned i = 0; i < count; i++) {
            rows[i] = sampled_row(1 + (uint32_t)(rpp_random_next(&seed) % 10), rpp_random_next(&seed) % 3 * PERIOD);
            rows[i].wall_sampled_ns = rpp_random_next(&seed) % 3 * PERIOD;
            rows[i].state = (uint8_t)(rpp_random_next(&seed) % RPP_STATE_COUNT);
        }
        rpp_unplaced left = give(&shares, rows, count, window == 5);
        for (unsigned i = 0; i < count; i++) out += rows[i].cpu_ns + rows[i].wall_ns;
        for (unsigned i = 0; i < RPP_STATE_COUNT; i++) {
            out += left.unseen.cpu_ns[i] + left.unseen.wall_ns[i] + left.unassigned[i];
        }
    }
    for (unsigned i = 0; i < RPP_STATE_COUNT; i++) out += (uint64_t)(carry_over.cpu_ns[i] + carry_over.wall_ns[i]);
    CHECK_INT(out, in);
}

TEST(every_nanosecond_goes_to_one_row_or_stays_in_the_rest)
{
    for (uint64_t seed = 1; seed < 2000; seed++) check_conservation(seed * 77, seed % 5);
}

/* --- in a profile --- */

static void add_to(rpp_profile *profile, uint32_t thread_seq, uint64_t cpu_ns, uint64_t sampled_ns, uint32_t frame)
{
    rpp_location leaf = {frame, 1};
    rpp_sample sample = {
        .thread_seq = thread_seq, .cpu_ns = cpu_ns, .cpu_sampled_ns = sampled_ns, .is_total = cpu_ns > 0};
    sample.depth = sample.is_total ? 0 : 1;
    CHECK_OK(rpp_profile_add(profile, &sample, &leaf));
}

static uint64_t cpu_at(const rpp_profile *profile, uint32_t frame)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        uint32_t depth;
        const uint32_t *locations = rpp_stack_table_get(rpp_profile_stacks(profile), row->stack, &depth);
        if (rpp_stack_table_location(rpp_profile_stacks(profile), locations[0]).frame == frame) sum += row->cpu_ns;
    }
    return sum;
}

static void check_profile(const rpp_profile_limits *limits, uint32_t overflowed_to)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_profile *profile = rpp_profile_new(limits);
    for (uint32_t i = 0; i < 3; i++) add_to(profile, 1, 0, PERIOD, 100);
    for (uint32_t i = 0; i < 7; i++) add_to(profile, 1, 0, PERIOD, 101);
    for (uint32_t i = 0; i < 10; i++) add_to(profile, 2, 0, PERIOD, overflowed_to == 102 ? 102 : 103);
    add_to(profile, 1, 1500, 0, 0);
    add_to(profile, 2, 1500, 0, 0);
    rpp_profile_distribute(profile, PERIOD, false, &carry_over);
    CHECK_INT(cpu_at(profile, 100), 450);
    CHECK_INT(cpu_at(profile, 101), 1050);
    CHECK_INT(cpu_at(profile, overflowed_to), 1500);
    rpp_profile_free(profile);
}

TEST(a_profile_shares_out_when_it_is_closed)
{
    check_profile(&rpp_profile_default_limits, 102);
}

/* Each sample a row of its own. */
TEST(separate_rows_have_their_shares_too)
{
    rpp_profile_limits limits = rpp_profile_default_limits;
    limits.separate_rows = true;
    check_profile(&limits, 102);
}

TEST(samples_that_found_no_row_have_theirs_under_overflow)
{
    rpp_profile_limits limits = rpp_profile_default_limits;
    limits.max_rows = 2;
    check_profile(&limits, RPP_FRAME_OVERFLOW);
}

TEST(much_time_that_nothing_drew_is_unknown)
{
    carry_over = (rpp_carry_over){.waits = 0};
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    add_to(profile, 1, 5000, 0, 0);
    rpp_profile_distribute(profile, PERIOD, false, &carry_over);
    CHECK_INT(rpp_profile_row_count(profile), 1);
    CHECK_INT(cpu_at(profile, RPP_FRAME_UNKNOWN), 5000);
    CHECK_INT(rpp_profile_rows(profile)[0].wall_ns, 5000);
    rpp_profile_free(profile);
}
