/* rb_sweep_record.h - records a sweep: its stacks, how each follows from the previous one, and impossible stacks.
 *
 * Threads    begin, steps, report: the thread that sweeps. outcome: any thread. stack: the thread that holds the GVL,
 *            in the handler; it does not allocate.
 * Ownership  the process has one record.
 */
#ifndef RB_SWEEP_RECORD_H
#define RB_SWEEP_RECORD_H

#include "threads/rb_threads.h"

#ifdef RPP_TESTING

typedef enum rb_rpp_sweep_outcome {
    RB_RPP_SWEEP_CAPTURED,
    RB_RPP_SWEEP_CHANGING,  /* the VM is changing the stack */
    RB_RPP_SWEEP_IN_GC,     /* in the GC, or just before a finalizer */
    RB_RPP_SWEEP_IN_HOOK,   /* in our hook, or in one of our captures */
    RB_RPP_SWEEP_OFF_GVL,   /* off the GVL, or between two threads */
    RB_RPP_SWEEP_NO_TICK,   /* no timer: a thread starts or ends, or it belongs to another Ractor */
    RB_RPP_SWEEP_OTHERWISE, /* a window has ended */
    RB_RPP_SWEEP_OUTCOMES
} rb_rpp_sweep_outcome;

/* Call it once per process. */
void rb_rpp_sweep_record_init(void);
/* The calling thread's stack becomes the root of all later stacks. `code`: nil or [[begin, end]] of C functions. */
void rb_rpp_sweep_record_begin(VALUE code);
void rb_rpp_sweep_record_outcome(rb_rpp_sweep_outcome outcome);
void rb_rpp_sweep_record_stack(const rb_rpp_thread *thread, uintptr_t address, const VALUE *frames, const int *lines,
                               int depth);
/* The walk found that the VM is changing the stack. */
void rb_rpp_sweep_record_changing(uintptr_t address);
/* Instructions were skipped: the next stack need not follow from the previous one. */
void rb_rpp_sweep_record_gap(void);
void rb_rpp_sweep_record_steps(uint64_t steps);
VALUE rb_rpp_sweep_record_report(void);

/* An Array of the names of frames, root first. */
VALUE rb_rpp_sweep_names(const VALUE *frames, int depth);

#endif

#endif
