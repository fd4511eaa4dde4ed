/* test_bursts.c - bursts at random: as often as promised, and none of what happens between two safepoints is
 * preferred. */
#include "sampling/bursts.h"

#include "base/clock.h"
#include "test.h"

#define ON_NS  100000u
#define OFF_NS 900000u

static rpp_bursts bursts_of(uint64_t seed)
{
    rpp_bursts bursts;
    rpp_bursts_init(&bursts, ON_NS, OFF_NS, seed, 0);
    return bursts;
}

static bool is_near(double found, double expected, double error)
{
    return found > expected - error && found < expected + error;
}

TEST(they_are_on_for_their_share_of_the_time)
{
    rpp_bursts bursts = bursts_of(1);
    unsigned on = 0, changes = 0, looks = 1000000;
    bool before = false;
    for (unsigned i = 0; i < looks; i++) {
        bool now = rpp_bursts_at(&bursts, i * UINT64_C(10000));
        on += now;
        changes += now && !before;
        before = now;
    }
    CHECK(is_near((double)on / looks, 0.1, 0.01));
    CHECK(is_near((double)changes, looks * 1e4 / (ON_NS + OFF_NS), 1000)); /* a few are between two looks */
}

TEST(a_state_found_after_a_rest_has_the_same_share_and_lasts_as_long)
{
    rpp_bursts bursts = bursts_of(2);
    double on = 0, lasted_ns = 0;
    for (uint64_t i = 1; i <= 20000; i++) {
        uint64_t now = i * 1000000000;
        bool sampled = rpp_bursts_sleep(&bursts);
        rpp_bursts_wake(&bursts, now);
        CHECK(rpp_bursts_at(&bursts, now) == sampled);
        on += sampled;
        if (sampled) lasted_ns += (double)(bursts.until_ns - now);
    }
    CHECK(is_near(on / 20000, 0.1, 0.01));
    CHECK(is_near(lasted_ns / on, ON_NS, ON_NS / 10.0));
}

/* A program with safepoints: it creates one object in each step of a long stretch without a safepoint, and one in each
 * of many short ones. Objects of both are watched with the same probability, as switching waits for a safepoint. */
TEST(a_long_stretch_without_a_safepoint_is_watched_as_much_as_short_ones)
{
    rpp_bursts bursts = bursts_of(3);
    const uint64_t step_ns = 5000;
    uint64_t now = 0, watched_long = 0, watched_short = 0, rounds = 20000, each = 50;
    for (uint64_t round = 0; round < rounds; round++) {
        if (rpp_bursts_at(&bursts, now)) watched_long += each;
        now += each * step_ns;
        for (uint64_t i = 0; i < each; i++, now += step_ns) watched_short += rpp_bursts_at(&bursts, now);
    }
    CHECK(is_near((double)watched_long / (double)(rounds * each), 0.1, 0.01));
    CHECK(is_near((double)watched_short / (double)(rounds * each), 0.1, 0.01));
}
