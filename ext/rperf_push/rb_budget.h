/* rb_budget.h - keeps the process within its overhead limit: sets the sampling period of all outlets, and asks for lulls.
 *
 * core/sampling/budget.h decides; rb_overhead.h and rb_hooks.h measure.
 *
 * Threads    begin: under the GVL. keep and share: any thread of ours, or under the GVL.
 * Ownership  the process has one budget.
 */
#ifndef RB_BUDGET_H
#define RB_BUDGET_H

#include <stdint.h>

#include "rb_outlets.h"

/* The sessions have changed: samples at this period, as long as the limit (a share of one core) allows it. */
void rb_rpp_budget_begin(double limit, uint64_t period_ns);
/* Gives the outlet a pipeline, or none: afterwards no collector sets the old one's period any more, so it may be freed. Under
 * the GVL. */
void rb_rpp_budget_set_pipeline(rb_rpp_outlet outlet, rpp_pipeline *pipeline);
/* Measures, and changes the period or asks for the begin or the end of a lull if necessary. Collectors call it at each tick. */
void rb_rpp_budget_keep(void);
/* The share of one core recently used in application threads. */
double rb_rpp_budget_share(void);
void rb_rpp_budget_forget_after_fork(void);

#endif
