/* test_time_account.c - short events are sampled by chance, long ones are exact, and no time is lost. */
#include "sampling/time_account.h"

#include <string.h>

#include "base/clock.h"
#include "test.h"

#define MS     RPP_NS_PER_MS
#define PERIOD (10 * MS)
#define STATE  RPP_STATE_BLOCKED

static rpp_time_account opened(uint64_t random)
{
    rpp_time_account a = {0};
    rpp_account_open(&a, random, PERIOD);
    return a;
}

/* The weight with which the event is sampled. What is due is taken. */
static uint64_t wait_for(rpp_time_account *a, uint64_t ns)
{
    rpp_sample sample = {0};
    a->event[STATE].wall_ns += ns;
    rpp_account_end_event(a, STATE, 1, PERIOD);
    if (rpp_account_is_due(a)) CHECK(rpp_account_take_due(a, STATE, &sample));
    CHECK_INT(sample.wall_ns, 0);
    return sample.wall_sampled_ns;
}

static bool is_near(uint64_t seen, uint64_t truth, uint64_t percent)
{
    return seen * 100 > truth * (100 - percent) && seen * 100 < truth * (100 + percent);
}

/* Two waits that together are as long as the period: marks at the same place of each period would all find the same
 * one. */
TEST_BY_NUMBERS(waits_in_step_with_the_period_are_sampled_by_chance)
{
    for (uint64_t random = 0; random < 20; random++) {
        rpp_time_account a = opened(random);
        uint64_t first = 0, second = 0;
        for (int i = 0; i < 20000; i++) {
            first += wait_for(&a, 2 * MS);
            second += wait_for(&a, 8 * MS);
        }
        CHECK(is_near(first, 40000 * MS, 10)); /* 7 standard deviations; the seeds are fixed */
        CHECK(is_near(second, 160000 * MS, 3));
    }
}

/* One mark a period: the samples weigh what the events lasted, to within a period at each end. */
TEST_BY_NUMBERS(samples_weigh_as_much_as_the_waits_lasted)
{
    rpp_time_account a = opened(1);
    uint64_t sampled = 0, lasted = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t ns = i * 7919 % PERIOD;
        sampled += wait_for(&a, ns);
        lasted += ns;
        CHECK(sampled < lasted + 2 * PERIOD && lasted < sampled + 2 * PERIOD);
    }
    rpp_sample sum = {0};
    CHECK(rpp_account_take_total(&a, STATE, &sum));
    CHECK_INT(sum.wall_ns, lasted);
    CHECK(!rpp_account_take_total(&a, STATE, &sum));
}

TEST(a_wait_of_a_period_is_exact_and_part_of_no_sum)
{
    rpp_time_account a = opened(1);
    rpp_sample sample = {0};
    a.event[STATE] = (rpp_time){.cpu_ns = 3, .wall_ns = PERIOD};
    rpp_account_end_event(&a, STATE, 1, PERIOD);
    CHECK(rpp_account_is_due(&a));
    CHECK(rpp_account_take_due(&a, STATE, &sample));
    CHECK_INT(sample.cpu_ns, 3);
    CHECK_INT(sample.wall_ns, PERIOD);
    CHECK_INT(sample.wall_sampled_ns, 0);
    CHECK(!rpp_account_take_total(&a, STATE, &sample));
    CHECK(!rpp_account_take_due(&a, STATE, &sample));
}

TEST(time_that_no_capture_took_waits_for_the_end_of_the_next_event)
{
    rpp_time_account a = opened(1);
    rpp_sample sample = {0};
    a.event[STATE].wall_ns = 2 * PERIOD;
    rpp_account_end_event(&a, STATE, 1, PERIOD);
    rpp_account_give_up_due(&a);
    CHECK(!rpp_account_is_due(&a));
    a.event[STATE].wall_ns += 1;
    rpp_account_end_event(&a, STATE, 1, PERIOD);
    CHECK(rpp_account_take_due(&a, STATE, &sample));
    CHECK_INT(sample.wall_ns, 2 * PERIOD + 1);
}

