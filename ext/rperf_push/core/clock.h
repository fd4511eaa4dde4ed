/* clock.h - the clocks, and one that tests turn by hand.
 *
 * Whatever waits or computes a deadline takes a `const rpp_clock *`; the hot path calls the functions directly.
 */
#ifndef RPP_CLOCK_H
#define RPP_CLOCK_H

#include <pthread.h>
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

/* The machine's clocks. */
extern const rpp_clock rpp_system_clock;

uint64_t rpp_monotonic_ns(void);
/* What a reading of it takes: the least of some. */
uint64_t rpp_monotonic_reading_ns(void);
uint64_t rpp_realtime_ns(void);
/* CPU time of the calling thread: a system call of about 0.5 us. */
uint64_t rpp_thread_cpu_ns(void);
/* CPU time read from any thread's clock id; 0 when the thread is gone. */
uint64_t rpp_cpu_clock_ns(clockid_t clock);

/* A condition variable whose timed waits follow CLOCK_MONOTONIC. */
void rpp_cond_init(pthread_cond_t *cond);
/* Waits at most until `deadline_ns` (monotonic). Spurious wake-ups happen: loop. */
void rpp_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);

/* xorshift64*: jitter, not secrets. The state must not be 0. */
uint64_t rpp_random_next(uint64_t *state);
/* A seed that differs between processes that start in the same instant. */
uint64_t rpp_random_seed(void);

#endif
