/* watch.c - tells the sampler in which bursts to watch. */
#include "profile/watch.h"

#include "base/clock.h"

void rpp_watch_init(rpp_watch *watch, uint64_t on_ns, uint64_t off_ns, uint64_t now_ns)
{
    rpp_bursts_init(&watch->bursts, on_ns, off_ns, rpp_random_seed(), now_ns);
}

static bool is_wanted(const rpp_watch *watch)
{
    return atomic_load_explicit(&watch->wanted, memory_order_relaxed);
}

void rpp_watch_update(rpp_watch *watch, bool rested, uint64_t now_ns)
{
    if (rested && is_wanted(watch)) rpp_bursts_wake(&watch->bursts, now_ns);
    atomic_store(&watch->on, is_wanted(watch) && rpp_bursts_at(&watch->bursts, now_ns));
}

bool rpp_watch_sleep(rpp_watch *watch)
{
    if (!is_wanted(watch)) return false;
    atomic_store(&watch->on, rpp_bursts_sleep(&watch->bursts));
    return !rpp_watch_is_followed(watch);
}

uint64_t rpp_watch_next_ns(const rpp_watch *watch)
{
    return is_wanted(watch) ? watch->bursts.until_ns : UINT64_MAX;
}
