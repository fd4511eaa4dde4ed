/* rb_trigger.h - triggers the job. This is the only Ruby function that a thread unknown to Ruby may call.
 *
 * Safety
 *   On a thread unknown to Ruby, rb_postponed_job_trigger takes the execution context that runs at that moment and sets
 *   a bit in it. If the context's thread or fiber ends in between and is collected, the bit is set in memory that now
 *   belongs to something else. Right after a fork there is enough time for this, because the first write to a page
 *   copies it. So the GC waits for such calls before it begins (except a GC inside another tool's hook, which is not
 *   reported). A later call finds the thread that collects. A new thread announces that it runs before it has the GVL.
 *   If another thread forks at that moment, the child believes that the new thread runs, although it does not exist
 *   there and its memory is soon freed. So in a forked child our threads trigger nothing until the remaining thread has
 *   taken the GVL again.
 *
 * Threads    any thread; not in a signal handler, except where noted.
 * Ownership  the process has one job.
 */
#ifndef RB_TRIGGER_H
#define RB_TRIGGER_H

#include "vm/rb_compat.h"

#include <stdbool.h>

/* Call it once per process image. */
void rb_rpp_trigger_init(rb_postponed_job_func_t job);
/* Asks for the job at the next safepoint. Allocates nothing, and holds the lock for two atomic writes. */
void rb_rpp_trigger(void);
/* The same in a handler on a Ruby thread that holds the GVL, outside the GC: it uses its own context and does not
 * wait. */
void rb_rpp_trigger_here(void);
/* The same for another job of ours. */
void rb_rpp_trigger_other(rb_postponed_job_handle_t job);
/* In another Ractor. One that has a job of its own to do, such as finalizers, comes to all that were triggered;
 * triggered by its thread, ours would come to it again. By a thread that Ruby does not know, it comes to the main
 * Ractor: in some milliseconds. */
void rb_rpp_trigger_in_main_ractor(void);
/* The same for another job of ours. */
void rb_rpp_trigger_other_in_main_ractor(rb_postponed_job_handle_t job);
/* In a job: do no other work before this is true. False: an exception is about to be raised; the job will run again. */
bool rb_rpp_trigger_knows_who_runs(void);
/* The calling thread enters the GC. */
void rb_rpp_trigger_gc_entered(void);
/* The VM is about to be destroyed: nothing is triggered from now on. A thread of ours may outlive its deadline at the
 * exit. */
void rb_rpp_trigger_leave_vm(void);
void rb_rpp_trigger_discard_after_fork(void);

#endif
