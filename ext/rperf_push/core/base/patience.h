/* patience.h - how long one thread waits for another: until a deadline, or until a third thread cancels the wait.
 *
 * Operation
 *   A wait is a loop around rpp_patience_wait on the condition variable of the awaited event. cancel ends the current
 *   wait and all later waits with this patience.
 *
 * Threads    one thread waits. Any other thread that holds none of our locks may cancel. Not in signal handlers.
 * Ownership  the waiting thread owns the patience, which must outlive every cancel.
 */
#ifndef RPP_PATIENCE_H
#define RPP_PATIENCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Initialize it with {.deadline_ns = ...}. */
typedef struct rpp_patience {
    uint64_t deadline_ns; /* monotonic */
    _Atomic bool cancelled;
    /* of the current or the last wait */
    _Atomic(pthread_mutex_t *) lock;
    _Atomic(pthread_cond_t *) changed;
} rpp_patience;

bool rpp_patience_is_over(const rpp_patience *patience, uint64_t now_ns);
/* Call it under the lock, in a loop: spurious wake-ups happen. Waits until `until_ns` (monotonic) at the latest. */
void rpp_patience_wait(rpp_patience *patience, pthread_cond_t *changed, pthread_mutex_t *lock, uint64_t until_ns);
/* The lock of the wait must outlive the call. */
void rpp_patience_cancel(rpp_patience *patience);

#endif
