/* test_profile.c - sums that stay true, with room and without. */
#include "profile/profile.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/custom_values.h"
#include "base/stats.h"
#include "sampling/frame_names.h"
#include "test.h"

static rpp_sample sample_of(uint64_t cpu_ns, uint64_t wall_ns, uint32_t thread_seq, rpp_state state, uint32_t depth)
{
    return (rpp_sample){
        .cpu_ns = cpu_ns, .wall_ns = wall_ns, .thread_seq = thread_seq, .state = (uint8_t)state, .depth = depth};
}

static rpp_label_set *labels_of(const char *value)
{
    rpp_label_set *set = NULL;
    rpp_label label = {"k", value, 1, (uint32_t)strlen(value)};
    CHECK_OK(rpp_label_set_merge(NULL, &label, 1, &set));
    return set;
}

/* The frame at the leaf of a row. */
static uint32_t leaf_of(const rpp_profile *profile, const rpp_row *row)
{
    uint32_t depth;
    const uint32_t *locations = rpp_stack_table_get(rpp_profile_stacks(profile), row->stack, &depth);
    return depth ? rpp_stack_table_location(rpp_profile_stacks(profile), locations[0]).frame : 0;
}

TEST(the_same_row_is_added_up)
{
    rpp_location stack[] = {{100, 1}, {101, 2}};
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    CHECK_INT(rpp_profile_row_count(profile), 0);
    for (uint64_t i = 1; i <= 3; i++) {
        rpp_sample sample = sample_of(i, i * 10, 1, RPP_STATE_RUNNING, 2);
        CHECK_OK(rpp_profile_add(profile, &sample, stack));
    }
    CHECK_INT(rpp_profile_row_count(profile), 1);
    const rpp_row *row = rpp_profile_rows(profile);
    CHECK_INT(row->cpu_ns, 6);
    CHECK_INT(row->wall_ns, 60);
    CHECK_INT(row->samples, 3);
    CHECK_INT(leaf_of(profile, row), 100);
    rpp_profile_free(profile);
    rpp_profile_free(NULL);
}

TEST(stack_labels_thread_and_state_tell_rows_apart)
{
    rpp_location stack[] = {{100, 1}, {101, 2}};
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    rpp_sample base = sample_of(1, 1, 1, RPP_STATE_RUNNING, 2), other[4] = {base, base, base, base};
    other[0].depth = 1;
    other[1].labels = labels_of("v");
    other[2].thread_seq = 2;
    other[3].state = RPP_STATE_WAITING;
    CHECK_OK(rpp_profile_add(profile, &base, stack));
    for (int i = 0; i < 4; i++) CHECK_OK(rpp_profile_add(profile, &other[i], stack));
    CHECK_INT(rpp_profile_row_count(profile), 5);
    const rpp_row *rows = rpp_profile_rows(profile);
    CHECK(rows[1].stack != rows[0].stack);
    CHECK_INT(rows[2].labels, 1);
    CHECK(rpp_label_sets_get(rpp_profile_label_sets(profile), 1) == other[1].labels);
    CHECK_INT(rows[3].thread_seq, 2);
    CHECK_INT(rows[4].state, RPP_STATE_WAITING);
    rpp_label_set_release(other[1].labels);
    rpp_profile_free(profile);
}

