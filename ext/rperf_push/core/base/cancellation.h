/* cancellation.h - a wait of one thread for another, with a deadline, that a third thread may cancel.
 *
 * Operation
 *   A wait is a loop around rpp_cancellation_wait on the condition variable of the awaited event. cancel ends the
 *   current wait and all later waits with this cancellation.
 *
 * Threads    one thread waits. Any other thread that holds none of our locks may cancel. Not in signal handlers.
 * Ownership  the waiting thread owns the cancellation, which must outlive every cancel.
 */
#ifndef RPP_CANCELLATION_H
#define RPP_CANCELLATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Initialize it with {.deadline_ns = ...}. */
typedef struct rpp_cancellation {
    uint64_t deadline_ns; /* monotonic */
    _Atomic bool cancelled;
    /* of the current or the last wait */
    _Atomic(pthread_mutex_t *) lock;
    _Atomic(pthread_cond_t *) changed;
} rpp_cancellation;

bool rpp_cancellation_is_over(const rpp_cancellation *cancellation, uint64_t now_ns);
/* Call it under the lock, in a loop: spurious wake-ups happen. Waits until `until_ns` (monotonic) at the latest. */
void rpp_cancellation_wait(rpp_cancellation *cancellation, pthread_cond_t *changed, pthread_mutex_t *lock,
                           uint64_t until_ns);
/* The lock of the wait must outlive the call. */
void rpp_cancellation_cancel(rpp_cancellation *cancellation);

#endif
