/* burst_switch.h - tells the sampler in which bursts to watch (sampling/bursts.h).
 *
 * The collector knows when the bursts are, and the sampler acts on them at a safepoint. It says what it does; until it
 * does what it should, the collector asks.
 *
 * Threads    init, update, sleep and next_ns: the collector's owner, one at a time. All others: any, async-signal-safe.
 * Ownership  the caller owns the struct.
 */
#ifndef RPP_BURST_SWITCH_H
#define RPP_BURST_SWITCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampling/bursts.h"

/* A struct of all zeros has no bursts. */
typedef struct rpp_burst_switch {
    _Atomic bool wanted, on, followed; /* there is something to s; now is a burst; the sampler watches */
    rpp_bursts bursts;
} rpp_burst_switch;

/* The averages. Nothing is to be watched yet. */
void rpp_burst_switch_init(rpp_burst_switch *s, uint64_t on_ns, uint64_t off_ns, uint64_t now_ns);
/* `rested`: rpp_burst_switch_sleep was called since the last update. */
void rpp_burst_switch_update(rpp_burst_switch *s, bool rested, uint64_t now_ns);
/* The collector will sleep for an unknown time. Whatever runs then meets a state that was sampled for it, long before
 * the collector is awake. True if the sampler has to be asked. */
bool rpp_burst_switch_sleep(rpp_burst_switch *s);
/* When it changes; UINT64_MAX: it does not. */
uint64_t rpp_burst_switch_next_ns(const rpp_burst_switch *s);

static inline void rpp_burst_switch_want(rpp_burst_switch *s, bool wanted)
{
    atomic_store_explicit(&s->wanted, wanted && s->bursts.on_ns, memory_order_relaxed);
}

static inline bool rpp_burst_switch_is_on(const rpp_burst_switch *s)
{
    return atomic_load_explicit(&s->on, memory_order_relaxed);
}

/* The sampler watches, or it does not. */
static inline void rpp_burst_switch_note(rpp_burst_switch *s, bool on)
{
    atomic_store_explicit(&s->followed, on, memory_order_relaxed);
}

/* False: the sampler has to be asked. */
static inline bool rpp_burst_switch_is_followed(const rpp_burst_switch *s)
{
    return atomic_load(&s->on) == atomic_load(&s->followed);
}

#endif
