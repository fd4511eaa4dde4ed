/* test_last_stacks.c - what is captured where a thread has no stack any more belongs to the latest that it had. */
#include "profile/last_stacks.h"

#include "test.h"

#define PERIOD  100u
#define NOWHERE RPP_FRAME_UNKNOWN

static rpp_carry_over carry_over;
static rpp_profile *profile;

static void begin(bool separate_rows)
{
    rpp_profile_limits limits = rpp_profile_default_limits;
    limits.separate_rows = separate_rows;
    carry_over = (rpp_carry_over){.waits = 0};
    profile = rpp_profile_new(&limits);
}

static void sampled(uint32_t thread_seq, rpp_state state, uint32_t frame, uint64_t cpu_sampled_ns)
{
    rpp_location stack = {frame, 0};
    rpp_sample sample = {.thread_seq = thread_seq,
                         .state = (uint8_t)state,
                         .depth = 1,
                         .cpu_sampled_ns = cpu_sampled_ns,
                         .wall_sampled_ns = 1};
    CHECK_OK(rpp_profile_add(profile, &sample, &stack));
}

static void clocked(uint32_t thread_seq, rpp_state state, uint64_t cpu_ns)
{
    rpp_sample sum = {
        .thread_seq = thread_seq, .state = (uint8_t)state, .cpu_ns = cpu_ns, .wall_ns = 10, .is_total = true};
    CHECK_OK(rpp_profile_add(profile, &sum, NULL));
}

static uint64_t cpu_at(uint32_t frame, rpp_state state)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        uint32_t depth;
        const uint32_t *stack = rpp_stack_table_get(rpp_profile_stacks(profile), row->stack, &depth);
        bool is_there = rpp_stack_table_location(rpp_profile_stacks(profile), stack[0]).frame == frame;
        if (is_there && row->state == state) sum += row->cpu_ns;
    }
    return sum;
}

static void end(bool last)
{
    if (last) rpp_give_last_stacks(profile);
    rpp_profile_distribute(profile, PERIOD, last, &carry_over);
}

/* A server that waited for its signal. */
TEST(the_end_is_the_latest_stacks)
{
    for (int separate_rows = 0; separate_rows < 2; separate_rows++) {
        begin(separate_rows);
        sampled(1, RPP_STATE_BLOCKED, 100, 0);
        sampled(1, RPP_STATE_RUNNING, NOWHERE, PERIOD);
        clocked(1, RPP_STATE_RUNNING, 700);
        end(true);
        CHECK_INT(cpu_at(100, RPP_STATE_RUNNING), 700);
        CHECK_INT(cpu_at(NOWHERE, RPP_STATE_RUNNING), 0);
        rpp_profile_free(profile);
    }
}

TEST(the_same_state_comes_first)
{
    begin(false);
    sampled(1, RPP_STATE_RUNNING, 100, 0);
    sampled(1, RPP_STATE_BLOCKED, 101, 0);
    sampled(2, RPP_STATE_RUNNING, 102, 0);
    sampled(1, RPP_STATE_RUNNING, NOWHERE, PERIOD);
    clocked(1, RPP_STATE_RUNNING, 300);
    size_t rows = rpp_profile_row_count(profile);
    end(true);
    CHECK_INT(cpu_at(100, RPP_STATE_RUNNING), 300);
    CHECK(rpp_profile_row_count(profile) < rows + 1);
    rpp_profile_free(profile);
}

TEST(before_the_end_no_stack_is_no_stack)
{
    begin(false);
    sampled(1, RPP_STATE_RUNNING, 100, 0);
    sampled(1, RPP_STATE_RUNNING, NOWHERE, 3000);
    clocked(1, RPP_STATE_RUNNING, 3000);
    end(false);
    CHECK_INT(cpu_at(NOWHERE, RPP_STATE_RUNNING), 3000);
    rpp_profile_free(profile);
}

/* The end of a program is no part of its last request. */
TEST(other_labels_are_other_stacks)
{
    rpp_label pair = {"endpoint", "GET /", 8, 5};
    rpp_label_set *labels;
    rpp_location stack = {100, 0};
    CHECK_OK(rpp_label_set_merge(NULL, &pair, 1, &labels));
    rpp_sample request = {.thread_seq = 1, .depth = 1, .wall_sampled_ns = 1, .labels = labels};
    begin(false);
    CHECK_OK(rpp_profile_add(profile, &request, &stack));
    sampled(1, RPP_STATE_RUNNING, NOWHERE, PERIOD);
    clocked(1, RPP_STATE_RUNNING, 300);
    end(true);
    CHECK_INT(cpu_at(100, RPP_STATE_RUNNING), 0);
    CHECK_INT(cpu_at(NOWHERE, RPP_STATE_RUNNING), 300);
    rpp_label_set_release(labels);
    rpp_profile_free(profile);
}

TEST(a_thread_that_had_none_has_none)
{
    begin(false);
    sampled(1, RPP_STATE_RUNNING, 100, 0);
    sampled(2, RPP_STATE_RUNNING, NOWHERE, PERIOD);
    clocked(2, RPP_STATE_RUNNING, 300);
    end(true);
    CHECK_INT(cpu_at(NOWHERE, RPP_STATE_RUNNING), 300);
    rpp_profile_free(profile);
}

/* Threads that begin have waited for the GVL without a stack. */
TEST(a_wait_for_the_gvl_stays)
{
    begin(false);
    sampled(1, RPP_STATE_WAITING, NOWHERE, PERIOD);
    sampled(1, RPP_STATE_RUNNING, 100, 0);
    clocked(1, RPP_STATE_WAITING, 300);
    end(true);
    CHECK_INT(cpu_at(NOWHERE, RPP_STATE_WAITING), 300);
    rpp_profile_free(profile);
}

/* Time that no sample found in its state goes to a row that has a stack, up to what may be kept for the last window. */
TEST(a_rest_has_a_stack)
{
    begin(false);
    sampled(1, RPP_STATE_RUNNING, 100, 0);
    sampled(2, RPP_STATE_WAITING, NOWHERE, 0);
    carry_over.cpu_ns[RPP_STATE_GC_MARKING] = (RPP_OWN_PERIODS - 1) * PERIOD;
    end(true);
    CHECK_INT(cpu_at(100, RPP_STATE_GC_MARKING), (RPP_OWN_PERIODS - 1) * PERIOD);
    carry_over.cpu_ns[RPP_STATE_GC_MARKING] = RPP_OWN_PERIODS * PERIOD;
    end(true);
    CHECK_INT(cpu_at(NOWHERE, RPP_STATE_GC_MARKING), RPP_OWN_PERIODS * PERIOD);
    rpp_profile_free(profile);
}
