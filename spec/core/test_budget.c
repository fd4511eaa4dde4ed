/* test_budget.c - the period follows what sampling costs. */
#include "sampling/budget.h"

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
    CHECK_INT(rpp_budget_update(&budget, 1000000000, captures(9000000)), PERIOD);
    CHECK(budget.share > 0.0089 && budget.share < 0.0091);
}

TEST(stretches_the_period_by_what_is_over)
{
    rpp_budget budget = begun(0.01);
    CHECK_INT(rpp_budget_update(&budget, 1000000000, captures(40000000)), 4 * PERIOD);
}

TEST(looks_no_more_often_than_twice_a_second)
{
    rpp_budget budget = begun(0.01);
    CHECK_INT(rpp_budget_update(&budget, 400000000, captures(400000000)), PERIOD);
}

/* A program whose every capture costs the same: overhead is inverse to the period. */
TEST(stays_at_the_limit_and_comes_back)
{
    rpp_budget budget = begun(0.01);
    uint64_t now = 0, overhead = 0;
    for (int i = 0; i < 40; i++) {
        now += 1000000000;
        overhead += 1000000000 / budget.period_ns * 500000; /* 0.5 ms a capture: 5 % at the nominal period */
        rpp_budget_update(&budget, now, captures(overhead));
    }
    CHECK(budget.share > 0.008 && budget.share < 0.0105);
    for (int i = 0; i < 40; i++) {
        now += 1000000000;
        rpp_budget_update(&budget, now, captures(overhead));
    }
    CHECK_INT(budget.period_ns, PERIOD);
}

TEST(never_stretches_beyond_the_longest_period)
{
    rpp_budget budget = begun(0.000001);
    CHECK_INT(rpp_budget_update(&budget, 1000000000, captures(900000000)), RPP_BUDGET_MAX_PERIOD_NS);
}

/* Hooks take a share of a core for some seconds. */
static bool is_exceeded_after(rpp_budget *budget, uint64_t *now, uint64_t *hooks, double share, int seconds)
{
    for (int i = 0; i < 2 * seconds; i++) {
        *now += RPP_BUDGET_LOOK_NS;
        *hooks += (uint64_t)(share * (double)RPP_BUDGET_LOOK_NS);
        CHECK_INT(rpp_budget_update(budget, *now, (rpp_overhead){.hooks_ns = *hooks}), PERIOD);
    }
    return rpp_budget_is_exceeded_by_hooks(budget);
}

TEST(hooks_exceed_the_limit_after_ten_seconds_and_stretch_nothing)
{
    rpp_budget budget = begun(0.01);
    uint64_t now = 0, hooks = 0;
    CHECK(!is_exceeded_after(&budget, &now, &hooks, 0.009, 60));
    CHECK(!is_exceeded_after(&budget, &now, &hooks, 0.02, 9));
    CHECK(!is_exceeded_after(&budget, &now, &hooks, 0.002, 5));
    CHECK(is_exceeded_after(&budget, &now, &hooks, 0.02, 10));
    CHECK(budget.hooks_share > 0.0199 && budget.hooks_share < 0.0201);
}

/* A collector may look before the session has begun. */
TEST(a_budget_that_has_not_begun_measures_nothing)
{
    rpp_budget none = {.limit = 0};
    for (uint64_t i = 1; i < 100; i++) {
        CHECK_INT(rpp_budget_update(&none, i * 1000000000, (rpp_overhead){.hooks_ns = i * 500000000}), 0);
    }
    CHECK(!rpp_budget_is_exceeded_by_hooks(&none));
}

TEST(captures_have_the_limit_for_themselves)
{
    rpp_budget budget = begun(0.01);
    CHECK_INT(rpp_budget_update(&budget, 1000000000, ((rpp_overhead){.captures_ns = 10000000, .hooks_ns = 50000000})),
              PERIOD);
    CHECK_INT(rpp_budget_update(&budget, 2000000000, ((rpp_overhead){.captures_ns = 30000000, .hooks_ns = 100000000})),
              2 * PERIOD);
}
