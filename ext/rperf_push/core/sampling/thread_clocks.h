/* thread_clocks.h - a thread's two clocks: wall time passes in a state, and a reading of the CPU clock tells how much
 * of it was CPU time, and in which states.
 *
 * CPU time between two readings belongs to the GVL, up to the wall time there. The rest was used off the GVL.
 *
 * Threads    one at a time; async-signal-safe, because the functions are pure.
 * Ownership  the caller owns the struct.
 */
#ifndef RPP_THREAD_CLOCKS_H
#define RPP_THREAD_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sampling/states.h"
#include "sampling/thread_time.h"

/* A struct of all zeros has read nothing. */
typedef struct rpp_thread_clocks {
    uint64_t wall_known_ns, cpu_known_ns;       /* time up to here is known */
    uint64_t unread_ns[RPP_STATE_COUNT];        /* wall time since the CPU clock was read */
    uint64_t unread_before_ns[RPP_STATE_COUNT]; /* the part before the event in progress */
} rpp_thread_clocks;

/* CPU time by state since the previous reading. */
typedef struct rpp_cpu_reading {
    uint64_t cpu_ns[RPP_STATE_COUNT];
    uint64_t before_ns[RPP_STATE_COUNT]; /* the part before the event in progress */
} rpp_cpu_reading;

/* The wall time up to now passed in this state. Returns its length; 0 if the clock went back. */
static inline uint64_t rpp_clocks_advance(rpp_thread_clocks *clocks, rpp_state state, uint64_t now_ns)
{
    if (now_ns <= clocks->wall_known_ns) return 0;
    uint64_t passed_ns = now_ns - clocks->wall_known_ns;
    clocks->wall_known_ns = now_ns;
    clocks->unread_ns[state] += passed_ns;
    return passed_ns;
}

/* An event begins now: unread time was before it. */
static inline void rpp_clocks_begin_event(rpp_thread_clocks *clocks)
{
    memcpy(clocks->unread_before_ns, clocks->unread_ns, sizeof clocks->unread_ns);
}

/* Unread wall time on the GVL, and in events that may have used CPU time. */
uint64_t rpp_clocks_unread_on_gvl_ns(const rpp_thread_clocks *clocks);
static inline uint64_t rpp_clocks_unread_in_events_ns(const rpp_thread_clocks *clocks)
{
    const uint64_t *unread_ns = clocks->unread_ns;
    return unread_ns[RPP_STATE_BLOCKED] + unread_ns[RPP_STATE_GC_MARKING] + unread_ns[RPP_STATE_GC_SWEEPING];
}

/* True if the thread only ran since the last reading, as at most ticks. */
static inline bool rpp_clocks_only_ran(const rpp_thread_clocks *clocks)
{
    return !(rpp_clocks_unread_in_events_ns(clocks) | clocks->unread_ns[RPP_STATE_WAITING]);
}
/* The same as read, if it only ran. Returns the CPU time. */
static inline uint64_t rpp_clocks_read_run(rpp_thread_clocks *clocks, uint64_t cpu_ns)
{
    uint64_t ran_ns = rpp_ns_least(rpp_ns_since(cpu_ns, clocks->cpu_known_ns), clocks->unread_ns[RPP_STATE_RUNNING]);
    clocks->cpu_known_ns += ran_ns;
    clocks->unread_ns[RPP_STATE_RUNNING] = clocks->unread_before_ns[RPP_STATE_RUNNING] = 0;
    return ran_ns;
}
/* Takes a reading of the CPU clock. Afterwards no time is unread. */
void rpp_clocks_read(rpp_thread_clocks *clocks, uint64_t cpu_ns, rpp_cpu_reading *reading);
void rpp_clocks_discard_unread(rpp_thread_clocks *clocks);

#endif
