/* no_samples.h - logs one line if samples stop although the process works, and one when they come again.
 *
 * A waiting process has no samples: nothing runs, and no window closes. The line is logged if no sample came for 3
 * windows and either these windows closed, so Ruby code ran, or the process used a tenth of a core. The measurement of
 * CPU time starts one interval after the last sample, so that time before it does not count, and lasts two intervals or
 * more.
 *
 * Threads    the collector only.
 * Ownership  the caller owns the struct.
 */
#ifndef RPP_NO_SAMPLES_H
#define RPP_NO_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

/* A struct of all zeros never logs. */
typedef struct rpp_no_samples {
    uint64_t interval_ns; /* of a window */
    uint64_t (*process_cpu_ns)(void);
    uint64_t since_ns;             /* time of the last sample, or of the start */
    uint64_t listening_ns, cpu_ns; /* one interval later, and the process's CPU time then; 0: not yet */
    unsigned empty_windows;        /* windows closed since then */
    bool told;
} rpp_no_samples;

void rpp_no_samples_init(rpp_no_samples *no_samples, uint64_t interval_ns, uint64_t now_ns);
/* Call it when samples came. */
void rpp_no_samples_end(rpp_no_samples *no_samples, uint64_t now_ns);
/* Call it when a window closed without a sample. */
void rpp_no_samples_window(rpp_no_samples *no_samples);
/* Call it now and then while no sample comes. */
void rpp_no_samples_check(rpp_no_samples *no_samples, uint64_t now_ns);

#endif
