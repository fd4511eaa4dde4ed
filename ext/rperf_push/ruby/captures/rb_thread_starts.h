/* rb_thread_starts.h - threads that were created but have not run yet.
 *
 * The VM reports a new thread before it asks the system for one, and reports nothing if that fails. So the thread gets
 * no record at first, only its start time, which the thread object itself carries: this needs no memory and
 * disappears with the thread. The thread is met, and profiled from then on, when it begins to run, or before a window
 * is cut: its wait for the GVL since its start belongs to the window in which it waited. Nothing here calls a Ruby
 * method, because a job must not: another thread's exception could be raised there and lost.
 *
 * Threads    under the GVL.
 * Ownership  a thread object carries its start; records belong to rb_threads.
 */
#ifndef RB_THREAD_STARTS_H
#define RB_THREAD_STARTS_H

#include "captures/rb_capture.h"

/* Call it once per process. */
void rb_rpp_thread_starts_init(void);
/* In a hook on the creator, after the system has created the thread: the VM then first reports that it is ready. */
void rb_rpp_thread_start_succeeded(VALUE thread);
/* Creates a record for a living thread whose start was reported. NULL: it was not reported, or out of memory. */
rb_rpp_thread *rb_rpp_thread_start_meet(VALUE thread, uint64_t now_ns);
/* The thread has begun to run: its object is no longer kept. */
void rb_rpp_thread_start_over(VALUE thread);
/* Meets all threads that wait for their first turn. Their labels are not known yet. */
void rb_rpp_thread_starts_meet_waiting(uint64_t now_ns);
/* Call it when sampling ends, and in a forked child. */
void rb_rpp_thread_starts_discard(void);

#endif
