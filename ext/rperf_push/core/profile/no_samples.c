/* no_samples.c - logs one line if samples stop although the process works, and one when they come again. */
#include "profile/no_samples.h"

#include "base/clock.h"
#include "base/log.h"

#define WINDOWS         3u
#define BUSY_PORTION    10u /* a tenth of a core */
/* If windows are very short, a moment without a core would be taken for lost samples. */
#define INTERVAL_MIN_NS RPP_NS_PER_S

static double seconds(uint64_t ns)
{
    return (double)ns / (double)RPP_NS_PER_S;
}

static uint64_t process_cpu_ns(void)
{
    return rpp_cpu_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void rpp_no_samples_init(rpp_no_samples *no_samples, uint64_t interval_ns, uint64_t now_ns)
{
    if (interval_ns < INTERVAL_MIN_NS) interval_ns = INTERVAL_MIN_NS;
    *no_samples = (rpp_no_samples){.interval_ns = interval_ns, .process_cpu_ns = process_cpu_ns, .since_ns = now_ns};
}

void rpp_no_samples_end(rpp_no_samples *no_samples, uint64_t now_ns)
{
    if (no_samples->told) {
        rpp_log(RPP_LOG_INFO, "samples come again, after %.1f s without one", seconds(now_ns - no_samples->since_ns));
    }
    no_samples->since_ns = now_ns;
    no_samples->listening_ns = 0;
    no_samples->empty_windows = 0;
    no_samples->told = false;
}

void rpp_no_samples_window(rpp_no_samples *no_samples)
{
    no_samples->empty_windows++;
}

void rpp_no_samples_check(rpp_no_samples *no_samples, uint64_t now_ns)
{
    uint64_t silent_ns = now_ns - no_samples->since_ns;
    if (!no_samples->interval_ns || no_samples->told || silent_ns < no_samples->interval_ns) return;
    if (!no_samples->listening_ns) {
        no_samples->listening_ns = now_ns;
        no_samples->cpu_ns = no_samples->process_cpu_ns();
    }
    /* The collector of a process that waits sleeps deeply, and may look for the first time only now. */
    uint64_t listened_ns = now_ns - no_samples->listening_ns;
    if (listened_ns < (WINDOWS - 1) * no_samples->interval_ns) return;

    uint64_t used_ns = no_samples->process_cpu_ns() - no_samples->cpu_ns;
    bool busy = used_ns >= listened_ns / BUSY_PORTION;
    if (!busy && no_samples->empty_windows < WINDOWS) return;
    no_samples->told = true;
    rpp_log(RPP_LOG_WARN,
            "no sample came for %.1f s, while the process used %.1f s of CPU: sampling does not work here, or all of "
            "that is spent outside of Ruby's threads; RperfPush.stats says more",
            seconds(silent_ns), seconds(used_ns));
}
