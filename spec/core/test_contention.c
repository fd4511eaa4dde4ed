/* test_contention.c - waits are counted exactly, by samples or by a counter, and found by the frame that they wait in.
 * */
#include "profile/contention.h"

#include "base/clock.h"
#include "sampling/time_account.h"
#include "test.h"

#define PERIOD_NS (10 * RPP_NS_PER_MS)

/* --- which rows --- */

static uint32_t named(rpp_frame_names *names, const char *name)
{
    CHECK_OK(rpp_frame_names_ensure(names, 1));
    uint32_t id = rpp_frame_names_reserve(names);
    CHECK_OK(rpp_frame_names_set(names, id, name, strlen(name), "", 0, 0, false));
    return id;
}

/* The row of a wait that lasted 7 ms: 2 waits, in this frame, called by that one. */
static rpp_row row_of_wait(const char *leaf, const char *caller, rpp_state state)
{
    rpp_frame_names *names = rpp_frame_names_new(RPP_FRAME_FIRST + 2);
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    rpp_location stack[] = {{named(names, leaf), 0}, {named(names, caller), 3}};
    rpp_sample sample = {.wall_ns = 7, .contentions = 2, .thread_seq = 1, .depth = 2, .state = (uint8_t)state};
    CHECK_OK(rpp_profile_add(profile, &sample, stack));
    rpp_find_contentions(profile, names);
    rpp_find_contentions(profile, names); /* asking again changes nothing */
    rpp_row row = rpp_profile_rows(profile)[0];
    CHECK_INT(row.wall_ns, 7);
    rpp_profile_free(profile);
    rpp_frame_names_free(names);
    return row;
}

TEST(the_frame_tells_what_a_thread_waits_for)
{
    static const struct {
        const char *leaf, *caller;
        rpp_state state;
        bool delays, counts;
    } waits[] = {
        {"Thread::Mutex#lock", "Shop#buy", RPP_STATE_BLOCKED, true, true},
        {"Thread::Mutex#synchronize", "Shop#buy", RPP_STATE_BLOCKED, true, true},
        {"Monitor#synchronize", "Shop#buy", RPP_STATE_BLOCKED, true, true},
        {"Thread::Queue#pop", "Worker#run", RPP_STATE_BLOCKED, true, true},
        {"Thread::SizedQueue#push", "Worker#run", RPP_STATE_BLOCKED, true, true},
        {"Thread::Mutex#sleep", "Thread::ConditionVariable#wait", RPP_STATE_BLOCKED, true, true},
        {"Thread::ConditionVariable#wait", "Object#work", RPP_STATE_BLOCKED, true, true},
        {"Thread::Mutex#sleep", "Shop#rest", RPP_STATE_BLOCKED, false, false},
        {"Kernel#sleep", "Thread::Mutex#synchronize", RPP_STATE_BLOCKED, false, false},
        {"IO#read", "Shop#buy", RPP_STATE_BLOCKED, false, false},
        {"Thread#join", "Shop#buy", RPP_STATE_BLOCKED, false, false},
        {"Thread::Mutex#lock_it", "Shop#buy", RPP_STATE_BLOCKED, false, false},
        {"Integer#times", "Shop#buy", RPP_STATE_WAITING, true, true},
        {"Thread::Queue#pop", "Worker#run", RPP_STATE_WAITING, true, false}, /* it counted where it was blocked */
        {"Thread::Mutex#sleep", "Thread::ConditionVariable#wait", RPP_STATE_WAITING, true, false},
        {"Thread::Mutex#lock", "Shop#buy", RPP_STATE_RUNNING, false, false},
        {"Thread::Mutex#lock", "Shop#buy", RPP_STATE_GC_MARKING, false, false},
    };
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        rpp_row row = row_of_wait(waits[i].leaf, waits[i].caller, waits[i].state);
        CHECK_INT(row.delay_ns, waits[i].delays ? 7 : 0);
        CHECK_INT(row.contentions, waits[i].counts ? 2 : 0);
    }
}

/* --- how many --- */

/* A thread's row in a method, whose samples stand for so many waits. */
static void sample(rpp_profile *profile, uint32_t frame, uint32_t thread_seq, rpp_state state, uint64_t waits)
{
    rpp_location stack = {frame, 1};
    CHECK_OK(rpp_profile_add(profile,
                             &(rpp_sample){.thread_seq = thread_seq,
                                           .depth = 1,
                                           .state = (uint8_t)state,
                                           .wall_sampled_ns = PERIOD_NS,
                                           .waits_sampled = waits * RPP_ONE_WAIT},
                             &stack));
}

static void add_sum(rpp_profile *profile, uint32_t thread_seq, rpp_state state, uint64_t wall_ns, uint64_t waits)
{
    rpp_sample sum = {
        .thread_seq = thread_seq, .is_total = true, .state = (uint8_t)state, .wall_ns = wall_ns, .contentions = waits};
    CHECK_OK(rpp_profile_add(profile, &sum, NULL));
}

static uint64_t waits_in(const rpp_profile *profile, uint32_t frame)
{
    uint64_t waits = 0;
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        uint32_t depth;
        const uint32_t *stack = rpp_stack_table_get(rpp_profile_stacks(profile), row->stack, &depth);
        if (rpp_stack_table_location(rpp_profile_stacks(profile), stack[0]).frame == frame) waits += row->contentions;
    }
    return waits;
}

/* 30 waits for the GVL in all, of which three in four were in method 100 if one believes the samples. Waits for locks
 * have no counter. */
