/* waker.h - a sleep that another thread or a signal handler can end.
 *
 * It uses no file descriptors: a program that closes all descriptors would close ours and reuse their numbers.
 *
 * Threads    wake: any thread, and signal handlers (async-signal-safe). wait: one thread.
 * Ownership  the waiting thread owns the waker.
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
/* Waits for a wake (one since the last wait counts) or for the deadline (monotonic; UINT64_MAX: none). May return
 * early. */
void rpp_waker_wait(rpp_waker *waker, uint64_t deadline_ns);

#endif
