/* watch.h - tells the sampler in which bursts to watch (sampling/bursts.h).
 *
 * The collector knows when the bursts are, and the sampler acts on them at a safepoint. It says what it does; until it
 * does what it should, the collector asks.
 *
 * Threads    init, look, rest and next_ns: the collector's owner, one at a time. All others: any, async-signal-safe.
 * Ownership  the caller owns the struct.
 */
#ifndef RPP_WATCH_H
#define RPP_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampling/bursts.h"

/* A struct of all zeros has no bursts. */
typedef struct rpp_watch {
    _Atomic bool wanted, on, followed; /* there is something to watch; now is a burst; the sampler watches */
    rpp_bursts bursts;
} rpp_watch;

/* The averages. Nothing is to be watched yet. */
void rpp_watch_init(rpp_watch *watch, uint64_t on_ns, uint64_t off_ns, uint64_t now_ns);
/* `rested`: rpp_watch_sleep was called since the last look. */
void rpp_watch_update(rpp_watch *watch, bool rested, uint64_t now_ns);
/* The collector will sleep for an unknown time. Whatever runs then meets a state that was sampled for it, long before
 * the collector is awake. True if the sampler has to be asked. */
bool rpp_watch_sleep(rpp_watch *watch);
/* When it changes; UINT64_MAX: it does not. */
uint64_t rpp_watch_next_ns(const rpp_watch *watch);

static inline void rpp_watch_want(rpp_watch *watch, bool wanted)
{
    atomic_store_explicit(&watch->wanted, wanted && watch->bursts.on_ns, memory_order_relaxed);
}

static inline bool rpp_watch_is_on(const rpp_watch *watch)
{
    return atomic_load_explicit(&watch->on, memory_order_relaxed);
}

/* The sampler watches, or it does not. */
static inline void rpp_watch_note(rpp_watch *watch, bool on)
{
    atomic_store_explicit(&watch->followed, on, memory_order_relaxed);
}

/* False: the sampler has to be asked. */
static inline bool rpp_watch_is_followed(const rpp_watch *watch)
{
    return atomic_load(&watch->on) == atomic_load(&watch->followed);
}

#endif
