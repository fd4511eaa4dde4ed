/* test_tick_thinning.c - ticks that are taken find every place alike, and none of them moves the next. */
#include "sampling/tick_thinning.h"

#include <math.h>

#include "base/clock.h"
#include "test.h"

#define MS(n) ((uint64_t)((n)*1e6))

enum { PARTS = 12 };

/* A thread that sleeps for 2 to 6 ms and burns a burst; the kernel ticks on. */
typedef struct walk {
    double parts[PARTS], all, weight, cpu;
    long signals;
} walk;

static walk walk_bursts(uint64_t period_ns, uint64_t tick_ns, double burst_ns)
{
    walk w = {.all = 0};
    rpp_thinning thinning;
    uint64_t random = 7, armed = 0, now = 0;
    rpp_thinning_start(&thinning, 99, 0, period_ns, tick_ns);
    for (int i = 0; i < 200000; i++) {
        now += MS(2) + rpp_random_next(&random) % MS(4);
        for (uint64_t tick = now / tick_ns * tick_ns + tick_ns; tick <= now + (uint64_t)burst_ns; tick += tick_ns) {
            uint64_t cpu = (uint64_t)w.cpu + tick - now;
            if (cpu < armed) continue;
            unsigned times = rpp_thinning_take(&thinning, cpu);
            w.signals++;
            w.all += times;
            w.parts[(int)((double)(tick - now - 1) / burst_ns * PARTS)] += times;
            armed = cpu + rpp_thinning_silent_ns(&thinning, cpu);
        }
        now += (uint64_t)burst_ns;
        w.cpu += (uint64_t)burst_ns;
    }
    w.weight = w.all * (double)rpp_thinning_weight_ns(&thinning);
    return w;
}

TEST_BY_NUMBERS(every_place_of_a_burst_is_found_alike)
{
    static const double periods_ms[] = {1, 5.025, 10.1, 100}, ticks_ms[] = {1, 4, 10}, bursts_ms[] = {1.2, 4.8, 15};
    for (int i = 0; i < 36; i++) {
        walk w = walk_bursts(MS(periods_ms[i % 4]), MS(ticks_ms[i / 4 % 3]), MS(bursts_ms[i / 12]));
        double each = w.all / PARTS, allowed = 0.02 + 4.5 / sqrt(each / RPP_THINNING_BURST);
        CHECK(fabs(w.weight / w.cpu - 1) < 0.03);
        for (int part = 0; part < PARTS; part++) CHECK(fabs(w.parts[part] / each - 1) < allowed);
    }
}

/* A kernel that ticks a thousand times a second: the signals are few, though the ticks are not. */
TEST(between_intervals_the_timer_is_silent)
{
    walk w = walk_bursts(MS(10.1), MS(1), MS(4.8));
    double a_second = (double)w.signals / (w.cpu / 1e9);
    CHECK(a_second > 95 && a_second < 130);
}

TEST(a_short_period_has_all_ticks)
{
    rpp_thinning thinning;
    rpp_thinning_start(&thinning, 1, 0, MS(1), MS(4));
    CHECK_INT(rpp_thinning_weight_ns(&thinning), MS(4));
    for (uint64_t cpu = 0; cpu < MS(100); cpu += MS(4)) {
        CHECK_INT(rpp_thinning_take(&thinning, cpu), 1);
        CHECK_INT(rpp_thinning_silent_ns(&thinning, cpu), 0);
    }
}

/* Whether and when it was asked before changes nothing. */
TEST(no_question_moves_an_interval)
{
    rpp_thinning asked, fresh;
    rpp_thinning_start(&asked, 5, 0, MS(10), MS(1));
    rpp_thinning_start(&fresh, 5, 0, MS(10), MS(1));
    for (uint64_t cpu = 0; cpu < MS(80); cpu += MS(0.1)) {
        rpp_thinning copy = fresh;
        CHECK_INT(rpp_thinning_take(&asked, cpu), rpp_thinning_take(&copy, cpu));
        if (cpu % MS(30) == 0) fresh = copy;
    }
}

/* Then the next interval is nowhere near; and one that went back, or far ahead, does no harm. */
TEST(what_is_said_to_be_silent_is)
{
    rpp_thinning thinning;
    uint64_t random = 3;
    rpp_thinning_start(&thinning, 8, 0, MS(10), MS(1));
    for (uint64_t cpu = 0; cpu < MS(100000); cpu += rpp_random_next(&random) % MS(50)) {
        uint64_t silent = rpp_thinning_silent_ns(&thinning, cpu);
        rpp_thinning copy = thinning;
        for (uint64_t at = 0; at < silent; at += MS(0.5)) CHECK_INT(rpp_thinning_take(&copy, cpu + at), 0);
        CHECK(rpp_thinning_take(&copy, cpu + silent) >= 1);
        CHECK(silent < 3 * RPP_THINNING_BURST * MS(10));
    }
    for (int i = 0; i < 100000; i++) {
        CHECK(rpp_thinning_take(&thinning, rpp_random_next(&random) >> (rpp_random_next(&random) % 64)) <= 3);
    }
}

/* The first ticks of a thread that lives for a millisecond are as likely as any. */
TEST_BY_NUMBERS(a_short_life_is_found_as_often_as_it_burns)
{
    double all = 0, n = 400000;
    for (int i = 0; i < n; i++) {
        rpp_thinning thinning;
        rpp_thinning_start(&thinning, (uint64_t)i * 7919, MS(i % 3), MS(10), MS(1));
        all += rpp_thinning_take(&thinning, MS(i % 3) + MS(0.5));
    }
    CHECK(fabs(all / n / 0.1 - 1) < 0.03);
}
