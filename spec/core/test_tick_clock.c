/* test_tick_clock.c - the processor's counter agrees with the clock, where it says that it can stand for it. */
#include "base/tick_clock.h"

#include "base/clock.h"
#include "test.h"

static double ticks_per_ns(void)
{
    rpp_tick_instant from = rpp_tick_clock_now(), to;
    do to = rpp_tick_clock_now();
    while (to.ns < from.ns + 20 * RPP_NS_PER_MS);
    return (double)(to.ticks - from.ticks) / (double)(to.ns - from.ns);
}

TEST(ticks_have_one_rate)
{
    if (!rpp_tick_clock_is_usable()) return;
    double first = ticks_per_ns();
    CHECK(first > 0);
    for (int i = 0; i < 5; i++) {
        double rate = ticks_per_ns();
        CHECK(rate > 0.98 * first && rate < 1.02 * first);
    }
}

/* Eight readings of which the nearest is taken are nearer than a turn of another program. */
TEST(a_moment_has_both_clocks_at_one_instant)
{
    if (!rpp_tick_clock_is_usable()) return;
    double rate = ticks_per_ns();
    rpp_tick_instant from = rpp_tick_clock_now();
    for (int i = 0; i < 1000; i++) {
        rpp_tick_instant to = rpp_tick_clock_now();
        double by_ticks = (double)(to.ticks - from.ticks) / rate, by_clock = (double)(to.ns - from.ns);
        CHECK(by_ticks > by_clock - 0.02 * by_clock - 20e3 && by_ticks < by_clock + 0.02 * by_clock + 20e3);
    }
}
