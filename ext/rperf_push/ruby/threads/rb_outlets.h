/* rb_outlets.h - the outlets: who gets samples. An outlet is a session's pipeline, and whether it is on.
 *
 * The continuous session has one, and so has each session on demand (rb_threads.h lists them). All see the same
 * captures; each has windows of its own. The collectors of those that are on share one ticker.
 *
 * Threads    the thread that holds the GVL, also in handlers and hooks; nothing here allocates.
 * Ownership  outlets borrow their pipelines.
 */
#ifndef RB_OUTLETS_H
#define RB_OUTLETS_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "core/profile/pipeline.h"
#include "threads/rb_threads.h"

/* Read it through the functions below: they are inline because hooks and captures call them. */
typedef struct rb_rpp_outlets {
    struct {
        rpp_pipeline *pipeline;
        bool on;
    } each[RB_RPP_OUTLETS];
    rb_rpp_outlet end;
} rb_rpp_outlets;

extern rb_rpp_outlets rb_rpp_all_outlets;
extern rpp_ticker rb_rpp_ticker;

/* NULL: no session. */
static inline rpp_pipeline *rb_rpp_outlet_pipeline(rb_rpp_outlet outlet)
{
    return rb_rpp_all_outlets.each[outlet].pipeline;
}

static inline bool rb_rpp_outlet_is_on(rb_rpp_outlet outlet)
{
    return rb_rpp_all_outlets.each[outlet].on;
}

/* One past the last that has a pipeline: what comes often asks no others. */
static inline rb_rpp_outlet rb_rpp_outlets_end(void)
{
    return rb_rpp_all_outlets.end;
}

/* Call it once per process image. */
void rb_rpp_outlets_init(void);
/* True if some outlet has a pipeline; then labels are kept. */
bool rb_rpp_outlets_any(void);
/* The outlet is off then. */
void rb_rpp_outlet_set_pipeline(rb_rpp_outlet outlet, rpp_pipeline *pipeline);
/* On: samples go there from now on, and its collector may tick. Settle all threads first: the ledgers' time belongs to
 * the outlets that were on. In a method: it takes the lock of the ticker. */
void rb_rpp_outlet_switch(rb_rpp_outlet outlet, bool on);
/* In a forked child: there is no session. */
void rb_rpp_outlets_forget_after_fork(void);

/* True if the thread has time from before the boundary of a rotation in progress. */
static inline bool rb_rpp_is_late(const rb_rpp_thread *t, rb_rpp_outlet outlet)
{
    const rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
    return pipeline && t->windows[outlet] != rpp_pipeline_window(pipeline);
}

/* From now on its time belongs to the outlet's current window. */
void rb_rpp_join_window(rb_rpp_thread *t, rb_rpp_outlet outlet);

#endif
