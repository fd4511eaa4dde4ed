/* budget.c - keeps the cost of captures in application threads below a share of one core. */
#include "sampling/budget.h"

#include "base/log.h"

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

static void look_at_hooks(rpp_budget *budget, double share)
{
    budget->hooks_exceeded = share > budget->limit ? budget->hooks_exceeded + 1 : 0;
    if (budget->hooks_exceeded != RPP_BUDGET_TELL_LOOKS) return;
    rpp_log(RPP_LOG_WARN,
            "threads change so often that following them takes %.1f %% of a core, more than overhead_limit (%.1f %%); "
            "only captures are kept below it; RperfPush.stats[:overhead_hooks_ns] has the time",
            share * 100, budget->limit * 100);
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

uint64_t rpp_budget_look(rpp_budget *budget, uint64_t now_ns, rpp_overhead overhead)
{
    if (now_ns < budget->looked_at_ns + RPP_BUDGET_LOOK_NS) return budget->period_ns;
    double elapsed = (double)(now_ns - budget->looked_at_ns);
    double captures = share_of(overhead.captures_ns, budget->then.captures_ns, elapsed);
    double hooks = share_of(overhead.hooks_ns, budget->then.hooks_ns, elapsed);
    budget->share = captures + hooks;
    budget->looked_at_ns = now_ns;
    budget->then = overhead;
    look_at_hooks(budget, hooks);
    budget->period_ns = next_period_ns(budget, captures);
    return budget->period_ns;
}
