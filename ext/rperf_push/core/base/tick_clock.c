/* tick_clock.c - the processor's counter of ticks, where it can stand for the monotonic clock. */
#include "base/tick_clock.h"

#include "base/clock.h"

#define READINGS 8

rpp_tick_instant rpp_tick_clock_now(void)
{
    rpp_tick_instant nearest = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = rpp_tick_clock_read(), ns = rpp_monotonic_ns(), took = rpp_tick_clock_read() - before;
        if (took >= least) continue;
        least = took;
        nearest = (rpp_tick_instant){before + took / 2, ns};
    }
    return nearest;
}

#if RPP_HAVE_TICK_CLOCK

#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CLOCK_SOURCE  "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define POWER_LEAF    0x80000007u
#define INVARIANT_BIT (1u << 8)

static bool processor_says_so(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(POWER_LEAF, &a, &b, &c, &d) && d & INVARIANT_BIT;
}

static bool system_relies_on_it(void)
{
    char name[8] = "";
    int file = open(CLOCK_SOURCE, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, name, sizeof name - 1);
    close(file);
    return length == 4 && !memcmp(name, "tsc\n", 4);
}

bool rpp_tick_clock_is_usable(void)
{
    return processor_says_so() && system_relies_on_it();
}

#else

bool rpp_tick_clock_is_usable(void)
{
    return false;
}

#endif
