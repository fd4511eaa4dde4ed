/* rb_testing.h - the testing build (rake compile:testing): sets the rate of ticks, breaks promises, and looks on
 * (rb_probes.h).
 *
 * RPERF_PUSH_TESTING_HZ=5000      timers follow the wall clock at this rate, whatever the settings and the budget say.
 * RPERF_PUSH_TESTING_BREAK=...    captures break a promise, to test the checks: "allocate", "collect" or "switch";
 *                                 "walk" (handlers use rb_profile_frames), "fault" (they read unmapped memory) or
 *                                 "layout:N" (the layout's Nth number is one too large). "marks": each third GC does
 *                                 not say that it has marked, as if an event was lost.
 * RPERF_PUSH_TESTING_SLOW_TRIGGER=1
 *                                 triggering a job takes 5 ms, and no GC may begin and end in this time.
 *
 * Threads    under the GVL, but abort.
 * Ownership  nothing to own.
 */
#ifndef RB_TESTING_H
#define RB_TESTING_H

#include <stddef.h>

#ifdef RPP_TESTING

/* Reads the environment and sets the probes. Call it once per process, in the main Ractor. */
void rb_rpp_testing_init(void);
/* Ends the process with this line on standard error. Any context. */
_Noreturn void rb_rpp_testing_abort(const char *broken);
/* How often a job was left to the main Ractor, and a thread's CPU clock was read. */
unsigned long rb_rpp_testing_jobs_left(void);
unsigned long rb_rpp_testing_cpu_clock_readings(void);
/* The count of numbers for "layout:N". */
size_t rb_rpp_testing_layout_numbers(void);

/* Each watched object is still the one that was born (rb_heap.h), or the process ends. */
void rb_rpp_testing_heap_init(void);

#endif

#endif
