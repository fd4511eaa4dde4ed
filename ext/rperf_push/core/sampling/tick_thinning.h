/* tick_thinning.h - chooses in advance which of the kernel's ticks on a thread are taken.
 *
 * A CPU timer expires at the kernel's own ticks, so "the first tick after a due time" finds code shortly after a wait
 * more often than other code (docs/numbers.md). All ticks together find each place in proportion to its CPU time. So
 * intervals are chosen instead: the thread's CPU time is divided into cycles of RPP_THINNING_BURST periods. Each cycle
 * contains an interval of RPP_THINNING_BURST kernel ticks, at a random place, and every tick within the interval is
 * taken. Between intervals the timer is silent. Ticks never move an interval.
 *
 * Threads    one at a time; async-signal-safe, because the functions are pure.
 * Ownership  the caller owns the struct.
 */
#ifndef RPP_TICK_THINNING_H
#define RPP_TICK_THINNING_H

#include <stdint.h>

#define RPP_THINNING_BURST 4u

typedef struct rpp_thinning {
    uint64_t random;
    uint64_t period_ns, tick_ns;
    uint64_t cycle_start_ns; /* of the CPU clock, modulo 2^64, because the first cycle began before the clock */
    uint64_t starts_ns[3];   /* of the intervals in the previous, this and the next cycle */
} rpp_thinning;

/* Cycles begin at a random point before now. `random` is any number. */
void rpp_thinning_start(rpp_thinning *thinning, uint64_t random, uint64_t cpu_ns, uint64_t period_ns, uint64_t tick_ns);
/* A tick came at this CPU time: returns the number of intervals that contain it, mostly 0 or 1. */
unsigned rpp_thinning_take(rpp_thinning *thinning, uint64_t cpu_ns);
/* The weight of one taken tick, in nanoseconds of CPU time. */
uint64_t rpp_thinning_weight_ns(const rpp_thinning *thinning);
/* The CPU time until the next tick that may be taken. */
uint64_t rpp_thinning_silent_ns(rpp_thinning *thinning, uint64_t cpu_ns);

#endif
