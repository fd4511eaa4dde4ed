/* budget.c - keeps the profiler's cost in application threads below a share of one core. */
#include "sampling/budget.h"

#define HOOKS_SHARE 0.75 /* of the limit */

void rpp_budget_init(rpp_budget *budget, double limit, uint64_t nominal_period_ns, uint64_t now_ns,
                     rpp_overhead overhead)
{
    *budget = (rpp_budget){.limit = limit,
                           .nominal_period_ns = nominal_period_ns,
                           .period_ns = nominal_period_ns,
                           .looked_at_ns = now_ns,
                           .then = overhead,
                           .debt_at_ns = now_ns,
                           .hooks_then_ns = overhead.hooks_ns};
}

bool rpp_budget_wants_lull(rpp_budget *budget, uint64_t now_ns, uint64_t hooks_ns)
{
    if (budget->limit <= 0) return false;         /* it has not begun */
    double allowed = budget->limit * HOOKS_SHARE; /* ns of hooks per ns */
    double spent = hooks_ns > budget->hooks_then_ns ? (double)(hooks_ns - budget->hooks_then_ns) : 0;
    double passed = now_ns > budget->debt_at_ns ? (double)(now_ns - budget->debt_at_ns) : 0;
    double debt = budget->debt_ns + spent - passed * allowed, most = (double)RPP_BUDGET_MAX_LULL_NS * allowed;
    if (debt < 0) debt = 0;
    budget->debt_ns = debt < most ? debt : most;
    budget->debt_at_ns = now_ns;
    budget->hooks_then_ns = hooks_ns;
    if (debt >= (double)RPP_BUDGET_LULL_NS * allowed) {
        budget->lull = true;
    } else if (debt <= 0) {
        budget->lull = false;
    }
    return budget->lull;
}

static double share_of(uint64_t now, uint64_t then, double elapsed)
{
    return now > then ? (double)(now - then) / elapsed : 0;
}

uint64_t rpp_budget_look(rpp_budget *budget, uint64_t now_ns, rpp_overhead overhead)
{
    if (budget->lull || now_ns < budget->looked_at_ns + RPP_BUDGET_LOOK_NS) return budget->period_ns;
    double elapsed = (double)(now_ns - budget->looked_at_ns);
    double captures = share_of(overhead.captures_ns, budget->then.captures_ns, elapsed);
    double hooks = share_of(overhead.hooks_ns, budget->then.hooks_ns, elapsed);
    double left = budget->limit - hooks;
    if (left < budget->limit * (1 - HOOKS_SHARE)) left = budget->limit * (1 - HOOKS_SHARE);
    budget->share = captures + hooks;
    budget->looked_at_ns = now_ns;
    budget->then = overhead;

    double period = (double)budget->period_ns, nominal = (double)budget->nominal_period_ns;
    double fitting = period * captures / left;
    if (fitting > period) {
        period = fitting;
    } else {
        double lowest = fitting > nominal ? fitting : nominal;
        period -= (period - lowest) / 4;
        if (period < nominal * 1.01) period = nominal;
    }
    if (period > (double)RPP_BUDGET_MAX_PERIOD_NS) period = (double)RPP_BUDGET_MAX_PERIOD_NS;
    if (period < nominal) period = nominal;
    budget->period_ns = (uint64_t)period;
    return budget->period_ns;
}
