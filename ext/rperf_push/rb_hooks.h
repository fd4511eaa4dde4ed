/* rb_hooks.h - what the VM tells us: threads, fibers and the GC, from which the clocks follow.
 *
 * Operation
 *   A thread's clocks advance at each change of what it does: GVL asked for, got, let go; GC pauses; labels. Captures off the
 *   GVL and in the GC are made here, when they are over. Captures of running threads are the sampler's (ticks).
 *
 * Safety
 *   Hooks read clocks, write records and the sample buffer, and walk stacks; no Ruby allocation, no malloc but for a new
 *   thread's record, no raise, no lock. They are installed once a process image, with the first sampling, and stay, as the
 *   VM's lock over its hooks is not safe in a forked child; while nothing is sampled, or in a lull (rb_lull.h), they follow
 *   births and deaths only.
 */
#ifndef RB_HOOKS_H
#define RB_HOOKS_H

#include "rb_capture.h"

/* Whether they were not there before: then the threads that are must be registered. */
bool rb_rpp_hooks_install_once(void);
/* The VM takes all hooks away after its end procs. What is installed later than that would be called by the last GC, which frees
 * the TracePoint it goes through. In a finalizer at the exit. */
void rb_rpp_hooks_leave_vm(void);
/* How finely hooks follow CPU time: every reading of a CPU clock is a system call, and comes out of the budget. */
void rb_rpp_hooks_set_pace(uint64_t period_ns, double overhead_limit);

/* Some outlet is on, and there is no lull. Any thread, any context. */
bool rb_rpp_is_sampling(void);
/* From now on hooks follow all that happens, and `current`, the calling thread, runs; or births and deaths only. */
void rb_rpp_hooks_listen(bool on, rb_rpp_thread *current);
/* All clocks go on from now; what they hold stays. Under the GVL. */
void rb_rpp_sampling_begin(uint64_t now_ns);
/* The clocks stop; what they hold stays. Under the GVL. */
void rb_rpp_sampling_end(void);
void rb_rpp_hooks_forget_after_fork(void);

/* The one that holds the GVL, or NULL. *any_ran, unless NULL: some thread did since this was last asked. Collectors. */
rb_rpp_thread *rb_rpp_running_thread(bool *any_ran);

/* The labels of the running fiber are these now (borrowed). Under the GVL. */
void rb_rpp_labels_changed(rpp_label_set *labels);

#endif
