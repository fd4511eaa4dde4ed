/* rb_testing_checks.h - the checks and methods of the testing build (rake compile:testing): that a capture allocates no
 * Ruby object, starts no GC and lets no other thread run. The seams check that no tick is taken in the GC, and that
 * jobs run in the main Ractor.
 *
 * RPERF_PUSH_TESTING_RACTORS=1    captures are not checked for objects and GCs: if allocations are traced, Ruby itself
 *                                 crashes when another Ractor collects.
 * Native.capture_often(count), read_cpu_clock_often(count)
 *                                 do it repeatedly and return the ns that one took, on average. For
 *                                 benchmark/capture.rb.
 * Native.jobs_elsewhere           how often another Ractor received our job and left it.
 * Native.read_names { }           runs the block while a pipeline without samples reads names.
 * Native.log_from_outside         logs one line from a thread of ours, some milliseconds before the next safepoint.
 * Native.layout_numbers           the count of numbers for "layout:N" (rb_testing.h).
 * Native.cpu_clock_readings       how often any part of the profiler read a thread's CPU clock.
 * Native.log_at_exit              logs one line after Ruby has ended, from a thread of ours that has outlived it.
 *
 * Threads    under the GVL.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_TESTING_CHECKS_H
#define RB_TESTING_CHECKS_H

#include "vm/rb_compat.h"

#ifdef RPP_TESTING

/* Call it once per process. It also sets the probes (rb_testing.h) and prepares the sweep (rb_sweep.h). */
void rb_rpp_testing_checks_init(VALUE native);

#else

static inline void rb_rpp_testing_checks_init(VALUE native) {}

#endif

#endif
