/* thread_clocks.c - a thread's two clocks, and how CPU time divides among the states. */
#include "sampling/thread_clocks.h"

#include <string.h>

uint64_t rpp_clocks_unread_on_gvl_ns(const rpp_thread_clocks *c)
{
    return c->unread_ns[RPP_STATE_RUNNING] + c->unread_ns[RPP_STATE_GC_MARKING] + c->unread_ns[RPP_STATE_GC_SWEEPING];
}

void rpp_clocks_discard_unread(rpp_thread_clocks *c)
{
    memset(c->unread_ns, 0, sizeof c->unread_ns);
    memset(c->unread_before_ns, 0, sizeof c->unread_before_ns);
}

static void give(rpp_cpu_reading *reading, const rpp_thread_clocks *c, rpp_state state, uint64_t cpu_ns)
{
    reading->cpu_ns[state] = cpu_ns;
    reading->before_ns[state] = rpp_ns_least(cpu_ns, c->unread_before_ns[state]);
}

/* Divides by wall time. No part exceeds its wall time, and the parts add up to cpu_ns. */
static void share_on_gvl(const rpp_thread_clocks *c, uint64_t cpu_ns, uint64_t wall_ns, rpp_cpu_reading *reading)
{
    static const rpp_state states[] = {RPP_STATE_RUNNING, RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        uint64_t unread_ns = c->unread_ns[states[i]];
        if (!unread_ns) continue;
        uint64_t part_ns = rpp_ns_share(cpu_ns, unread_ns, wall_ns);
        wall_ns -= unread_ns;
        if (cpu_ns - part_ns > wall_ns) part_ns = cpu_ns - wall_ns; /* rounding */
        cpu_ns -= part_ns;
        give(reading, c, states[i], part_ns);
    }
}

/* A reading counts at most the wall time that passed, because the clocks differ a little and a boundary is earlier than
 * the reading; the next reading has the rest. A thread that waits for the GVL uses little CPU time: it goes to sleep
 * and wakes up. */
void rpp_clocks_read(rpp_thread_clocks *c, uint64_t cpu_ns, rpp_cpu_reading *reading)
{
    memset(reading, 0, sizeof *reading);
    uint64_t burnt_ns = rpp_ns_since(cpu_ns, c->cpu_known_ns), wall_on_gvl_ns = rpp_clocks_unread_on_gvl_ns(c);
    uint64_t on_gvl_ns = rpp_ns_least(burnt_ns, wall_on_gvl_ns), left_ns = burnt_ns - on_gvl_ns;
    if (wall_on_gvl_ns == c->unread_ns[RPP_STATE_RUNNING]) { /* mostly */
        give(reading, c, RPP_STATE_RUNNING, on_gvl_ns);
    } else {
        share_on_gvl(c, on_gvl_ns, wall_on_gvl_ns, reading);
    }
    if (left_ns) {
        uint64_t blocked_ns = rpp_ns_least(left_ns, c->unread_ns[RPP_STATE_BLOCKED]);
        uint64_t waiting_ns = rpp_ns_least(left_ns - blocked_ns, c->unread_ns[RPP_STATE_WAITING]);
        give(reading, c, RPP_STATE_BLOCKED, blocked_ns);
        give(reading, c, RPP_STATE_WAITING, waiting_ns);
        left_ns -= blocked_ns + waiting_ns;
    }
    c->cpu_known_ns += burnt_ns - left_ns;
    rpp_clocks_discard_unread(c);
}
