/* rb_budget.h - keeps the captures of the process within its overhead limit: sets the sampling period.
 *
 * core/sampling/budget.h decides; rb_overhead.h and rb_hooks.h measure.
 *
 * Threads    begin: under the GVL. keep and share: any thread of ours, or under the GVL.
 * Ownership  the process has one budget.
 */
#ifndef RB_BUDGET_H
#define RB_BUDGET_H

#include <stdint.h>

/* The sessions have changed: samples at this period, as long as the limit (a share of one core) allows it. */
void rb_rpp_budget_begin(double limit, uint64_t period_ns);
/* Measures, and changes the period if necessary. Collectors call it at each tick. */
void rb_rpp_budget_keep(void);
/* The share of one core recently used in application threads. */
double rb_rpp_budget_share(void);
void rb_rpp_budget_discard_after_fork(void);

#endif