static void end_after(rpp_time_account *a, uint64_t ns)
{
    a->event[STATE].wall_ns += ns;
    rpp_account_end_event(a, STATE, 0, PERIOD);
}

/* However long its last part is. */
TEST(a_wait_that_was_cut_counts_once_and_at_its_end)
{
    for (uint64_t random = 0; random < 100; random++) {
        rpp_time_account a = opened(random);
        for (uint64_t window = 0; window < 3; window++) {
            rpp_sample sample = {0};
            a.event[STATE].wall_ns += PERIOD / 3;
            rpp_account_cut_event(&a);
            CHECK(rpp_account_take_due(&a, STATE, &sample));
            CHECK_INT(sample.wall_ns, PERIOD / 3);
            CHECK_INT(sample.contentions, 0);
        }
        rpp_sample sample = {0};
        end_after(&a, random % 2 * MS);
        CHECK(rpp_account_take_due(&a, STATE, &sample));
        CHECK_INT(sample.wall_ns, random % 2 * MS);
        CHECK_INT(sample.contentions, 1);
        CHECK(!rpp_account_take_total(&a, STATE, &sample));
        end_after(&a, 1); /* the next one is a short wait like others */
        CHECK(rpp_account_take_total(&a, STATE, &sample));
        CHECK_INT(sample.wall_ns, 1);
    }
}

TEST(a_wait_that_no_capture_took_still_counts)
{
    rpp_time_account a = opened(1);
    rpp_sample sample = {0};
    end_after(&a, 2 * PERIOD);
    rpp_account_give_up_due(&a);
    end_after(&a, 1);
    CHECK(rpp_account_take_due(&a, STATE, &sample));
    CHECK_INT(sample.contentions, 2);
    rpp_account_put_back(&a, &sample); /* it could not be pushed */
    end_after(&a, 1);
    CHECK(rpp_account_take_due(&a, STATE, &sample));
    CHECK_INT(sample.contentions, 3);
    CHECK_INT(sample.wall_ns, 2 * PERIOD + 2);
}

TEST(the_sum_of_waits_for_the_gvl_says_how_many_of_them_count)
{
    const rpp_state state = RPP_STATE_WAITING;
    rpp_time_account a = opened(1);
    for (unsigned i = 0; i < 1000; i++) {
        rpp_sample ignored = {0};
        a.event[state].wall_ns += PERIOD / 10;
        rpp_account_count_gvl_wait(&a, i % 4 == 0);
        rpp_account_end_event(&a, state, 0, PERIOD);
        if (rpp_account_is_due(&a)) CHECK(rpp_account_take_due(&a, state, &ignored));
    }
    rpp_sample sum = {0};
    CHECK(rpp_account_take_total(&a, state, &sum));
    CHECK_INT(sum.contentions, 250);
    CHECK_INT(sum.wall_ns, 100 * PERIOD);
    rpp_account_put_back(&a, &sum);
    CHECK(rpp_account_take_total(&a, state, &sum));
    CHECK_INT(sum.contentions, 250);
}

/* Threads are known before the session that samples them. */
TEST(marks_are_those_of_the_period_with_which_sampling_begins)
{
    rpp_time_account a;
    memset(&a, 0, sizeof a);
    rpp_account_open(&a, 4711, 1000 * PERIOD);
    rpp_account_begin(&a, PERIOD);
    uint64_t before = a.wall_lines[STATE].to_point_ns;
    CHECK(before < PERIOD && a.cpu_lines[STATE].to_point_ns < PERIOD);
    CHECK(before + a.wall_lines[STATE].behind_point_ns == PERIOD);
    rpp_account_begin(&a, PERIOD); /* a block of a session that is on now and then: time goes on */
    CHECK_INT(a.wall_lines[STATE].to_point_ns, before);
}
