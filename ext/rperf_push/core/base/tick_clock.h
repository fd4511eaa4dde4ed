/* tick_clock.h - the processor's counter of ticks, where it can stand for the monotonic clock: a reading takes less
 * than half as long.
 *
 * Its rate is not told. A caller reads both at the beginning and at the end, and so knows what a tick was worth
 * between.
 *
 * Threads    any thread. usable reads a file.
 * Ownership  nothing is owned.
 */
#ifndef RPP_TICK_CLOCK_H
#define RPP_TICK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__SIZEOF_INT128__)
#define RPP_HAVE_TICK_CLOCK 1
#include <x86intrin.h>
#else
#define RPP_HAVE_TICK_CLOCK 0
#endif

/* The counter runs at one rate on all cores, also while they sleep: the processor says so, and the system's own clock
 * relies on it. */
bool rpp_tick_clock_is_usable(void);

/* Both clocks at one instant. */
typedef struct rpp_tick_instant {
    uint64_t ticks, ns;
} rpp_tick_instant;

/* The nearest of several readings: a thread may lose its core between the two clocks. */
rpp_tick_instant rpp_tick_clock_now(void);

/* Only if it is usable. */
static inline uint64_t rpp_tick_clock_read(void)
{
#if RPP_HAVE_TICK_CLOCK
    return __rdtsc();
#else
    return 0;
#endif
}

#endif
