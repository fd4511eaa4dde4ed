/* rb_capture.h - captures a thread's stack for the time that its ledger says is due. rb_push.h takes both to the
 * subscribers.
 *
 * Threads    the thread that holds the GVL, also in handlers and hooks; nothing here allocates.
 * Ownership  records belong to rb_threads.
 */
#ifndef RB_CAPTURE_H
#define RB_CAPTURE_H

#include "vm/rb_compat.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "threads/rb_threads.h"

typedef struct rb_rpp_capture_options {
    _Atomic bool sampling; /* a subscriber is on; while none is, ledgers do not advance */
    bool lines;
    uint64_t began_ns; /* start of sampling */
    uint64_t cut_ns;   /* older time is in no open window, or not for all subscribers */
} rb_rpp_capture_options;

/* Shared by all subscribers. */
extern rb_rpp_capture_options rb_rpp_capturing;

/* Any thread, any context. */
static inline bool rb_rpp_is_sampling(void)
{
    return atomic_load_explicit(&rb_rpp_capturing.sampling, memory_order_acquire);
}

/* True during a capture; a handler that interrupts it must not capture. */
bool rb_rpp_capture_is_busy(void);
/* In a forked child: there is no capture. */
void rb_rpp_capture_discard_after_fork(void);

/* A capture takes longer only if the thread loses its core. */
#define RB_RPP_CAPTURE_MAX_NS (100 * RPP_NS_PER_US)

/* In a section the thread's handler does nothing. The end takes a tick that came in between, at the stack of the
 * end. */
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

/* --- the parts of a capture, for rb_rotation and rb_custom --- */

/* False: another capture is in progress; try later. Each true begin needs an end with the same `began_ns`. */
bool rb_rpp_capture_begin(uint64_t *began_ns);
/* The stack of t, leaf first, valid until the end. Returns its depth; 0: the VM's state or a table forbids it now; try
 * later. */
uint32_t rb_rpp_capture_stack(const rb_rpp_thread *t, const rpp_location **stack);
void rb_rpp_capture_end(const rb_rpp_thread *t, uint64_t began_ns);
/* The same for a capture that the program asks for. Its time is the program's: the budget could not make it less. */
bool rb_rpp_capture_begin_asked(void);
void rb_rpp_capture_end_asked(const rb_rpp_thread *t);

#endif