/* Numbers of the program's own: each has rows of its own, also where there is no room. */
TEST(each_value_of_the_program_keeps_its_sum)
{
    rpp_profile_limits limits = {.stacks = {10, 2, 10}, .max_label_sets = 10, .max_rows = 2};
    rpp_profile *profile = rpp_profile_new(&limits);
    uint64_t sums[4] = {0};
    for (uint32_t i = 0; i < 30; i++) {
        rpp_location stack = {100 + i / 3, 1};
        rpp_sample sample = {.thread_seq = 1, .depth = 1, .custom = i + 1, .custom_id = (uint8_t)(i % 3 + 1)};
        CHECK_OK(rpp_profile_add(profile, &sample, &stack));
    }
    rpp_sample timed = sample_of(7, 7, 1, RPP_STATE_RUNNING, 1);
    CHECK_OK(rpp_profile_add(profile, &timed, &(rpp_location){200, 1}));
    CHECK_INT(rpp_profile_custom_values(profile), 1 << 1 | 1 << 2 | 1 << 3);
    rpp_profile_close(profile, 1, 1);
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        CHECK_INT(row->custom_id ? row->cpu_ns : row->custom, 0);
        sums[row->custom_id] += row->custom + row->cpu_ns;
    }
    CHECK_INT(rpp_profile_row_count(profile), 2 + 4);
    CHECK_INT(sums[0], 7);
    CHECK_INT(sums[1], 145);
    CHECK_INT(sums[2], 155);
    CHECK_INT(sums[3], 165);
    rpp_sample unknown = {.custom_id = RPP_CUSTOM_MAX + 1};
    CHECK_INT(rpp_profile_add(profile, &unknown, NULL), RPP_INVALID);
    rpp_profile_free(profile);
}

TEST(a_closed_profile_knows_its_time)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    rpp_profile_close(profile, 1700000000, 10);
    CHECK_INT(rpp_profile_time_ns(profile), 1700000000);
    CHECK_INT(rpp_profile_duration_ns(profile), 10);
    rpp_profile_free(profile);
}

TEST(a_state_that_does_not_exist_is_refused)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    rpp_sample sample = sample_of(1, 1, 1, RPP_STATE_COUNT, 0);
    CHECK_INT(rpp_profile_add(profile, &sample, NULL), RPP_INVALID);
    CHECK_INT(rpp_profile_row_count(profile), 0);
    rpp_profile_free(profile);
}

TEST(a_stack_that_does_not_fit_keeps_its_thread_state_and_labels)
{
    rpp_profile_limits limits = {.stacks = {10, 1, 10}, .max_label_sets = 10, .max_rows = 10};
    rpp_profile *profile = rpp_profile_new(&limits);
    rpp_location first = {100, 1}, second = {200, 1};
    rpp_stats_reset();
    rpp_sample sample = sample_of(1, 2, 7, RPP_STATE_BLOCKED, 1);
    CHECK_OK(rpp_profile_add(profile, &sample, &first));
    CHECK_INT(rpp_stats_get(RPP_STAT_samples_overflowed), 0);
    sample.labels = labels_of("v");
    CHECK_OK(rpp_profile_add(profile, &sample, &second));
    CHECK_INT(rpp_stats_get(RPP_STAT_samples_overflowed), 1);
    const rpp_row *rows = rpp_profile_rows(profile);
    CHECK_INT(rpp_profile_row_count(profile), 2);
    CHECK_INT(leaf_of(profile, &rows[0]), 100);
    CHECK_INT(leaf_of(profile, &rows[1]), RPP_FRAME_OVERFLOW);
    CHECK_INT(rows[1].thread_seq, 7);
    CHECK_INT(rows[1].state, RPP_STATE_BLOCKED);
    CHECK_INT(rows[1].labels, 1);
    rpp_label_set_release(sample.labels);
    rpp_profile_free(profile);
}

TEST(labels_that_do_not_fit_go_with_their_stack)
{
    rpp_profile_limits limits = {.stacks = {10, 10, 10}, .max_label_sets = 1, .max_rows = 10};
    rpp_profile *profile = rpp_profile_new(&limits);
    rpp_location leaf = {100, 1};
    const char *values[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        rpp_sample sample = sample_of(1, 2, 7, RPP_STATE_RUNNING, 1);
        sample.labels = labels_of(values[i]);
        CHECK_OK(rpp_profile_add(profile, &sample, &leaf));
        rpp_label_set_release(sample.labels);
    }
    const rpp_row *rows = rpp_profile_rows(profile);
    CHECK_INT(rpp_profile_row_count(profile), 2);
    CHECK_INT(rows[0].labels, 1);
    CHECK_INT(rows[1].labels, 0);
    CHECK_INT(rows[1].thread_seq, 7);
    CHECK_INT(leaf_of(profile, &rows[1]), RPP_FRAME_OVERFLOW);
    rpp_profile_free(profile);
}