TEST(waits_for_the_gvl_are_as_many_as_were_counted)
{
    rpp_carry_over carry_over = {.waits = 0};
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    sample(profile, 100, 1, RPP_STATE_WAITING, 300);
    sample(profile, 101, 2, RPP_STATE_WAITING, 100);
    sample(profile, 102, 1, RPP_STATE_BLOCKED, 50);
    add_sum(profile, 1, RPP_STATE_WAITING, PERIOD_NS, 10);
    add_sum(profile, 2, RPP_STATE_WAITING, PERIOD_NS, 19);
    add_sum(profile, 3, RPP_STATE_WAITING, PERIOD_NS, 1);
    add_sum(profile, 1, RPP_STATE_BLOCKED, PERIOD_NS, 0);
    rpp_profile_distribute(profile, PERIOD_NS, false, &carry_over);
    CHECK_INT(waits_in(profile, 100), 22);
    CHECK_INT(waits_in(profile, 101), 8);
    CHECK_INT(waits_in(profile, 102), 50);
    CHECK_INT(carry_over.waits, 0);
    rpp_profile_free(profile);
}

TEST(waits_for_the_gvl_that_no_sample_found_are_not_lost)
{
    rpp_carry_over carry_over = {.waits = 0};
    for (unsigned window = 0; window < 3; window++) {
        rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
        sample(profile, 100, 1, RPP_STATE_RUNNING, 0);
        add_sum(profile, 1, RPP_STATE_WAITING, 1000, 5);
        rpp_profile_distribute(profile, PERIOD_NS, window == 2, &carry_over);
        CHECK_INT(carry_over.waits, window == 2 ? 0 : 5 * (window + 1));
        CHECK_INT(waits_in(profile, 100), window == 2 ? 15 : 0);
        rpp_profile_free(profile);
    }
}

typedef struct counted {
    uint64_t waits, wall_ns;
} counted;

/* Takes what is due, as a capture does after each wait, and shares the sums out. */
static counted count(uint64_t (*next_ns)(uint64_t *random), unsigned events, uint64_t *true_ns)
{
    rpp_location stack = {100, 1};
    rpp_carry_over carry_over = {.waits = 0};
    rpp_time_account account = {0};
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    uint64_t random = 7;
    rpp_account_open(&account, 4711, PERIOD_NS);
    rpp_sample sample;
    *true_ns = 0;
    for (unsigned i = 0; i < events; i++) {
        uint64_t lasted_ns = next_ns(&random);
        *true_ns += lasted_ns;
        account.event[RPP_STATE_BLOCKED].wall_ns = lasted_ns;
        rpp_account_end_event(&account, RPP_STATE_BLOCKED, 0, PERIOD_NS);
        sample = (rpp_sample){.thread_seq = 1, .depth = 1};
        if (rpp_account_take_due(&account, RPP_STATE_BLOCKED, &sample)) {
            CHECK_OK(rpp_profile_add(profile, &sample, &stack));
        }
    }
    sample = (rpp_sample){.thread_seq = 1};
    if (rpp_account_take_total(&account, RPP_STATE_BLOCKED, &sample)) CHECK_OK(rpp_profile_add(profile, &sample, NULL));
    rpp_profile_distribute(profile, PERIOD_NS, true, &carry_over);
    counted all = {0};
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        all.waits += rpp_profile_rows(profile)[i].contentions;
        all.wall_ns += rpp_profile_rows(profile)[i].wall_ns;
    }
    rpp_profile_free(profile);
    return all;
}

static uint64_t long_ones(uint64_t *random)
{
    return PERIOD_NS + rpp_random_next(random) % (10 * PERIOD_NS);
}

/* From a thousandth of a period to a whole one. */
static uint64_t short_ones(uint64_t *random)
{
    return PERIOD_NS / 1000 + rpp_random_next(random) % (PERIOD_NS / 1000 * 998);
}

static uint64_t very_short_ones(uint64_t *random)
{
    return PERIOD_NS / 100 + rpp_random_next(random) % (PERIOD_NS / 50);
}

/* The GVL is handed over, and nobody is in the way. */
static uint64_t hand_overs(uint64_t *random)
{
    return 30 + rpp_random_next(random) % 41;
}

static uint64_t half_a_microsecond(uint64_t *random)
{
    return 400 + rpp_random_next(random) % 201;
}

TEST(long_waits_are_counted_one_by_one)
{
    uint64_t true_ns;
    counted all = count(long_ones, 1000, &true_ns);
    CHECK_INT(all.waits, 1000);
    CHECK_INT(all.wall_ns, true_ns);
}

/* The seed is fixed, so this is no matter of chance. */
TEST_BY_NUMBERS(short_waits_are_counted_by_those_that_were_sampled)
{
    uint64_t true_ns;
    counted all = count(short_ones, 100000, &true_ns);
    CHECK_INT(all.wall_ns, true_ns);
    CHECK(all.waits > 98000 && all.waits < 102000);
    all = count(very_short_ones, 1000000, &true_ns);
    CHECK_INT(all.wall_ns, true_ns);
    CHECK(all.waits > 980000 && all.waits < 1020000);
    all = count(half_a_microsecond, 10000000, &true_ns);
    CHECK(all.waits > 9700000 && all.waits < 10300000);
    all = count(hand_overs, 100000000, &true_ns);
    CHECK(all.waits > 97000000 && all.waits < 103000000);
}
