/* silence.c - logs one line if samples stop although the process works, and one when they come again. */
#include "profile/silence.h"

#include "base/clock.h"
#include "base/log.h"

#define WINDOWS         3u
#define BUSY_PORTION    10u /* a tenth of a core */
/* If windows are very short, a moment without a core would look like a silence. */
#define INTERVAL_MIN_NS RPP_NS_PER_S

static double seconds(uint64_t ns)
{
    return (double)ns / (double)RPP_NS_PER_S;
}

static uint64_t process_cpu_ns(void)
{
    return rpp_cpu_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void rpp_silence_init(rpp_silence *silence, uint64_t interval_ns, uint64_t now_ns)
{
    if (interval_ns < INTERVAL_MIN_NS) interval_ns = INTERVAL_MIN_NS;
    *silence = (rpp_silence){.interval_ns = interval_ns, .process_cpu_ns = process_cpu_ns, .since_ns = now_ns};
}

void rpp_silence_end(rpp_silence *silence, uint64_t now_ns)
{
    if (silence->told) {
        rpp_log(RPP_LOG_INFO, "samples come again, after %.1f s without one", seconds(now_ns - silence->since_ns));
    }
    silence->since_ns = now_ns;
    silence->listening_ns = 0;
    silence->empty_windows = 0;
    silence->told = false;
}

void rpp_silence_window(rpp_silence *silence)
{
    silence->empty_windows++;
}

void rpp_silence_look(rpp_silence *silence, uint64_t now_ns)
{
    uint64_t silent_ns = now_ns - silence->since_ns;
    if (!silence->interval_ns || silence->told || silent_ns < silence->interval_ns) return;
    if (!silence->listening_ns) {
        silence->listening_ns = now_ns;
        silence->cpu_ns = silence->process_cpu_ns();
    }
    /* The collector of a process that waits sleeps deeply, and may look for the first time only now. */
    uint64_t listened_ns = now_ns - silence->listening_ns;
    if (listened_ns < (WINDOWS - 1) * silence->interval_ns) return;

    uint64_t used_ns = silence->process_cpu_ns() - silence->cpu_ns;
    bool busy = used_ns >= listened_ns / BUSY_PORTION;
    if (!busy && silence->empty_windows < WINDOWS) return;
    silence->told = true;
    rpp_log(RPP_LOG_WARN,
            "no sample came for %.1f s, while the process used %.1f s of CPU: sampling does not work here, or all of "
            "that is spent outside of Ruby's threads; RperfPush.stats says more",
            seconds(silent_ns), seconds(used_ns));
}
