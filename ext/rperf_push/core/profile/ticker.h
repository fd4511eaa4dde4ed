/* ticker.h - the collectors' ticks: when one is due, which collector gives it, and which thread it found.
 *
 * A tick captures the running thread for all sessions, so their collectors share one ticker, and one of them holds it.
 * A collector that will be busy, because it encodes a window, hands the ticker over to another one and is not given it
 * until it returns. If all are busy, there are no ticks. Each period has one tick, at a random place.
 *
 * Threads    take and period_ns: any, async-signal-safe. is_due, next_ns, note, hand_over and come_back: the seat's
 *            collector. All others: any ordinary thread; they hold the lock briefly.
 * Ownership  the caller owns the ticker and the seats. A seat in use must not move; the ticker borrows its waker until
 *            it leaves.
 */
#ifndef RPP_TICKER_H
#define RPP_TICKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/waker.h"
#include "sampling/thread_time.h"

/* A tick found a thread. */
typedef struct rpp_finding {
    const void *who; /* NULL: no thread */
    rpp_time at;     /* by the thread's CPU clock, and by the monotonic clock */
} rpp_finding;

/* Ticks that found the same thread; a call without a safepoint may be as long as many. */
typedef struct rpp_ticks {
    unsigned count;
    rpp_finding last;
} rpp_ticks;

/* A collector's place at the ticker. Set the waker; all else belongs to the ticker. */
typedef struct rpp_ticker_seat {
    rpp_waker *waker;
    bool joined, busy;
    struct rpp_ticker_seat *next;
} rpp_ticker_seat;

typedef struct rpp_ticker {
    _Atomic uint64_t period_ns;

    pthread_mutex_t lock;
    /* under lock */
    rpp_ticker_seat *seats, *holder;
    uint64_t random, tick_ns, period_end_ns;

    /* written under lock, read without */
    _Atomic unsigned count;
    _Atomic(const void *) found;
    _Atomic uint64_t found_cpu_ns, found_ns; /* of the last tick */
} rpp_ticker;

void rpp_ticker_init(rpp_ticker *ticker, uint64_t period_ns);
void rpp_ticker_destroy(rpp_ticker *ticker);
/* In a forked child: the parent's collectors are gone. The period stays. */
void rpp_ticker_discard_after_fork(rpp_ticker *ticker);

/* Takes effect with the next tick. */
void rpp_ticker_set_period(rpp_ticker *ticker, uint64_t period_ns);
uint64_t rpp_ticker_period_ns(const rpp_ticker *ticker);

/* From now on this collector may hold the ticker. It gets it at once if no collector holds it. Joining twice has no
 * effect. */
void rpp_ticker_join(rpp_ticker *ticker, rpp_ticker_seat *seat);
/* Hands the ticker over if this collector holds it. Afterwards no one wakes the seat's waker. Leaving twice has no
 * effect. */
void rpp_ticker_leave(rpp_ticker *ticker, rpp_ticker_seat *seat);

/* The collector will be busy: hands the ticker over, and wakes who gets it. */
void rpp_ticker_hand_over(rpp_ticker *ticker, rpp_ticker_seat *seat);
/* The collector is no longer busy. It gets the ticker only if no collector holds it. */
void rpp_ticker_come_back(rpp_ticker *ticker, rpp_ticker_seat *seat);

/* True if this collector holds the ticker and a tick is due; then it plans the next one. If all threads slept, pass the
 * time when one began to run as `anew_ns`, else 0: the periods begin anew there, because ticks must not depend on which
 * thread wakes first. */
bool rpp_ticker_is_due(rpp_ticker *ticker, rpp_ticker_seat *seat, uint64_t now_ns, uint64_t anew_ns);
/* The time of the next tick; UINT64_MAX: another collector gives it. */
uint64_t rpp_ticker_next_ns(rpp_ticker *ticker, rpp_ticker_seat *seat);
/* Counts a tick. False: it found no thread, or another collector has got the ticker since it was due. */
bool rpp_ticker_note(rpp_ticker *ticker, rpp_ticker_seat *seat, rpp_finding found);
/* Returns the ticks since the last call. Each of them weighs a period. Ticks that found another thread before are
 * dropped. */
rpp_ticks rpp_ticker_take(rpp_ticker *ticker);

#endif
