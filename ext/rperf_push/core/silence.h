/* silence.h - one line when samples have stopped coming although the process works, and one when they come again.
 *
 * A process that waits has no samples to give: nothing runs, no window is closed. It is worth a word when for 3 windows no
 * sample came, and either the windows were closed all the same, so Ruby code ran, or the process used a tenth of a core. An
 * interval passes before its CPU time is looked at, so that what belongs to the last samples does not count.
 *
 * Threads    the collector only.
 */
#ifndef RPP_SILENCE_H
#define RPP_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero says nothing, ever. */
typedef struct rpp_silence {
    uint64_t interval_ns; /* of a window */
    uint64_t (*process_cpu_ns)(void);
    uint64_t since_ns;             /* the last sample, or the begin */
    uint64_t listening_ns, cpu_ns; /* an interval later, and the process's CPU time then; 0: not yet */
    unsigned empty_windows;        /* closed since */
    bool told;
} rpp_silence;

void rpp_silence_init(rpp_silence *silence, uint64_t interval_ns, uint64_t now_ns);
/* Samples came. */
void rpp_silence_end(rpp_silence *silence, uint64_t now_ns);
/* A window was closed, and there was no sample in it. */
void rpp_silence_window(rpp_silence *silence);
/* Now and then while no sample comes. */
void rpp_silence_look(rpp_silence *silence, uint64_t now_ns);

#endif