TEST(what_finds_no_row_goes_to_the_last_row_of_its_state)
{
    rpp_profile_limits limits = {.stacks = {100, 100, 100}, .max_label_sets = 1, .max_rows = 2};
    rpp_profile *profile = rpp_profile_new(&limits);
    for (uint32_t i = 0; i < 30; i++) {
        rpp_location leaf = {100 + i, 1};
        rpp_sample sample = sample_of(1, 2, i + 1, (rpp_state)(i % RPP_STATE_COUNT), 1);
        CHECK_OK(rpp_profile_add(profile, &sample, &leaf));
    }
    CHECK_INT(rpp_profile_row_count(profile), 2 + RPP_STATE_COUNT);
    const rpp_row *rows = rpp_profile_rows(profile);
    uint64_t samples = 0;
    for (int i = 0; i < 2 + RPP_STATE_COUNT; i++) {
        samples += rows[i].samples;
        if (i < 2) continue;
        CHECK_INT(leaf_of(profile, &rows[i]), RPP_FRAME_OVERFLOW);
        CHECK_INT(rows[i].thread_seq, 0);
        CHECK_INT(rows[i].labels, 0);
        CHECK_INT(rows[i].cpu_ns, rows[i].samples);
    }
    CHECK_INT(samples, 30);
    /* What has a row keeps it. */
    rpp_location leaf = {100, 1};
    rpp_sample sample = sample_of(5, 5, 1, RPP_STATE_RUNNING, 1);
    CHECK_OK(rpp_profile_add(profile, &sample, &leaf));
    CHECK_INT(rpp_profile_rows(profile)[0].cpu_ns, 6);
    rpp_profile_free(profile);
}

TEST(with_no_room_at_all_totals_are_true)
{
    rpp_profile_limits none = {.stacks = {0, 0, 0}, .max_label_sets = 0, .max_rows = 0};
    rpp_profile *profile = rpp_profile_new(&none);
    rpp_location leaf = {100, 1};
    for (int i = 0; i < 10; i++) {
        rpp_sample sample = sample_of(3, 4, 1, RPP_STATE_RUNNING, 1);
        CHECK_OK(rpp_profile_add(profile, &sample, &leaf));
    }
    CHECK_INT(rpp_profile_row_count(profile), 1);
    CHECK_INT(rpp_profile_rows(profile)->cpu_ns, 30);
    CHECK_INT(rpp_profile_rows(profile)->wall_ns, 40);
    rpp_profile_free(profile);
}

/* --- names --- */

TEST(a_profile_is_named_when_all_its_frames_are)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    rpp_frame_names *names = rpp_frame_names_new(2000);
    CHECK_OK(rpp_frame_names_ensure(names, 3));
    uint32_t inner = rpp_frame_names_reserve(names), outer = rpp_frame_names_reserve(names);
    uint32_t elsewhere = rpp_frame_names_reserve(names);
    CHECK(inner && outer && elsewhere);
    CHECK(rpp_profile_is_named(profile, names));

    rpp_location stack[] = {{inner, 1}, {outer, 2}, {RPP_FRAME_TRUNCATED, 0}};
    rpp_sample sample = sample_of(1, 1, 1, RPP_STATE_RUNNING, 3);
    CHECK_OK(rpp_profile_add(profile, &sample, stack));
    CHECK(!rpp_profile_is_named(profile, names));
    CHECK_OK(rpp_frame_names_set(names, inner, "f", 1, "", 0, 0, false));
    CHECK(!rpp_profile_is_named(profile, names));
    CHECK_OK(rpp_frame_names_set(names, outer, "g", 1, "", 0, 0, false));
    CHECK(rpp_profile_is_named(profile, names));
    rpp_frame_names_free(names);
    rpp_profile_free(profile);
}

/* --- the same as a plain list --- */

