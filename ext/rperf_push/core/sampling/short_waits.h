/* short_waits.h - which of a thread's short waits and GC pauses are sampled.
 *
 * Events shorter than a period lie end to end on a line, one line for each state and clock. Each line has one sampling
 * point per period, at a random place, and an event on a point is sampled: with the weight of a period for each point.
 * At a fixed place in each period, waits in step with the period would all be sampled, or none.
 *
 * Threads    one at a time; async-signal-safe.
 * Ownership  the caller owns the struct.
 */
#ifndef RPP_SHORT_WAITS_H
#define RPP_SHORT_WAITS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rpp_short_waits {
    uint64_t to_point_ns, behind_point_ns; /* to the next point, and from there to the end of its period */
} rpp_short_waits;

/* Places the first point. `random` is the state of rpp_random_next. */
void rpp_short_waits_begin(rpp_short_waits *line, uint64_t *random, uint64_t period_ns);
/* True if an event that follows now would be sampled. */
static inline bool rpp_short_waits_samples(const rpp_short_waits *line, uint64_t ns)
{
    return ns > line->to_point_ns;
}
/* Adds an event that is not sampled. */
static inline void rpp_short_waits_pass(rpp_short_waits *line, uint64_t ns)
{
    line->to_point_ns -= ns;
}
/* Adds an event that is sampled. Returns its weight: a period for each point in it. */
uint64_t rpp_short_waits_sample(rpp_short_waits *line, uint64_t *random, uint64_t period_ns, uint64_t ns);
/* Adds an event. Returns its weight; 0: it is not sampled. Inline, because few of those of a GVL release are. */
static inline uint64_t rpp_short_waits_add(rpp_short_waits *line, uint64_t *random, uint64_t period_ns, uint64_t ns)
{
    if (rpp_short_waits_samples(line, ns)) return rpp_short_waits_sample(line, random, period_ns, ns);
    rpp_short_waits_pass(line, ns);
    return 0;
}

#endif
