/* test_budget.c - the period follows what sampling costs. */
#include "base/status.h"
#include "sampling/budget.h"

#include "base/clock.h"
#include "test.h"

#define PERIOD UINT64_C(10000000)

static rpp_budget begun(double limit)
{
    rpp_budget budget;
    rpp_budget_init(&budget, limit, PERIOD, 0, (rpp_overhead){0});
    return budget;
}

static rpp_overhead captures(uint64_t ns)
{
    return (rpp_overhead){.captures_ns = ns};
}

TEST(stays_at_the_nominal_period_below_the_limit)
{
    rpp_budget budget = begun(0.01);
    CHECK_INT(rpp_budget_look(&budget, 1000000000, captures(9000000)), PERIOD);
    CHECK(budget.share > 0.0089 && budget.share < 0.0091);
}

TEST(stretches_the_period_by_what_is_over)
{
    rpp_budget budget = begun(0.01);
    CHECK_INT(rpp_budget_look(&budget, 1000000000, captures(40000000)), 4 * PERIOD);
}

TEST(looks_no_more_often_than_twice_a_second)
{
    rpp_budget budget = begun(0.01);
    CHECK_INT(rpp_budget_look(&budget, 400000000, captures(400000000)), PERIOD);
}

/* A program whose every capture costs the same: overhead is inverse to the period. */
TEST(settles_at_the_limit_and_comes_back)
{
    rpp_budget budget = begun(0.01);
    uint64_t now = 0, overhead = 0;
    for (int i = 0; i < 40; i++) {
        now += 1000000000;
        overhead += 1000000000 / budget.period_ns * 500000; /* 0.5 ms a capture: 5 % at the nominal period */
        rpp_budget_look(&budget, now, captures(overhead));
    }
    CHECK(budget.share > 0.008 && budget.share < 0.0105);
    for (int i = 0; i < 40; i++) {
        now += 1000000000;
        rpp_budget_look(&budget, now, captures(overhead));
    }
    CHECK_INT(budget.period_ns, PERIOD);
}

TEST(never_stretches_beyond_the_longest_period)
{
    rpp_budget budget = begun(0.000001);
    CHECK_INT(rpp_budget_look(&budget, 1000000000, captures(900000000)), RPP_BUDGET_MAX_PERIOD_NS);
}

TEST(leaves_captures_a_quarter_when_hooks_take_all)
{
    rpp_budget budget = begun(0.01);
    CHECK_INT(rpp_budget_look(&budget, 1000000000, ((rpp_overhead){.captures_ns = 2500000, .hooks_ns = 50000000})),
              PERIOD);
    CHECK(budget.share > 0.05);
}

/* A program whose hooks take a share of one core while they listen, looked at every 50 ms. */
static double share_of_hooks(rpp_budget *budget, double while_listening, int seconds, int *lulls)
{
    double hooks = 0;
    bool lull = false;
    for (int i = 0; i < seconds * 20; i++) {
        if (!lull) hooks += while_listening * 50e6;
        uint64_t now = (uint64_t)(i + 1) * 50000000;
        bool before = lull;
        lull = rpp_budget_wants_lull(budget, now, (uint64_t)hooks);
        *lulls += lull && !before;
        rpp_budget_look(budget, now, (rpp_overhead){.hooks_ns = (uint64_t)hooks});
    }
    return hooks / (seconds * 1e9);
}

TEST(hooks_are_never_silenced_within_their_part_of_the_limit)
{
    rpp_budget budget = begun(0.01);
    int lulls = 0;
    share_of_hooks(&budget, 0.0074, 60, &lulls);
    CHECK_INT(lulls, 0);
}

TEST(hooks_keep_to_their_part_of_the_limit_by_lulls)
{
    static const double storms[] = {0.009, 0.025, 0.11, 0.4};
    for (size_t i = 0; i < sizeof storms / sizeof *storms; i++) {
        rpp_budget budget = begun(0.01);
        int lulls = 0;
        double share = share_of_hooks(&budget, storms[i], 60, &lulls);
        CHECK(share > 0.006 && share < 0.0078);
        CHECK(lulls > 5);
        CHECK(budget.share < 0.013);
    }
}

TEST(a_lull_never_lasts_longer_than_the_longest)
{
    rpp_budget budget = begun(0.0001);
    CHECK(rpp_budget_wants_lull(&budget, 50000000, 50000000)); /* would take 667 s to pay off */
    CHECK(rpp_budget_wants_lull(&budget, 50000000 + RPP_BUDGET_MAX_LULL_NS - 1000000, 50000000));
    CHECK(!rpp_budget_wants_lull(&budget, 50000000 + RPP_BUDGET_MAX_LULL_NS + 1000000, 50000000));
}

TEST(credit_is_not_saved_up)
{
    rpp_budget budget = begun(0.01);
    CHECK(!rpp_budget_wants_lull(&budget, UINT64_C(3600000000000), 0));
    CHECK(rpp_budget_wants_lull(&budget, UINT64_C(3600050000000), 5000000));
}

/* A collector may look before the session has begun. */
TEST(a_budget_that_has_not_begun_wants_no_lull)
{
    rpp_budget none = {.limit = 0};
    CHECK(!rpp_budget_wants_lull(&none, RPP_NS_PER_S, RPP_NS_PER_S));
    CHECK(!rpp_budget_wants_lull(&none, 2 * RPP_NS_PER_S, RPP_NS_PER_S));
}
