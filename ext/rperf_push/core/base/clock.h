/* clock.h - the system's clocks, timed waits, random numbers, and a clock interface that tests can replace.
 *
 * Code that waits or computes a deadline takes a `const rpp_clock *`. The hot path calls the functions directly.
 *
 * Threads    any thread. Reading a clock is async-signal-safe, a wait is not.
 * Ownership  the caller keeps clocks, conditions and locks.
 */
#ifndef RPP_CLOCK_H
#define RPP_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define RPP_NS_PER_S  UINT64_C(1000000000)
#define RPP_NS_PER_MS UINT64_C(1000000)
#define RPP_NS_PER_US UINT64_C(1000)

typedef struct rpp_clock {
    uint64_t (*monotonic_ns)(void *context);
    uint64_t (*realtime_ns)(void *context);
    void *context;
} rpp_clock;

/* The system's clocks. */
extern const rpp_clock rpp_system_clock;

/* 0 if there is no such clock. Inline, with what else a hook calls. */
static inline uint64_t rpp_clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return 0;
    return (uint64_t)now.tv_sec * RPP_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t rpp_monotonic_ns(void)
{
    return rpp_clock_ns(CLOCK_MONOTONIC);
}

/* The time that one reading of the monotonic clock takes: the minimum of several readings. */
uint64_t rpp_monotonic_reading_ns(void);
uint64_t rpp_realtime_ns(void);
/* CPU time of the calling thread: a system call of about 0.5 us. */
uint64_t rpp_thread_cpu_ns(void);
/* CPU time of the thread with this clock id; 0 if the thread has ended. */
uint64_t rpp_cpu_clock_ns(clockid_t clock);

/* A condition variable whose timed waits follow CLOCK_MONOTONIC. */
void rpp_cond_init(pthread_cond_t *cond);
/* Waits until `deadline_ns` (monotonic) at the latest. Spurious wake-ups happen: call it in a loop. */
void rpp_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);
/* Returns true if it took the lock within that time. */
bool rpp_mutex_lock_within(pthread_mutex_t *lock, uint64_t ns);

/* xorshift64*, for jitter and not for secrets. The state must not be 0. */
static inline uint64_t rpp_random_next(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* A seed that differs between processes that start at the same moment. */
uint64_t rpp_random_seed(void);

#endif
