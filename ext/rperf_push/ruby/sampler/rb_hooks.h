/* rb_hooks.h - receives the VM's events about threads, fibers and the GC, and passes them to the threads' ledgers.
 *
 * Operation
 *   Each event becomes a call of a thread's ledger (core/sampling/thread_ledger.h): GVL requested, taken, released; GC
 *   pauses; labels. What the ledger then says is due is captured at once. The sampler captures running threads (ticks).
 *
 * Safety
 *   Hooks read clocks, write records and the sample buffer, and walk stacks. They do not allocate Ruby objects, do not
 *   call malloc except for a new thread's record, do not raise, and take no lock except the trigger's (rb_trigger.h).
 *   They are installed once per process image, with the first sampling, and stay, because the VM's lock over its hooks
 *   is not safe in a forked child. While nothing is sampled, they only follow starts and ends of threads. With no
 *   session and no trace they follow nothing and keep nothing: an event costs a load and a branch.
 *
 * Threads    hooks run on application threads, READY without the GVL; the functions as noted.
 * Ownership  records belong to rb_threads.
 */
#ifndef RB_HOOKS_H
#define RB_HOOKS_H

#include "captures/rb_capture.h"

void rb_rpp_hooks_install_once(void);
/* From now on each new thread gets a record, or none does. Threads that exist are registered by the caller. Under the
 * GVL. */
void rb_rpp_hooks_follow(bool threads);
bool rb_rpp_hooks_are_following(void);
/* The calling thread runs here. While nothing is sampled, hooks learn only of those that run later. */
void rb_rpp_hooks_know_current(void);
/* In a finalizer at the exit. The VM removes all hooks after its end procs. A hook that is installed later would be
 * called by the last GC, which frees the hook's own TracePoint. */
void rb_rpp_hooks_leave_vm(void);
/* Sets how closely hooks follow CPU time: every reading of a CPU clock is a system call and counts against the
 * budget. */
void rb_rpp_hooks_set_pace(uint64_t period_ns);

/* All ledgers advance from now on. Under the GVL. */
void rb_rpp_sampling_begin(uint64_t now_ns);
/* The ledgers stop; flush them first. Under the GVL. */
void rb_rpp_sampling_end(void);
void rb_rpp_hooks_discard_after_fork(void);

/* Who else hears of threads and of the GC, whether anything is sampled or not, on the threads of hooks. The thread has
 * a record. */
typedef struct rb_rpp_listener {
    /* READY, RESUMED or SUSPENDED. */
    void (*on_thread)(rb_rpp_thread *thread, rb_event_flag_t event);
    /* In a pause of the GC, on the thread that makes it: `marks` is the phase that follows the event. */
    void (*on_gc)(rb_rpp_thread *thread, rb_event_flag_t event, bool marks);
} rb_rpp_listener;

/* NULL: none. The listener is static: an event may still reach it. Without one this costs a load. */
void rb_rpp_hooks_tell(const rb_rpp_listener *listener);
bool rb_rpp_hooks_tell_somebody(void);

/* The thread that holds the GVL, or NULL. *any_ran, unless NULL: a thread ran since the last call. Called by
 * collectors. */
rb_rpp_thread *rb_rpp_running_thread(bool *any_ran);

#endif