enum { SAMPLES = 4000, VALUES = 6 };

typedef struct plain_row {
    uint32_t frame, line, depth, value, thread_seq, state;
    uint64_t cpu_ns, wall_ns, samples;
} plain_row;

static bool same_key(const plain_row *a, const plain_row *b)
{
    return a->frame == b->frame && a->line == b->line && a->depth == b->depth && a->value == b->value &&
           a->thread_seq == b->thread_seq && a->state == b->state;
}

static void compare_with_list(uint64_t seed)
{
    static plain_row list[SAMPLES];
    size_t count = 0;
    rpp_label_set *values[VALUES] = {NULL,           labels_of("1"), labels_of("2"),
                                     labels_of("3"), labels_of("4"), labels_of("5")};
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t some = rpp_random_next(&seed) >> 8;
        plain_row key = {.frame = 100 + some % 7,
                         .line = some / 7 % 3,
                         .depth = some / 21 % 3,
                         .value = some / 63 % VALUES,
                         .thread_seq = 1 + some / 378 % 3,
                         .state = some / 1134 % RPP_STATE_COUNT};
        if (!key.depth) key.frame = key.line = 0;
        key.cpu_ns = some % 1000;
        key.wall_ns = some % 10007;

        size_t at = 0;
        while (at < count && !same_key(&list[at], &key)) at++;
        if (at == count) {
            list[count++] = key;
        } else {
            list[at].cpu_ns += key.cpu_ns;
            list[at].wall_ns += key.wall_ns;
        }
        list[at].samples++;

        rpp_location stack[] = {{key.frame, key.line}, {key.frame, key.line}};
        rpp_sample sample = sample_of(key.cpu_ns, key.wall_ns, key.thread_seq, (rpp_state)key.state, key.depth);
        sample.labels = values[key.value];
        CHECK_OK(rpp_profile_add(profile, &sample, stack));
    }
    CHECK_INT(rpp_profile_row_count(profile), count);
    for (size_t i = 0; i < count; i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        CHECK_INT(row->cpu_ns, list[i].cpu_ns);
        CHECK_INT(row->wall_ns, list[i].wall_ns);
        CHECK_INT(row->samples, list[i].samples);
        CHECK_INT(row->thread_seq, list[i].thread_seq);
        CHECK_INT(row->state, list[i].state);
        CHECK_INT(leaf_of(profile, row), list[i].frame);
        CHECK(rpp_label_sets_get(rpp_profile_label_sets(profile), row->labels) == values[list[i].value]);
    }
    for (int i = 0; i < VALUES; i++) rpp_label_set_release(values[i]);
    rpp_profile_free(profile);
}

TEST(it_is_the_same_as_a_plain_list)
{
    for (uint64_t seed = 1; seed <= 5; seed++) compare_with_list(seed);
}

/* Whatever the limits and whichever allocation fails: per state, the weights come out as they went in. */
static size_t check_totals(const rpp_profile_limits *limits, uint64_t seed, size_t failing)
{
    uint64_t expected[RPP_STATE_COUNT] = {0}, actual[RPP_STATE_COUNT] = {0};
    rpp_label_set *values[VALUES] = {NULL,           labels_of("1"), labels_of("2"),
                                     labels_of("3"), labels_of("4"), labels_of("5")};
    rpp_alloc_fail_at(failing);
    rpp_profile *profile = rpp_profile_new(limits);
    for (int i = 0; profile && i < 400; i++) {
        uint64_t some = rpp_random_next(&seed) >> 8;
        rpp_location stack[] = {{100 + some % 40, some % 3}, {100, 1}};
        rpp_sample sample =
            sample_of(some % 1000, some % 777, 1 + some % 5, (rpp_state)(some % RPP_STATE_COUNT), some % 3);
        sample.labels = values[some / 5 % VALUES];
        expected[sample.state] += sample.cpu_ns + sample.wall_ns * 1000000;
        CHECK_OK(rpp_profile_add(profile, &sample, stack));
    }
    size_t asked = rpp_alloc_count();
    rpp_alloc_fail_at(0);
    for (size_t i = 0; profile && i < rpp_profile_row_count(profile); i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        actual[row->state] += row->cpu_ns + row->wall_ns * 1000000;
    }
    for (int i = 0; i < RPP_STATE_COUNT; i++) CHECK_INT(actual[i], expected[i]);
    for (int i = 0; i < VALUES; i++) rpp_label_set_release(values[i]);
    rpp_profile_free(profile);
    return asked;
}

