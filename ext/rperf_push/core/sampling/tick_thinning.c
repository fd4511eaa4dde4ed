/* tick_thinning.c - chooses in advance which of the kernel's ticks on a thread are taken. */
#include "sampling/tick_thinning.h"

#include <stdbool.h>

#include "base/clock.h"

static uint64_t cycle_ns(const rpp_thinning *t)
{
    return RPP_THINNING_BURST * t->period_ns;
}

/* If the period is not longer than the kernel's tick, every tick is taken. */
static bool takes_all(const rpp_thinning *t)
{
    return t->tick_ns >= t->period_ns;
}

static void choose(rpp_thinning *t, int cycle)
{
    t->starts_ns[cycle] =
        t->cycle_start_ns + (uint64_t)(cycle - 1) * cycle_ns(t) + rpp_random_next(&t->random) % cycle_ns(t);
}

static void choose_all(rpp_thinning *t)
{
    for (int cycle = 0; cycle < 3; cycle++) choose(t, cycle);
}

void rpp_thinning_start(rpp_thinning *t, uint64_t random, uint64_t cpu_ns, uint64_t period_ns, uint64_t tick_ns)
{
    *t = (rpp_thinning){.random = random | 1, .period_ns = period_ns, .tick_ns = tick_ns};
    t->cycle_start_ns = cpu_ns - rpp_random_next(&t->random) % cycle_ns(t);
    choose_all(t);
}

static void go_on(rpp_thinning *t, uint64_t cpu_ns)
{
    uint64_t passed = cpu_ns - t->cycle_start_ns, cycles = passed / cycle_ns(t);
    if (!cycles || passed > UINT64_MAX / 2)
        return; /* after a clock went back, nothing is sampled until it catches up */
    t->cycle_start_ns += cycles * cycle_ns(t);
    if (cycles > 2) {
        choose_all(t);
        return;
    }
    while (cycles--) {
        t->starts_ns[0] = t->starts_ns[1];
        t->starts_ns[1] = t->starts_ns[2];
        t->starts_ns[2] = 0;
    }
    for (int cycle = 1; cycle < 3; cycle++) {
        if (!t->starts_ns[cycle]) choose(t, cycle);
    }
}

static bool holds(const rpp_thinning *t, int cycle, uint64_t cpu_ns)
{
    return cpu_ns - t->starts_ns[cycle] < RPP_THINNING_BURST * t->tick_ns;
}

unsigned rpp_thinning_take(rpp_thinning *t, uint64_t cpu_ns)
{
    if (takes_all(t)) return 1;
    unsigned intervals = 0;
    go_on(t, cpu_ns);
    for (int cycle = 0; cycle < 3; cycle++) intervals += holds(t, cycle, cpu_ns);
    return intervals;
}

uint64_t rpp_thinning_weight_ns(const rpp_thinning *t)
{
    return takes_all(t) ? t->tick_ns : t->period_ns;
}

uint64_t rpp_thinning_silent_ns(rpp_thinning *t, uint64_t cpu_ns)
{
    if (takes_all(t)) return 0;
    uint64_t least = UINT64_MAX;
    go_on(t, cpu_ns);
    for (int cycle = 0; cycle < 3; cycle++) {
        if (holds(t, cycle, cpu_ns)) return 0;
        uint64_t until = t->starts_ns[cycle] - cpu_ns;
        if (until < least) least = until; /* one that is over is almost 2^64 away */
    }
    return least;
}
