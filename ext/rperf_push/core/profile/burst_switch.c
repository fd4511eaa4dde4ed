/* burst_switch.c - tells the sampler in which bursts to watch. */
#include "profile/burst_switch.h"

#include "base/clock.h"

void rpp_burst_switch_init(rpp_burst_switch *s, uint64_t on_ns, uint64_t off_ns, uint64_t now_ns)
{
    rpp_bursts_init(&s->bursts, on_ns, off_ns, rpp_random_seed(), now_ns);
}

static bool is_wanted(const rpp_burst_switch *s)
{
    return atomic_load_explicit(&s->wanted, memory_order_relaxed);
}

void rpp_burst_switch_update(rpp_burst_switch *s, bool rested, uint64_t now_ns)
{
    if (rested && is_wanted(s)) rpp_bursts_wake(&s->bursts, now_ns);
    atomic_store(&s->on, is_wanted(s) && rpp_bursts_at(&s->bursts, now_ns));
}

bool rpp_burst_switch_sleep(rpp_burst_switch *s)
{
    if (!is_wanted(s)) return false;
    atomic_store(&s->on, rpp_bursts_sleep(&s->bursts));
    return !rpp_burst_switch_is_followed(s);
}

uint64_t rpp_burst_switch_next_ns(const rpp_burst_switch *s)
{
    return is_wanted(s) ? s->bursts.until_ns : UINT64_MAX;
}
