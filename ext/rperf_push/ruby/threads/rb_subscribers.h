/* rb_subscribers.h - the subscribers: who gets samples. A subscriber is a session's pipeline, and whether it is on.
 *
 * The continuous session has one, and so has each session on demand (rb_threads.h lists them). All see the same
 * captures; each has windows of its own. The collectors of those that are on share one ticker.
 *
 * Threads    the thread that holds the GVL, also in handlers and hooks; nothing here allocates.
 * Ownership  subscribers borrow their pipelines.
 */
#ifndef RB_SUBSCRIBERS_H
#define RB_SUBSCRIBERS_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "core/profile/pipeline.h"
#include "threads/rb_threads.h"

/* Read it through the functions below: they are inline because hooks and captures call them. */
typedef struct rb_rpp_subscribers {
    struct {
        rpp_pipeline *pipeline;
        bool on;
    } each[RB_RPP_SUBSCRIBERS];
    rb_rpp_subscriber end;
} rb_rpp_subscribers;

extern rb_rpp_subscribers rb_rpp_all_subscribers;
extern rpp_ticker rb_rpp_ticker;

/* NULL: no session. */
static inline rpp_pipeline *rb_rpp_subscriber_pipeline(rb_rpp_subscriber subscriber)
{
    return rb_rpp_all_subscribers.each[subscriber].pipeline;
}

static inline bool rb_rpp_subscriber_is_on(rb_rpp_subscriber subscriber)
{
    return rb_rpp_all_subscribers.each[subscriber].on;
}

/* One past the last that has a pipeline: what comes often asks no others. */
static inline rb_rpp_subscriber rb_rpp_subscribers_end(void)
{
    return rb_rpp_all_subscribers.end;
}

/* Call it once per process image. */
void rb_rpp_subscribers_init(void);
/* True if some subscriber has a pipeline; then labels are kept. */
bool rb_rpp_subscribers_any(void);
/* The subscriber is off then. */
void rb_rpp_subscriber_set_pipeline(rb_rpp_subscriber subscriber, rpp_pipeline *pipeline);
/* On: samples go there from now on, and its collector may tick. Flush all threads first: the ledgers' time belongs to
 * the subscribers that were on. In a method: it takes the lock of the ticker. */
void rb_rpp_subscriber_switch(rb_rpp_subscriber subscriber, bool on);
/* In a forked child: there is no session. */
void rb_rpp_subscribers_discard_after_fork(void);

/* True if the thread has time from before the boundary of a rotation in progress. */
static inline bool rb_rpp_is_late(const rb_rpp_thread *t, rb_rpp_subscriber subscriber)
{
    const rpp_pipeline *pipeline = rb_rpp_subscriber_pipeline(subscriber);
    return pipeline && t->windows[subscriber] != rpp_pipeline_window(pipeline);
}

/* From now on its time belongs to the subscriber's current window. */
void rb_rpp_join_window(rb_rpp_thread *t, rb_rpp_subscriber subscriber);

#endif
