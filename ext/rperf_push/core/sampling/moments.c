/* moments.c - the short moments, at random, in which what is too frequent to be watched always is watched. */
#include "sampling/moments.h"

#include "base/clock.h"

#define LONG_AGO 100u /* so many rounds are not drawn one by one */

/* An exponential number, by von Neumann's comparison of uniform ones: a falling run of odd length ends with its
 * first. */
static uint64_t draw_ns(uint64_t *random, uint64_t mean_ns)
{
    for (uint64_t whole = 0;; whole += mean_ns) {
        uint64_t first = rpp_random_next(random), last = first;
        bool odd = true;
        for (uint64_t next; (next = rpp_random_next(random)) < last; last = next) odd = !odd;
        if (odd) return whole + ((first >> 32) * mean_ns >> 32);
    }
}

static void set(rpp_moments *moments, bool on, uint64_t since_ns)
{
    moments->on = on;
    moments->until_ns = since_ns + draw_ns(&moments->random, on ? moments->on_ns : moments->off_ns);
}

bool rpp_moments_rest(rpp_moments *moments)
{
    moments->on = rpp_random_next(&moments->random) % (moments->on_ns + moments->off_ns) < moments->on_ns;
    return moments->on;
}

void rpp_moments_go_on(rpp_moments *moments, uint64_t now_ns)
{
    set(moments, moments->on, now_ns);
}

void rpp_moments_init(rpp_moments *moments, uint64_t on_ns, uint64_t off_ns, uint64_t seed, uint64_t now_ns)
{
    *moments = (rpp_moments){.on_ns = on_ns, .off_ns = off_ns, .random = seed};
    rpp_moments_rest(moments);
    rpp_moments_go_on(moments, now_ns);
}

bool rpp_moments_at(rpp_moments *moments, uint64_t now_ns)
{
    if (now_ns > moments->until_ns + LONG_AGO * (moments->on_ns + moments->off_ns)) {
        rpp_moments_rest(moments);
        rpp_moments_go_on(moments, now_ns);
    }
    while (moments->until_ns <= now_ns) set(moments, !moments->on, moments->until_ns);
    return moments->on;
}
