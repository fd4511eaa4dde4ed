/* test_late_ticks.c - findings of each age share the CPU time that threads spent at that age. */
#include "sampling/late_ticks.h"

#include "test.h"

#define PERIOD  5000000
#define OLD_NS  (RPP_ON_GVL_STEPS * RPP_ON_GVL_STEP_NS)
#define RUN_NS  (2 * OLD_NS)
#define NEAR(n) ((n) / 20)

static void run(rpp_late_ticks *all, rpp_late_ticks *own)
{
    rpp_late_ticks_spend(all, own, 0, RUN_NS / 3);
    rpp_late_ticks_spend(all, own, RUN_NS / 3, RUN_NS);
}

/* Every so many runs, a thread is found. Returns what the last finding weighed. */
static uint64_t find_every(rpp_late_ticks *all, rpp_late_ticks *own, unsigned runs, uint64_t age_ns, unsigned times)
{
    uint64_t weighed = 0;
    for (unsigned i = 0; i < times; i++) {
        for (unsigned j = 0; j < runs; j++) run(all, own);
        weighed = rpp_late_ticks_weigh(all, own, age_ns, PERIOD);
    }
    return weighed;
}

static void check_near(uint64_t weighed, uint64_t expected)
{
    if (weighed + NEAR(expected) < expected || weighed > expected + NEAR(expected)) {
        FAIL("weighs %" PRIu64 ", not %" PRIu64, weighed, expected);
    }
}

TEST(a_finding_weighs_the_time_at_its_age_for_each_finding_there)
{
    rpp_late_ticks all = {.findings = 0}, own = all;
    check_near(find_every(&all, &own, 20, 1000, 200), 20 * RPP_ON_GVL_STEP_NS);
    own = all = (rpp_late_ticks){.findings = 0};
    check_near(find_every(&all, &own, 1, OLD_NS, 200), RUN_NS - (RPP_ON_GVL_STEPS - 1) * RPP_ON_GVL_STEP_NS);
}

TEST(steps_without_a_finding_take_nothing_from_others)
{
    rpp_late_ticks all = {.findings = 0}, own = all;
    find_every(&all, &own, 10, 3 * RPP_ON_GVL_STEP_NS, 200);
    for (unsigned group = 0; group < RPP_ON_GVL_STEPS - 1; group++) {
        CHECK_INT(all.spent_ns[group], all.spent_ns[3]);
        CHECK(group == 3 || !all.found_ns[group]);
    }
}

TEST(who_was_found_often_is_measured_against_itself)
{
    rpp_late_ticks all = {.findings = 0}, often = all, seldom = all;
    find_every(&all, &often, 10, 0, RPP_LATE_TICKS_OWN);
    for (unsigned i = 0; i < 1000; i++) rpp_late_ticks_spend(&all, &seldom, 0, RPP_ON_GVL_STEP_NS);
    check_near(rpp_late_ticks_weigh(&all, &often, 0, PERIOD), 10 * RPP_ON_GVL_STEP_NS);
    CHECK(rpp_late_ticks_weigh(&all, &seldom, 0, PERIOD) > 15 * RPP_ON_GVL_STEP_NS);
}

TEST(a_finding_gets_a_few_times_its_weight_at_most)
{
    rpp_late_ticks all = {.findings = 0}, own = all;
    for (unsigned i = 0; i < 10000; i++) run(&all, &own);
    CHECK_INT(rpp_late_ticks_weigh(&all, &own, 0, PERIOD), RPP_LATE_TICKS_MOST_WEIGHT * PERIOD);
    CHECK_INT(rpp_late_ticks_weigh(&all, &own, 0, 0), 0);
}

TEST(what_is_long_ago_counts_less)
{
    rpp_late_ticks all = {.findings = 0}, own = all;
    find_every(&all, &own, 30, 0, 2 * RPP_LATE_TICKS_KEPT);
    uint64_t before = rpp_late_ticks_weigh(&all, &own, 0, PERIOD),
             after = find_every(&all, &own, 10, 0, 2 * RPP_LATE_TICKS_KEPT);
    CHECK(before > 29 * RPP_ON_GVL_STEP_NS);
    CHECK(after < 20 * RPP_ON_GVL_STEP_NS);
    CHECK(all.findings <= RPP_LATE_TICKS_KEPT);
}
