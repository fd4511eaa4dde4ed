/* budget.c - keeps the profiler's cost in application threads below a share of one core, by stretching the sampling period. */
#include "budget.h"

void rpp_budget_init(rpp_budget *budget, double limit, uint64_t nominal_period_ns, uint64_t now_ns,
                     uint64_t overhead_ns)
{
    *budget = (rpp_budget){.limit = limit,
                           .nominal_period_ns = nominal_period_ns,
                           .period_ns = nominal_period_ns,
                           .looked_at_ns = now_ns,
                           .overhead_then_ns = overhead_ns};
}

uint64_t rpp_budget_look(rpp_budget *budget, uint64_t now_ns, uint64_t overhead_ns)
{
    if (now_ns < budget->looked_at_ns + RPP_BUDGET_LOOK_NS) return budget->period_ns;
    double elapsed = (double)(now_ns - budget->looked_at_ns);
    uint64_t spent = overhead_ns > budget->overhead_then_ns ? overhead_ns - budget->overhead_then_ns : 0;
    budget->share = (double)spent / elapsed;
    budget->looked_at_ns = now_ns;
    budget->overhead_then_ns = overhead_ns;

    double period = (double)budget->period_ns, nominal = (double)budget->nominal_period_ns;
    double fitting = period * budget->share / budget->limit;
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
