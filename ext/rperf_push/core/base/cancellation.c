/* cancellation.c - a wait of one thread for another, with a deadline, that a third thread may cancel. */
#include "base/cancellation.h"

#include "base/clock.h"

bool rpp_cancellation_is_over(const rpp_cancellation *cancellation, uint64_t now_ns)
{
    return atomic_load(&cancellation->cancelled) || now_ns >= cancellation->deadline_ns;
}

/* Either this function sees the cancel, or cancel sees the lock, and can take it only after the wait has begun. */
void rpp_cancellation_wait(rpp_cancellation *cancellation, pthread_cond_t *changed, pthread_mutex_t *lock,
                           uint64_t until_ns)
{
    atomic_store(&cancellation->changed, changed);
    atomic_store(&cancellation->lock, lock);
    if (!atomic_load(&cancellation->cancelled)) rpp_cond_wait_until(changed, lock, until_ns);
}

void rpp_cancellation_cancel(rpp_cancellation *cancellation)
{
    atomic_store(&cancellation->cancelled, true);
    pthread_mutex_t *lock = atomic_load(&cancellation->lock);
    if (!lock) return;
    pthread_mutex_lock(lock);
    pthread_cond_broadcast(atomic_load(&cancellation->changed));
    pthread_mutex_unlock(lock);
}
