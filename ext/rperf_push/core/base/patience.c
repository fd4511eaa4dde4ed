/* patience.c - how long one thread waits for another: until a deadline, or until a third thread cancels the wait. */
#include "base/patience.h"

#include "base/clock.h"

bool rpp_patience_is_over(const rpp_patience *patience, uint64_t now_ns)
{
    return atomic_load(&patience->cancelled) || now_ns >= patience->deadline_ns;
}

/* Either this function sees the cancel, or cancel sees the lock, and can take it only after the wait has begun. */
void rpp_patience_wait(rpp_patience *patience, pthread_cond_t *changed, pthread_mutex_t *lock, uint64_t until_ns)
{
    atomic_store(&patience->changed, changed);
    atomic_store(&patience->lock, lock);
    if (!atomic_load(&patience->cancelled)) rpp_cond_wait_until(changed, lock, until_ns);
}

void rpp_patience_cancel(rpp_patience *patience)
{
    atomic_store(&patience->cancelled, true);
    pthread_mutex_t *lock = atomic_load(&patience->lock);
    if (!lock) return;
    pthread_mutex_lock(lock);
    pthread_cond_broadcast(atomic_load(&patience->changed));
    pthread_mutex_unlock(lock);
}
