/* waker.h - a sleep that another thread, or a signal handler, can end.
 *
 * No file descriptors: programs that close all of theirs would hand ours to someone else.
 *
 * Threads    wake: any thread and any context (async-signal-safe). wait: one thread.
 */
#ifndef RPP_WAKER_H
#define RPP_WAKER_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct rpp_waker {
    _Atomic uint32_t pending;
#ifdef __APPLE__
    unsigned int semaphore; /* mach semaphore_t */
#endif
} rpp_waker;

void rpp_waker_init(rpp_waker *waker);
void rpp_waker_destroy(rpp_waker *waker);
void rpp_waker_wake(rpp_waker *waker);
/* Until woken (also by a wake since the last wait) or the deadline (monotonic; UINT64_MAX: none). May return early. */
void rpp_waker_wait(rpp_waker *waker, uint64_t deadline_ns);

#endif
