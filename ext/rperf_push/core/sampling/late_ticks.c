/* late_ticks.c - weighs what ticks of another thread find, so that code right after a wait gets its part of the time.
 * */
#include "sampling/late_ticks.h"

/* A quarter of a finding that weighs what it says, so that the very first is not alone. */
#define PRIOR 0.25

/* A kernel lets a thread that woke up keep its core for some milliseconds. Later a tick is as late as any other. */
static unsigned step_of(uint64_t on_gvl_ns)
{
    uint64_t step = on_gvl_ns / RPP_ON_GVL_STEP_NS;
    return step < RPP_ON_GVL_STEPS ? (unsigned)step : RPP_ON_GVL_STEPS - 1;
}

static uint64_t end_of(unsigned step)
{
    return step < RPP_ON_GVL_STEPS - 1 ? (step + 1) * RPP_ON_GVL_STEP_NS : UINT64_MAX;
}

void rpp_late_ticks_spend(rpp_late_ticks *all, rpp_late_ticks *own, uint64_t from_ns, uint64_t to_ns)
{
    while (from_ns < to_ns) {
        unsigned step = step_of(from_ns);
        uint64_t end_ns = end_of(step) < to_ns ? end_of(step) : to_ns;
        double spent_ns = (double)(end_ns - from_ns);
        all->spent_ns[step] += spent_ns;
        own->spent_ns[step] += spent_ns;
        from_ns = end_ns;
    }
}

static void discard_half(rpp_late_ticks *ticks)
{
    ticks->findings /= 2;
    for (unsigned step = 0; step < RPP_ON_GVL_STEPS; step++) {
        ticks->spent_ns[step] /= 2;
        ticks->found_ns[step] /= 2;
    }
}

/* The CPU time in this step over the weights of its findings. */
static double find_in(rpp_late_ticks *ticks, unsigned step, double weight)
{
    if (++ticks->findings > RPP_LATE_TICKS_KEPT) discard_half(ticks);
    ticks->found_ns[step] += weight;
    double prior = PRIOR * weight;
    return (ticks->spent_ns[step] + prior) / (ticks->found_ns[step] + prior);
}

uint64_t rpp_late_ticks_weigh(rpp_late_ticks *all, rpp_late_ticks *own, uint64_t on_gvl_ns, uint64_t weight_ns)
{
    if (!weight_ns) return 0;
    unsigned step = step_of(on_gvl_ns);
    double weight = (double)weight_ns, of_all = find_in(all, step, weight), of_own = find_in(own, step, weight);
    double times = own->findings >= RPP_LATE_TICKS_OWN ? of_own : of_all;
    return (uint64_t)(weight * (times < RPP_LATE_TICKS_MOST_WEIGHT ? times : RPP_LATE_TICKS_MOST_WEIGHT));
}
