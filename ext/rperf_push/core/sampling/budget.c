/* budget.c - keeps the cost of captures in application threads below a share of one core. */
#include "sampling/budget.h"

void rpp_budget_init(rpp_budget *budget, double limit, uint64_t nominal_period_ns, uint64_t now_ns,
                     rpp_overhead overhead)
{
    *budget = (rpp_budget){.limit = limit,
                           .nominal_period_ns = nominal_period_ns,
                           .period_ns = nominal_period_ns,
                           .looked_at_ns = now_ns,
                           .then = overhead};
}

static double share_of(uint64_t now, uint64_t then, double elapsed)
{
    return now > then ? (double)(now - then) / elapsed : 0;
}

/* From captures of that share at that period. */
static uint64_t next_period_ns(const rpp_budget *budget, double captures)
{
    double period = (double)budget->period_ns, nominal = (double)budget->nominal_period_ns;
    double fitting = period * captures / budget->limit;
    if (fitting > period) {
        period = fitting;
    } else {
        double lowest = fitting > nominal ? fitting : nominal;
        period -= (period - lowest) / 4;
        if (period < nominal * 1.01) period = nominal;
    }
    if (period > (double)RPP_BUDGET_MAX_PERIOD_NS) period = (double)RPP_BUDGET_MAX_PERIOD_NS;
    return period < nominal ? budget->nominal_period_ns : (uint64_t)period;
}

uint64_t rpp_budget_update(rpp_budget *budget, uint64_t now_ns, rpp_overhead overhead)
{
    if (budget->limit <= 0 || now_ns < budget->looked_at_ns + RPP_BUDGET_LOOK_NS) return budget->period_ns;
    double elapsed = (double)(now_ns - budget->looked_at_ns);
    double captures = share_of(overhead.captures_ns, budget->then.captures_ns, elapsed);
    double hooks = share_of(overhead.hooks_ns, budget->then.hooks_ns, elapsed);
    budget->share = captures + hooks;
    budget->hooks_share = hooks;
    budget->hooks_exceeded = hooks > budget->limit ? budget->hooks_exceeded + 1 : 0;
    budget->looked_at_ns = now_ns;
    budget->then = overhead;
    budget->period_ns = next_period_ns(budget, captures);
    return budget->period_ns;
}

bool rpp_budget_is_exceeded_by_hooks(const rpp_budget *budget)
{
    return budget->hooks_exceeded >= RPP_BUDGET_EXCEEDED_LOOKS;
}
