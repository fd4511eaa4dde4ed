/* clock.c - the system's clocks, monotonic waits and random numbers. */
#include "base/clock.h"

#include <sys/random.h>
#include <unistd.h>

uint64_t rpp_monotonic_reading_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        uint64_t began = rpp_monotonic_ns(), took = rpp_monotonic_ns() - began;
        if (took < least) least = took;
    }
    return least;
}

uint64_t rpp_realtime_ns(void)
{
    return rpp_clock_ns(CLOCK_REALTIME);
}

uint64_t rpp_thread_cpu_ns(void)
{
    return rpp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t rpp_cpu_clock_ns(clockid_t clock)
{
    return rpp_clock_ns(clock);
}

static uint64_t system_monotonic(void *context)
{
    (void)context;
    return rpp_monotonic_ns();
}

static uint64_t system_realtime(void *context)
{
    (void)context;
    return rpp_realtime_ns();
}

const rpp_clock rpp_system_clock = {system_monotonic, system_realtime, NULL};

static struct timespec timespec_of(uint64_t ns)
{
    /* Far enough away to mean "never", and accepted by every kernel. */
    uint64_t most = (uint64_t)INT32_MAX * RPP_NS_PER_S;
    if (ns > most) ns = most;
    return (struct timespec){.tv_sec = (time_t)(ns / RPP_NS_PER_S), .tv_nsec = (long)(ns % RPP_NS_PER_S)};
}

#ifdef __APPLE__

/* macOS has no condition variables on CLOCK_MONOTONIC, but its relative waits serve as well. */
void rpp_cond_init(pthread_cond_t *cond)
{
    pthread_cond_init(cond, NULL);
}

void rpp_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
    uint64_t now = rpp_monotonic_ns();
    if (now >= deadline_ns) return;
    struct timespec left = timespec_of(deadline_ns - now);
    pthread_cond_timedwait_relative_np(cond, lock, &left);
}

/* It has no lock with a deadline either. */
bool rpp_mutex_lock_within(pthread_mutex_t *lock, uint64_t ns)
{
    const struct timespec pause = {.tv_nsec = (long)(100 * RPP_NS_PER_US)};
    uint64_t deadline_ns = rpp_monotonic_ns() + ns;
    while (pthread_mutex_trylock(lock) != 0) {
        if (rpp_monotonic_ns() >= deadline_ns) return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

#else

bool rpp_mutex_lock_within(pthread_mutex_t *lock, uint64_t ns)
{
    struct timespec deadline = timespec_of(rpp_realtime_ns() + ns); /* POSIX has no other clock here */
    return pthread_mutex_timedlock(lock, &deadline) == 0;
}

void rpp_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void rpp_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
    struct timespec deadline = timespec_of(deadline_ns);
    pthread_cond_timedwait(cond, lock, &deadline);
}

#endif

uint64_t rpp_random_seed(void)
{
    uint64_t seed = 0;
    if (getentropy(&seed, sizeof seed) != 0) {
        /* For old kernels and sandboxes. In containers every process may have pid 1, so the clocks also enter the
         * seed. */
        seed = rpp_monotonic_ns() ^ (rpp_realtime_ns() << 20) ^ ((uint64_t)getpid() << 40);
        seed = (seed ^ (seed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        seed ^= seed >> 31;
    }
    return seed ? seed : 1;
}
