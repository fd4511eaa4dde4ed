/* rb_testing.h - what only the testing build has (rake compile:testing): ticks as fast as the stress wants them, and proof
 * that a capture allocates no Ruby object, starts no GC and lets no other thread run.
 *
 * RPERF_PUSH_TESTING_HZ=5000      timers follow the wall clock at this rate, whatever the settings and the budget say.
 * RPERF_PUSH_TESTING_BREAK=...    captures break a promise: "allocate", "collect" or "switch". The proof of the proof.
 * Native.capture_often(count), read_cpu_clock_often(count)
 *                                 one after the other at once: what each costs at best, in ns. For benchmark/capture.rb.
 * Native.cpu_clock_readings       how often a thread's CPU clock was read, by whatever part of the profiler.
 * Native.log_at_exit              one log line when Ruby is gone, as of a thread of ours that has outlived it.
 */
#ifndef RB_TESTING_H
#define RB_TESTING_H

#include "rb_compat.h"

#include <stdint.h>
#include <time.h>

#ifdef RPP_TESTING

/* Once a process. */
void rb_rpp_testing_init(VALUE native);
/* 0: the settings decide. */
uint64_t rb_rpp_testing_period_ns(void);
/* Called within every capture. */
void rb_rpp_testing_in_capture(void);
/* Called when a thread's CPU clock is read. */
void rb_rpp_testing_reading_cpu_clock(void);

#else

static inline void rb_rpp_testing_init(VALUE native) {}
static inline uint64_t rb_rpp_testing_period_ns(void)
{
    return 0;
}
static inline void rb_rpp_testing_in_capture(void) {}
static inline void rb_rpp_testing_reading_cpu_clock(void) {}

#endif

#endif
