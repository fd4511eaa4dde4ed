/* unseen_time.c - divides time without events like the time before it. */
#include "sampling/unseen_time.h"

#include <stddef.h>

static const rpp_state GC[] = {RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING};

/* Divides between running and the GC, in proportion to their wall time. */
static void divide_on_gvl(const rpp_time *spent, rpp_time unseen, uint64_t spent_ns, rpp_time *parts)
{
    rpp_time left = unseen;
    for (size_t i = 0; i < sizeof GC / sizeof *GC; i++) {
        uint64_t usual_ns = spent[GC[i]].wall_ns;
        if (!usual_ns) continue;
        rpp_time part = {.cpu_ns = rpp_ns_least(rpp_ns_share(unseen.cpu_ns, usual_ns, spent_ns), left.cpu_ns),
                         .wall_ns = rpp_ns_least(rpp_ns_share(unseen.wall_ns, usual_ns, spent_ns), left.wall_ns)};
        uint64_t fits = left.wall_ns - part.wall_ns;
        if (left.cpu_ns - part.cpu_ns > fits) part.cpu_ns = left.cpu_ns - fits; /* rounding */
        parts[GC[i]] = part;
        left = rpp_time_less(left, part);
    }
    parts[RPP_STATE_RUNNING] = left;
}

static void divide_off_gvl(const rpp_time *spent, rpp_time unseen, rpp_time *parts)
{
    uint64_t blocked_ns = spent[RPP_STATE_BLOCKED].wall_ns, waiting_ns = spent[RPP_STATE_WAITING].wall_ns;
    uint64_t waited_ns = blocked_ns ? rpp_ns_share(unseen.wall_ns, waiting_ns, blocked_ns + waiting_ns)
                                    : unseen.wall_ns; /* no time before: a new thread waits for the GVL */
    parts[RPP_STATE_WAITING] = (rpp_time){.wall_ns = waited_ns};
    parts[RPP_STATE_BLOCKED] = (rpp_time){.cpu_ns = unseen.cpu_ns, .wall_ns = unseen.wall_ns - waited_ns};
}

/* The CPU time is exact, so time on the GVL gets at least as much wall time, even if less was usual. */
void rpp_unseen_divide(const rpp_time spent[RPP_STATE_COUNT], rpp_time unseen, rpp_time parts[RPP_STATE_COUNT])
{
    rpp_time all = {0}, usual = {0}, on_gvl = unseen;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        bool is_on_gvl = state != RPP_STATE_BLOCKED && state != RPP_STATE_WAITING;
        parts[state] = (rpp_time){0};
        rpp_time_add(&all, spent[state]);
        if (is_on_gvl) rpp_time_add(&usual, spent[state]);
    }
    if (all.cpu_ns) on_gvl.cpu_ns = rpp_ns_share(unseen.cpu_ns, usual.cpu_ns, all.cpu_ns);
    uint64_t usual_ns = all.wall_ns ? rpp_ns_share(unseen.wall_ns, usual.wall_ns, all.wall_ns) : 0;
    on_gvl.wall_ns = usual_ns > on_gvl.cpu_ns ? usual_ns : rpp_ns_least(on_gvl.cpu_ns, unseen.wall_ns);
    divide_on_gvl(spent, on_gvl, usual.wall_ns, parts);
    divide_off_gvl(spent, rpp_time_less(unseen, on_gvl), parts);
}
