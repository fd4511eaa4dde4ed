/* rb_demand.h - a session on demand: what it records with, who uses it, and how it begins and ends, also at a fork and
 * at the exit.
 *
 * The program's own session, the session of `rperf-push record`, and side sessions run at the same time and
 * independently. Each has its own pipeline, whose windows go into a recording instead of to a backend. Forked children
 * continue only the program's own session.
 *
 * Threads    let_go, lend_too, return: any. All others: under the GVL.
 * Ownership  a session owns its recorder. Its last user frees it: the collector, a call, a block, or a viewer to whom
 *            it is lent.
 */
#ifndef RB_DEMAND_H
#define RB_DEMAND_H

#include "vm/rb_compat.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "recordings/rb_recorder.h"
#include "sampler/rb_fork_and_exit.h"
#include "sampler/rb_sampler.h"
#include "threads/rb_threads.h"

/* The arguments of start. */
typedef struct rb_rpp_demand_settings {
    rb_rpp_shape shape;
    uint32_t frequency;
    rpp_engine_kind engine;
    uint32_t alloc_interval; /* 0: at random */
    bool deferred;
    bool inheritable; /* forked children continue it */
    char *directory;  /* where the children write their windows; NULL: nowhere. The session owns it */
} rb_rpp_demand_settings;

typedef struct rb_rpp_demand {
    rb_rpp_subscriber subscriber;
    rb_rpp_recorder *recorder;
    rb_rpp_demand_settings settings;
    bool inherited;         /* continues the parent's; ends when this process starts its own */
    unsigned profiling;     /* profile blocks under way */
    _Atomic unsigned users; /* the last one frees the session */
    bool ending;            /* a call is stopping it */
} rb_rpp_demand;

/* NULL: none runs there. */
rb_rpp_demand *rb_rpp_demand_at(rb_rpp_subscriber subscriber);
/* Returns the program's own session. Restarts profiling in a forked child that has not reached its first safepoint
 * yet. */
rb_rpp_demand *rb_rpp_demand_own(void);
/* While this thread releases the GVL, another one may end the session and start a new one. */
bool rb_rpp_demand_is_current(const rb_rpp_demand *s);
rpp_pipeline *rb_rpp_demand_pipeline(const rb_rpp_demand *s);

/* With a directory, this process and the children that continue the session write their windows there. NULL if out of
 * memory. */
rb_rpp_demand *rb_rpp_demand_new(const rb_rpp_demand_settings *settings, const char *directory, bool summed);
/* Call it before choosing a subscriber: it runs Ruby code, and may raise if it is interrupted. */
void rb_rpp_demand_prepare(const rb_rpp_demand_settings *settings);
/* Runs no Ruby code. The caller calls let_go, whether it has begun or not. */
void rb_rpp_demand_begin(rb_rpp_demand *s, rb_rpp_subscriber subscriber);
void rb_rpp_demand_let_go(rb_rpp_demand *s);
/* Detaches the session. Its result is not wanted, so a finisher waits for the collector. */
void rb_rpp_demand_end(rb_rpp_demand *s);
/* The same, if no other thread is ending the session or has ended it. */
void rb_rpp_demand_give_up(rb_rpp_demand *s);

/* --- lending --- */

/* A session and what it records, for others than its caller. */
typedef struct rb_rpp_lent {
    rb_rpp_demand *session;
    rb_rpp_subscriber subscriber;
    rb_rpp_recorder *recorder;
} rb_rpp_lent;

/* False: none that sums its samples runs there. */
bool rb_rpp_demand_lend(rb_rpp_subscriber subscriber, rb_rpp_lent *lent);
/* To one more, while it is lent. */
void rb_rpp_demand_lend_too(const rb_rpp_lent *lent, rb_rpp_lent *too);
/* False: it has ended. */
bool rb_rpp_demand_goes_on(const rb_rpp_lent *lent);
void rb_rpp_demand_return(const rb_rpp_lent *lent);

extern const rb_rpp_participant rb_rpp_demand_participant;

#endif
