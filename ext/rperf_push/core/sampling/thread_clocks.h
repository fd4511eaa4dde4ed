/* thread_clocks.h - a thread's two clocks: wall time passes in a state, and a reading of the CPU clock tells how much of it was
 * CPU time, and in which states.
 *
 * CPU time between two readings belongs to the GVL, up to the wall time there. The rest was used off the GVL.
 *
 * Threads    one at a time; async-signal-safe, because the functions are pure.
 * Ownership  the caller owns the struct.
 */
#ifndef RPP_THREAD_CLOCKS_H
#define RPP_THREAD_CLOCKS_H

#include <stdint.h>

#include "sampling/states.h"

/* A struct of all zeros has read nothing. */
typedef struct rpp_thread_clocks {
    uint64_t wall_mark_ns, cpu_mark_ns;         /* time up to here is known */
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
    if (now_ns <= clocks->wall_mark_ns) return 0;
    uint64_t passed_ns = now_ns - clocks->wall_mark_ns;
    clocks->wall_mark_ns = now_ns;
    clocks->unread_ns[state] += passed_ns;
    return passed_ns;
}

/* An event begins now: unread time was before it. */
void rpp_clocks_begin_event(rpp_thread_clocks *clocks);
/* Unread wall time on the GVL, and in events that may have used CPU time. */
uint64_t rpp_clocks_unread_on_gvl_ns(const rpp_thread_clocks *clocks);
uint64_t rpp_clocks_unread_in_events_ns(const rpp_thread_clocks *clocks);
/* Takes a reading of the CPU clock. Afterwards no time is unread. */
rpp_cpu_reading rpp_clocks_read(rpp_thread_clocks *clocks, uint64_t cpu_ns);
void rpp_clocks_forget_unread(rpp_thread_clocks *clocks);

#endif
