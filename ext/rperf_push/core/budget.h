/* budget.h - keeps the profiler's cost in application threads below a share of one core: stretches the sampling period, and
 * silences hooks for a while.
 *
 * Looks at the overhead counter now and then. Over the limit, the period grows by what it is over, at once; below it, the
 * period goes back towards the nominal one, a quarter of the way at a time, so that it does not swing.
 *
 * No period changes what hooks cost. They may take three quarters of the limit; what is more is a debt. When that is half
 * a second's worth, there is a lull until it is paid off.
 *
 * Threads    one at a time. Pure arithmetic.
 */
#ifndef RPP_BUDGET_H
#define RPP_BUDGET_H

#include <stdbool.h>
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
    uint64_t debt_at_ns, hooks_then_ns;
    double debt_ns;
    bool lull;
} rpp_budget;

#define RPP_BUDGET_LOOK_NS       UINT64_C(500000000)
/* At least this many samples a second are worth having, whatever they cost. */
#define RPP_BUDGET_MAX_PERIOD_NS UINT64_C(2000000000)
/* A lull pays off this much at least, and at most. */
#define RPP_BUDGET_LULL_NS       UINT64_C(500000000)
#define RPP_BUDGET_MAX_LULL_NS   UINT64_C(5000000000)

void rpp_budget_init(rpp_budget *budget, double limit, uint64_t nominal_period_ns, uint64_t now_ns,
                     rpp_overhead overhead);
/* Whether hooks should be silent now. */
bool rpp_budget_wants_lull(rpp_budget *budget, uint64_t now_ns, uint64_t hooks_ns);
/* The period to use from now on; looks at most every RPP_BUDGET_LOOK_NS, and not in a lull, but over all of it afterwards. */
uint64_t rpp_budget_look(rpp_budget *budget, uint64_t now_ns, rpp_overhead overhead);

#endif
