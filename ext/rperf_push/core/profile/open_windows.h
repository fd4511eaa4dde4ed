/* open_windows.h - the windows that were not delivered yet: their times and their samples.
 *
 * There are two at most: the current one and, during a rotation, the one before it. The lowest bit of its number tells
 * a window from the other one.
 *
 * If no thread runs, no thread can be flushed, so the window stays open. What is known of it may then be taken soon
 * after its end; the rest follows when the window is closed, without the time that belongs to the first part
 * (window_part.h).
 *
 * Threads    open: any. All others: the collector's owner, one at a time.
 * Ownership  the caller owns the struct and each profile that it takes.
 */
#ifndef RPP_OPEN_WINDOWS_H
#define RPP_OPEN_WINDOWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "profile/profile.h"

typedef struct rpp_open_windows {
    const rpp_clock *clock;
    rpp_profile_limits limits;
    uint64_t interval_ns;
    bool keeps_pace; /* a late boundary makes the next window shorter */

    _Atomic uint64_t start_ns;   /* of the window that will be closed next */
    uint64_t due_ns;             /* when it should end */
    uint64_t known_until_ns;     /* what was known of it was taken up to here; 0: not yet */
    uint64_t realtime_offset_ns; /* realtime = monotonic + this, modulo 2^64 */
    rpp_profile *profiles[2];    /* NULL until the first sample */
    rpp_carry_over carry_over;
} rpp_open_windows;

/* How samples are weighed at the end. */
typedef struct rpp_weighing {
    uint64_t longest_ns; /* the greatest weight of one */
    bool last;           /* nothing is left for later windows */
} rpp_weighing;

/* A window that is over, in at most two parts: late[start_ns, known_until_ns] and profile[since_ns, end_ns]. */
typedef struct rpp_closed_window {
    rpp_profile *late; /* what came late for the part that was taken before; NULL: nothing */
    uint64_t start_ns, known_until_ns;
    rpp_profile
        *profile; /* NULL: no sample came. The time that the clocks summed up waits for a window with a sample */
    uint64_t since_ns;
} rpp_closed_window;

/* Set what the struct holds of settings first, all else to zero. The first window begins now, and is shorter by a
 * random part, so that processes that start together do not upload together. */
void rpp_open_windows_init(rpp_open_windows *windows, uint64_t now_ns);
void rpp_open_windows_destroy(rpp_open_windows *windows);

/* Moves the start of the first window to this time. */
void rpp_open_windows_open(rpp_open_windows *windows, uint64_t start_ns);
/* Any status but RPP_OK: out of memory, and nothing was added. */
RPP_NODISCARD rpp_status rpp_open_windows_add(rpp_open_windows *windows, const rpp_sample *sample,
                                              const rpp_location *locations);
/* From the monotonic clock to ns since the epoch. */
uint64_t rpp_open_windows_realtime_ns(const rpp_open_windows *windows, uint64_t monotonic_ns);

/* When what is known of the current window is worth a delivery; UINT64_MAX: nothing is known, or it was taken. */
uint64_t rpp_open_windows_known_due_ns(const rpp_open_windows *windows, uint32_t window);
/* Takes what is known up to now. NULL: nothing. */
rpp_profile *rpp_open_windows_take_known(rpp_open_windows *windows, uint32_t window, rpp_weighing weighing,
                                         const rpp_frame_names *names, uint64_t now_ns);
/* False: it has frames without names. */
bool rpp_open_windows_is_named(const rpp_open_windows *windows, uint32_t window, const rpp_frame_names *names);
/* Ends the window at this boundary, where the next one starts. */
rpp_closed_window rpp_open_windows_close(rpp_open_windows *windows, uint32_t window, rpp_weighing weighing,
                                         uint64_t end_ns);
/* After the closed window was closed: the next one. */
void rpp_open_windows_begin(rpp_open_windows *windows, uint64_t start_ns);

#endif