TEST(totals_are_true_at_every_limit)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t some = seed;
        rpp_random_next(&some);
        rpp_profile_limits limits = {
            .stacks = {some % 60, some / 60 % 90, some / 5400 % 150},
            .max_label_sets = some / 7 % 6,
            .max_rows = some / 11 % 200,
        };
        check_totals(&limits, seed, 0);
    }
}

TEST(totals_are_true_whichever_allocation_fails)
{
    size_t asked = check_totals(&rpp_profile_default_limits, 1, 0);
    CHECK(asked > 10);
    for (size_t nth = 1; nth <= asked; nth++) check_totals(&rpp_profile_default_limits, 1, nth);
}

/* --- outcomes of requests --- */

/* A sample of a request, whose labels the profile keeps. */
static void add_of_request(rpp_profile *profile, rpp_outcome *outcome, uint64_t cpu_ns, const rpp_location *stack)
{
    rpp_label_set *base = labels_of("v"), *set = NULL;
    CHECK_OK(rpp_label_set_with_outcome(base, outcome, &set));
    rpp_sample sample = sample_of(cpu_ns, 10 * cpu_ns, 1, RPP_STATE_RUNNING, 1);
    sample.labels = set;
    CHECK_OK(rpp_profile_add(profile, &sample, stack));
    rpp_label_set_release(base);
    rpp_label_set_release(set);
}

static const char *labels_text(const rpp_profile *profile, const rpp_row *row)
{
    static char text[256];
    const rpp_label_set *set = rpp_label_sets_get(rpp_profile_label_sets(profile), row->labels);
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < rpp_label_set_count(set); i++) {
        rpp_label label = rpp_label_set_at(set, i);
        length += (size_t)snprintf(text + length, sizeof text - length, "%s=%s ", label.key, label.value);
    }
    return text;
}

/* Three requests, of which two end alike and one does not end, and two stacks. */
static rpp_profile *profile_of_requests(bool separate_rows, rpp_outcome **outcomes)
{
    rpp_location stacks[] = {{100, 1}, {200, 1}};
    rpp_profile_limits limits = rpp_profile_default_limits;
    limits.separate_rows = separate_rows;
    rpp_profile *profile = rpp_profile_new(&limits);
    for (int i = 0; i < 3; i++) outcomes[i] = rpp_outcome_new(0);
    for (unsigned i = 0; i < 3; i++) add_of_request(profile, outcomes[i], i + 1, &stacks[0]);
    add_of_request(profile, outcomes[1], 100, &stacks[1]);
    add_of_request(profile, outcomes[0], 1000, &stacks[0]);
    rpp_outcome_end(outcomes[0], 200, RPP_SLOW_NO);
    rpp_outcome_end(outcomes[2], 200, RPP_SLOW_NO);
    return profile;
}

