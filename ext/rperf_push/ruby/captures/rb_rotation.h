/* rb_rotation.h - ends a window: closes every thread's ledger at one boundary in time.
 *
 * Vocabulary
 *   flush   to close a thread's ledger at a boundary and push all it holds, so that a window ends exactly.
 *
 * Operation
 *   First the boundary is fixed, then threads are flushed up to it, in slices of a time budget. A thread that becomes
 *   active before its turn flushes itself first, so no time slips into the next window.
 *
 * Threads    the thread that holds the GVL. flush_if_late also in hooks and handlers, for the calling thread.
 * Ownership  records belong to rb_threads, pipelines to their sessions.
 */
#ifndef RB_ROTATION_H
#define RB_ROTATION_H

#include "captures/rb_capture.h"

/* Begins or continues to end the subscriber's window. True: all threads are flushed. False: the budget is spent, there
 * is no room for more samples, or the collector has not taken the last window yet; call it again. */
bool rb_rpp_rotate(rb_rpp_subscriber subscriber, uint64_t budget_ns);

/* The number of boundaries so far. */
extern _Atomic uint32_t rb_rpp_boundaries;

/* For a thread that a rotation in progress has not flushed yet: flushes its time into the window that ends. False: it
 * could not, and current time would go into that window. */
bool rb_rpp_flush_late(rb_rpp_thread *t);
static inline bool rb_rpp_flush_if_late(rb_rpp_thread *t)
{
    return t->boundaries == atomic_load_explicit(&rb_rpp_boundaries, memory_order_relaxed) || rb_rpp_flush_late(t);
}

/* Flushes the calling thread at its end. Time that finds no room is lost, and counted. */
void rb_rpp_flush_at_end(rb_rpp_thread *t, uint64_t now_ns);

/* Flushes all threads: their time so far goes to the subscribers that are on now. */
void rb_rpp_flush_all(uint64_t now_ns);

#endif
