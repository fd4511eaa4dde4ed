/* rb_capture.h - captures a stack and gives it time: the middle of the sampler, between hooks and buffers.
 *
 * Vocabulary
 *   settle   to close a thread's ledger at a boundary and push all it holds, so that a window ends exactly.
 *
 * Samples go to all outlets that are on (rb_outlets.h).
 *
 * Threads    the thread that holds the GVL, also in handlers and hooks; nothing here allocates.
 * Ownership  records belong to rb_threads.
 */
#ifndef RB_CAPTURE_H
#define RB_CAPTURE_H

#include "rb_compat.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "rb_threads.h"

typedef struct rb_rpp_capture_options {
    bool lines;
    bool resting;      /* no outlet is on: ledgers do not advance */
    uint64_t began_ns; /* start of sampling */
    uint64_t cut_ns;   /* older time is in no open window, or not for all outlets */
} rb_rpp_capture_options;

/* Shared by all outlets. */
extern rb_rpp_capture_options rb_rpp_capturing;

/* True during a capture; a handler that interrupts it must not capture. */
bool rb_rpp_capture_is_busy(void);
/* In a forked child: there is no capture. */
void rb_rpp_capture_forget_after_fork(void);

/* A capture takes longer only if the thread loses its core. */
#define RB_RPP_CAPTURE_MAX_NS (100 * RPP_NS_PER_US)

/* In a section the thread's handler does nothing. The end takes a tick that came in between, at the stack of the end. */
static inline bool rb_rpp_section_begin(rb_rpp_thread *t)
{
    return rpp_ledger_enter(&t->ledger);
}
void rb_rpp_section_owes(rb_rpp_thread *t);
static inline void rb_rpp_section_end(rb_rpp_thread *t, bool was_busy)
{
    if (rpp_ledger_leave(&t->ledger, was_busy)) rb_rpp_section_owes(t);
}
/* The same in the handler. If the VM's state forbids a capture, a job takes the tick at the next safepoint. */
void rb_rpp_section_end_in_handler(rb_rpp_thread *t, bool was_busy);

/* Captures the current stack for what the ledger says is due; most of its answers are "nothing". In a section. */
void rb_rpp_capture_due(rb_rpp_thread *t);
static inline void rb_rpp_capture_if(rb_rpp_thread *t, rpp_due due)
{
    if (due == RPP_DUE_CAPTURE) rb_rpp_capture_due(t);
}

void rb_rpp_push_sums(rb_rpp_thread *t);

/* Closes t's ledger at the boundary. False: no room, or busy; call it again later. */
bool rb_rpp_settle(rb_rpp_thread *t, uint64_t boundary_ns);
/* The same for the calling thread at its end. */
void rb_rpp_settle_at_end(rb_rpp_thread *t, uint64_t now_ns);
/* The thread goes to sleep, possibly for several windows: pushes its CPU time now, if it is large. Its ledger must be of the
 * current window. */
static inline void rb_rpp_tell_sums(rb_rpp_thread *t)
{
    if (rpp_ledger_sums_are_large(&t->ledger)) rb_rpp_push_sums(t);
}

#endif
