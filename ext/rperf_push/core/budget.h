/* budget.h - keeps the profiler's cost in application threads below a share of one core, by stretching the sampling period.
 *
 * Looks at the overhead counter now and then. Over the limit, the period grows by what it is over, at once; below it, the
 * period goes back towards the nominal one, a quarter of the way at a time, so that it does not swing.
 *
 * Threads    one at a time. Pure arithmetic.
 */
#ifndef RPP_BUDGET_H
#define RPP_BUDGET_H

#include <stdint.h>

/* Counters of time spent. */
typedef struct rpp_overhead {
    uint64_t captures_ns, hooks_ns;
} rpp_overhead;

typedef struct rpp_budget {
    double limit; /* share of one core */
    uint64_t nominal_period_ns, period_ns;
    uint64_t looked_at_ns;
    rpp_overhead then;
    double share; /* overhead as last measured, of one core */
} rpp_budget;

#define RPP_BUDGET_LOOK_NS       UINT64_C(500000000)
/* At least this many samples a second are worth having, whatever they cost. */
#define RPP_BUDGET_MAX_PERIOD_NS UINT64_C(2000000000)

void rpp_budget_init(rpp_budget *budget, double limit, uint64_t nominal_period_ns, uint64_t now_ns,
                     rpp_overhead overhead);
/* The period to use from now on; looks at most every RPP_BUDGET_LOOK_NS. */
uint64_t rpp_budget_look(rpp_budget *budget, uint64_t now_ns, rpp_overhead overhead);

#endif
