/* test_budget.c - the period follows what sampling costs. */
#include "base/log.h"
#include "sampling/budget.h"

#include <string.h>

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

static unsigned lines;

static void count_line(rpp_log_level level, const char *line, void *context)
{
    (void)level, (void)context;
    if (strstr(line, "overhead_limit (1.0 %)")) lines++;
}

/* Hooks take a share of a core for some seconds. Returns how many lines say so. */
static unsigned lines_about_hooks(rpp_budget *budget, uint64_t *now, uint64_t *hooks, double share, int seconds)
{
    lines = 0;
    rpp_log_set_sink(count_line, NULL);
    for (int i = 0; i < 2 * seconds; i++) {
        *now += RPP_BUDGET_LOOK_NS;
        *hooks += (uint64_t)(share * (double)RPP_BUDGET_LOOK_NS);
        CHECK_INT(rpp_budget_look(budget, *now, (rpp_overhead){.hooks_ns = *hooks}), PERIOD);
    }
    rpp_log_set_sink(NULL, NULL);
    return lines;
}

TEST(hooks_above_the_limit_are_told_once_and_stretch_nothing)
{
    rpp_budget budget = begun(0.01);
    uint64_t now = 0, hooks = 0;
    CHECK_INT(lines_about_hooks(&budget, &now, &hooks, 0.009, 60), 0);
    CHECK_INT(lines_about_hooks(&budget, &now, &hooks, 0.02, 9), 0); /* for a while that is nothing to tell */
    CHECK_INT(lines_about_hooks(&budget, &now, &hooks, 0.002, 5), 0);
    CHECK_INT(lines_about_hooks(&budget, &now, &hooks, 0.02, 60), 1);
    CHECK(budget.share > 0.0199 && budget.share < 0.0201);
}

TEST(captures_have_the_limit_for_themselves)
{
    rpp_budget budget = begun(0.01);
    CHECK_INT(rpp_budget_look(&budget, 1000000000, ((rpp_overhead){.captures_ns = 10000000, .hooks_ns = 50000000})),
              PERIOD);
    CHECK_INT(rpp_budget_look(&budget, 2000000000, ((rpp_overhead){.captures_ns = 30000000, .hooks_ns = 100000000})),
              2 * PERIOD);
}