TEST(requests_that_end_alike_are_one_row_when_the_window_is_closed)
{
    rpp_outcome *outcomes[3];
    rpp_stats_reset();
    rpp_profile *profile = profile_of_requests(false, outcomes);
    CHECK_INT(rpp_profile_row_count(profile), 4);
    rpp_profile_close(profile, 1, 2);
    CHECK_INT(rpp_profile_row_count(profile), 3);
    const rpp_row *rows = rpp_profile_rows(profile);
    CHECK_STR(labels_text(profile, &rows[0]), "k=v slow=false status=2xx ");
    CHECK_INT(rows[0].cpu_ns, 1 + 1000 + 3);
    CHECK_INT(rows[0].wall_ns, 10 * (1 + 1000 + 3));
    CHECK_INT(rows[0].samples, 3);
    CHECK_STR(labels_text(profile, &rows[1]), "k=v status=open ");
    CHECK_INT(rows[1].cpu_ns, 2);
    CHECK_STR(labels_text(profile, &rows[2]), "k=v status=open ");
    CHECK_INT(rpp_stats_get(RPP_STAT_requests_ns), 10 * (1 + 2 + 3 + 100 + 1000));
    CHECK_INT(rpp_stats_get(RPP_STAT_requests_open_ns), 10 * (2 + 100));
    CHECK_INT(leaf_of(profile, &rows[2]), 200);
    for (int i = 0; i < 3; i++) rpp_outcome_release(outcomes[i]);
    rpp_profile_free(profile);
}

TEST(separate_rows_are_labelled_and_stay_separate)
{
    rpp_outcome *outcomes[3];
    rpp_profile *profile = profile_of_requests(true, outcomes);
    rpp_profile_close(profile, 1, 2);
    CHECK_INT(rpp_profile_row_count(profile), 5);
    CHECK_STR(labels_text(profile, &rpp_profile_rows(profile)[4]), "k=v slow=false status=2xx ");
    for (int i = 0; i < 3; i++) rpp_outcome_release(outcomes[i]);
    rpp_profile_free(profile);
}

/* Sums are the same with memory and without. */
TEST(closing_requests_survives_every_failing_allocation)
{
    size_t asked = 1;
    for (size_t nth = 1; nth <= asked + 1; nth++) {
        rpp_outcome *outcomes[3];
        uint64_t cpu_ns = 0;
        rpp_profile *profile = profile_of_requests(false, outcomes);
        rpp_alloc_fail_at(nth);
        rpp_profile_close(profile, 1, 2);
        asked = rpp_alloc_count() > asked ? rpp_alloc_count() : asked;
        rpp_alloc_fail_at(0);
        for (size_t i = 0; i < rpp_profile_row_count(profile); i++) cpu_ns += rpp_profile_rows(profile)[i].cpu_ns;
        CHECK_INT(cpu_ns, 1 + 2 + 3 + 100 + 1000);
        CHECK_INT(rpp_profile_row_count(profile), nth > asked ? 3 : 4);
        for (int i = 0; i < 3; i++) rpp_outcome_release(outcomes[i]);
        rpp_profile_free(profile);
    }
    CHECK(asked > 5);
}

/* What found no place goes on having its row, whatever came before it. */
TEST(the_last_rows_stay_when_requests_become_one_row)
{
    rpp_location leaf = {100, 1}, other = {200, 1};
    rpp_profile_limits limits = {.stacks = {10, 10, 10}, .max_label_sets = 10, .max_rows = 2};
    rpp_profile *profile = rpp_profile_new(&limits);
    rpp_outcome *outcomes[] = {rpp_outcome_new(0), rpp_outcome_new(0)};
    for (int i = 0; i < 2; i++) add_of_request(profile, outcomes[i], 1, &leaf);
    rpp_sample sample = sample_of(7, 7, 1, RPP_STATE_RUNNING, 1);
    for (int i = 0; i < 2; i++) CHECK_OK(rpp_profile_add(profile, &sample, &other));
    CHECK_INT(rpp_profile_row_count(profile), 3);
    for (int i = 0; i < 2; i++) rpp_outcome_end(outcomes[i], 500, RPP_SLOW_YES);
    rpp_profile_close(profile, 1, 2);
    const rpp_row *rows = rpp_profile_rows(profile);
    CHECK_INT(rpp_profile_row_count(profile), 2);
    CHECK_INT(rows[0].cpu_ns, 2);
    CHECK_INT(rows[1].cpu_ns, 14);
    CHECK_INT(leaf_of(profile, &rows[1]), RPP_FRAME_OVERFLOW);
    for (int i = 0; i < 2; i++) rpp_outcome_release(outcomes[i]);
    rpp_profile_free(profile);
}
