/* rb_testing.h - the seams of the testing build (rake compile:testing): what the profiler's own code calls so that this build can
 * set the rate of ticks, break a promise, or look on. In the ordinary build all of these functions are empty.
 *
 * RPERF_PUSH_TESTING_HZ=5000      timers follow the wall clock at this rate, whatever the settings and the budget say.
 * RPERF_PUSH_TESTING_BREAK=...    captures break a promise, to test the checks: "allocate", "collect" or "switch"; "walk" (handlers
 *                                 use rb_profile_frames), "fault" (they read unmapped memory) or "layout:N" (the layout's Nth
 *                                 number is one too large).
 *                                 "marks": each third GC does not say that it has marked, as if an event was lost.
 * RPERF_PUSH_TESTING_SLOW_TRIGGER=1
 *                                 triggering a job takes 5 ms, and no GC may begin and end in this time.
 *
 * This file depends on no other part of the profiler. The checks that do are in rb_testing_checks.h.
 *
 * Threads    as noted.
 * Ownership  an observer is kept until the process ends.
 */
#ifndef RB_TESTING_H
#define RB_TESTING_H

#include "rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "rb_vm_layout.h"

struct rb_rpp_thread;

#ifdef RPP_TESTING

/* Reads the environment. Call it once per process, in the main Ractor. */
void rb_rpp_testing_init(void);
/* Ends the process with this line on standard error. Any context. */
_Noreturn void rb_rpp_testing_abort(const char *broken);
/* 0: the settings decide. */
uint64_t rb_rpp_testing_period_ns(void);
/* Called within every capture. Outside a safepoint the VM may hold its own locks, and a thread switch would wait for them
 * forever. */
void rb_rpp_testing_in_capture(bool at_safepoint);
/* Called when a signal handler walks a stack. This must not be in the GC, which moves what the walk reads. */
void rb_rpp_testing_interrupted(void);
/* Called by a job that is about to work, or that leaves the work to the main Ractor. */
void rb_rpp_testing_in_job(bool works);
/* How often a job was left to the main Ractor. */
unsigned long rb_rpp_testing_jobs_left(void);
/* Called when a thread's CPU clock is read. */
void rb_rpp_testing_reading_cpu_clock(void);
unsigned long rb_rpp_testing_cpu_clock_readings(void);
/* Called before a job is triggered. */
void rb_rpp_testing_triggering(void);
/* Called in the GC, after it has waited for threads that trigger a job; and at its end. */
void rb_rpp_testing_gc_entered(void);
void rb_rpp_testing_gc_left(void);
/* Called within every walk, once the layout is verified. */
void rb_rpp_testing_in_walk(void);
bool rb_rpp_testing_breaks(const char *promise);
/* The layout to verify: the same, or a wrong one. */
const rb_rpp_vm_layout *rb_rpp_testing_layout(const rb_rpp_vm_layout *layout);
/* The count of numbers for "layout:N". */
size_t rb_rpp_testing_layout_numbers(void);

/* Who looks on: rb_sweep. */
typedef struct rb_rpp_testing_observer {
    /* The record has a timer: from now on its thread may receive ticks. */
    void (*timer_created)(struct rb_rpp_thread *thread);
    /* A capture has walked the thread's stack; the depth may be RB_RPP_WALK_NOT_NOW. Also in a handler. */
    void (*walked)(const struct rb_rpp_thread *thread, const VALUE *frames, const int *lines, int depth);
} rb_rpp_testing_observer;

/* Before anything is sampled. */
void rb_rpp_testing_observe(const rb_rpp_testing_observer *observer);
void rb_rpp_testing_timer_created(struct rb_rpp_thread *thread);
void rb_rpp_testing_walked(const struct rb_rpp_thread *thread, const VALUE *frames, const int *lines, int depth);

#else

static inline uint64_t rb_rpp_testing_period_ns(void)
{
    return 0;
}
static inline void rb_rpp_testing_in_capture(bool at_safepoint) {}
static inline void rb_rpp_testing_in_walk(void) {}
static inline void rb_rpp_testing_interrupted(void) {}
static inline void rb_rpp_testing_in_job(bool works) {}
static inline void rb_rpp_testing_reading_cpu_clock(void) {}
static inline void rb_rpp_testing_triggering(void) {}
static inline void rb_rpp_testing_gc_entered(void) {}
static inline void rb_rpp_testing_gc_left(void) {}
static inline bool rb_rpp_testing_breaks(const char *promise)
{
    return false;
}
static inline const rb_rpp_vm_layout *rb_rpp_testing_layout(const rb_rpp_vm_layout *layout)
{
    return layout;
}
static inline void rb_rpp_testing_timer_created(struct rb_rpp_thread *thread) {}
static inline void rb_rpp_testing_walked(const struct rb_rpp_thread *thread, const VALUE *frames, const int *lines,
                                         int depth)
{
}

#endif

#endif
