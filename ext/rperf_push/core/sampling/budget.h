/* budget.h - keeps the cost of captures in application threads below a share of one core: it lengthens the sampling
 * period.
 *
 * It reads the overhead counter now and then. Above the limit, the period grows at once by the excess ratio. Below the
 * limit, the period returns towards the nominal one, a quarter of the way at a time, so that it does not oscillate.
 *
 * The period does not change what hooks cost. If they alone exceed the limit for RPP_BUDGET_EXCEEDED_LOOKS looks on
 * end, the caller says so.
 *
 * Threads    one at a time; the functions are pure.
 * Ownership  the caller owns the budget.
 */
#ifndef RPP_BUDGET_H
#define RPP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Our time in application threads, since the start. */
typedef struct rpp_overhead {
    uint64_t captures_ns, hooks_ns;
} rpp_overhead;

typedef struct rpp_budget {
    double limit; /* share of one core */
    uint64_t nominal_period_ns, period_ns;
    uint64_t looked_at_ns;
    rpp_overhead then;
    double share;            /* overhead as last measured, of one core */
    double hooks_share;      /* of it, hooks */
    unsigned hooks_exceeded; /* looks on end */
} rpp_budget;

#define RPP_BUDGET_LOOK_NS        UINT64_C(500000000)
/* The period never gets longer, even if captures cost more than the limit. */
#define RPP_BUDGET_MAX_PERIOD_NS  UINT64_C(2000000000)
#define RPP_BUDGET_EXCEEDED_LOOKS 20u

void rpp_budget_init(rpp_budget *budget, double limit, uint64_t nominal_period_ns, uint64_t now_ns,
                     rpp_overhead overhead);
/* The period to use from now on. It measures at most every RPP_BUDGET_LOOK_NS, and not before the budget has begun. */
uint64_t rpp_budget_update(rpp_budget *budget, uint64_t now_ns, rpp_overhead overhead);
/* True if hooks alone have exceeded the limit for long. */
bool rpp_budget_is_exceeded_by_hooks(const rpp_budget *budget);

#endif
