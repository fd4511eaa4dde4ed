/* short_waits.c - which of a thread's short waits and GC pauses are sampled. */
#include "sampling/short_waits.h"

#include "base/clock.h"

static void place_point(rpp_short_waits *line, uint64_t *random, uint64_t period_ns)
{
    uint64_t at = rpp_random_next(random) % period_ns;
    line->to_point_ns = line->behind_point_ns + at;
    line->behind_point_ns = period_ns - at;
}

void rpp_short_waits_begin(rpp_short_waits *line, uint64_t *random, uint64_t period_ns)
{
    *line = (rpp_short_waits){0, 0};
    place_point(line, random, period_ns);
}

uint64_t rpp_short_waits_sample(rpp_short_waits *line, uint64_t *random, uint64_t period_ns, uint64_t ns)
{
    uint64_t weight_ns = 0;
    while (rpp_short_waits_samples(line, ns)) {
        ns -= line->to_point_ns;
        weight_ns += period_ns;
        place_point(line, random, period_ns);
    }
    rpp_short_waits_pass(line, ns);
    return weight_ns;
}
