/* waker.c - a sleep that another thread or a signal handler can end: futex on Linux, a Mach semaphore on macOS. */
#include "base/waker.h"

#include "base/clock.h"

#ifdef __APPLE__

#include <mach/mach.h>

void rpp_waker_init(rpp_waker *waker)
{
    atomic_init(&waker->pending, 0);
    semaphore_create(mach_task_self(), &waker->semaphore, SYNC_POLICY_FIFO, 0);
}

void rpp_waker_destroy(rpp_waker *waker)
{
    semaphore_destroy(mach_task_self(), waker->semaphore);
}

void rpp_waker_wake(rpp_waker *waker)
{
    if (atomic_exchange(&waker->pending, 1) == 0) semaphore_signal(waker->semaphore);
}

void rpp_waker_wait(rpp_waker *waker, uint64_t deadline_ns)
{
    if (atomic_exchange(&waker->pending, 0)) {
        mach_timespec_t at_once = {0, 0};
        semaphore_timedwait(waker->semaphore, at_once);
        return;
    }
    uint64_t now = rpp_monotonic_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
    if (left > 3600 * RPP_NS_PER_S) left = 3600 * RPP_NS_PER_S;
    mach_timespec_t timeout = {(unsigned int)(left / RPP_NS_PER_S), (clock_res_t)(left % RPP_NS_PER_S)};
    semaphore_timedwait(waker->semaphore, timeout);
    atomic_store(&waker->pending, 0);
}

#else

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void rpp_waker_init(rpp_waker *waker)
{
    atomic_init(&waker->pending, 0);
}

void rpp_waker_destroy(rpp_waker *waker)
{
    (void)waker;
}

void rpp_waker_wake(rpp_waker *waker)
{
    int saved = errno; /* we may be in a signal handler */
    if (atomic_exchange(&waker->pending, 1) == 0) {
        syscall(SYS_futex, &waker->pending, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    errno = saved;
}

void rpp_waker_wait(rpp_waker *waker, uint64_t deadline_ns)
{
    struct timespec deadline = {(time_t)(deadline_ns / RPP_NS_PER_S), (long)(deadline_ns % RPP_NS_PER_S)};
    if (!atomic_exchange(&waker->pending, 0)) {
        /* FUTEX_WAIT_BITSET takes an absolute time, on CLOCK_MONOTONIC. */
        syscall(SYS_futex, &waker->pending, FUTEX_WAIT_BITSET_PRIVATE, 0, deadline_ns == UINT64_MAX ? NULL : &deadline,
                NULL, FUTEX_BITSET_MATCH_ANY);
        atomic_store(&waker->pending, 0);
    }
}

#endif
