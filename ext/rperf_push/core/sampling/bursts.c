/* bursts.c - sampling bursts: short times, at random, in which frequent events are seen. */
#include "sampling/bursts.h"

#include "base/clock.h"

#define LONG_AGO 100u /* so many rounds are not gone through one by one */

/* An exponential number, by von Neumann's comparison of uniform ones: a falling run of odd length ends with its
 * first. */
static uint64_t random_ns(uint64_t *random, uint64_t mean_ns)
{
    for (uint64_t whole = 0;; whole += mean_ns) {
        uint64_t first = rpp_random_next(random), last = first;
        bool odd = true;
        for (uint64_t next; (next = rpp_random_next(random)) < last; last = next) odd = !odd;
        if (odd) return whole + ((first >> 32) * mean_ns >> 32);
    }
}

static void set(rpp_bursts *bursts, bool on, uint64_t since_ns)
{
    bursts->on = on;
    bursts->until_ns = since_ns + random_ns(&bursts->random, on ? bursts->on_ns : bursts->off_ns);
}

bool rpp_bursts_sleep(rpp_bursts *bursts)
{
    bursts->on = rpp_random_next(&bursts->random) % (bursts->on_ns + bursts->off_ns) < bursts->on_ns;
    return bursts->on;
}

void rpp_bursts_wake(rpp_bursts *bursts, uint64_t now_ns)
{
    set(bursts, bursts->on, now_ns);
}

void rpp_bursts_init(rpp_bursts *bursts, uint64_t on_ns, uint64_t off_ns, uint64_t seed, uint64_t now_ns)
{
    *bursts = (rpp_bursts){.on_ns = on_ns, .off_ns = off_ns, .random = seed};
    rpp_bursts_sleep(bursts);
    rpp_bursts_wake(bursts, now_ns);
}

bool rpp_bursts_at(rpp_bursts *bursts, uint64_t now_ns)
{
    if (now_ns > bursts->until_ns + LONG_AGO * (bursts->on_ns + bursts->off_ns)) {
        rpp_bursts_sleep(bursts);
        rpp_bursts_wake(bursts, now_ns);
    }
    while (bursts->until_ns <= now_ns) set(bursts, !bursts->on, bursts->until_ns);
    return bursts->on;
}
