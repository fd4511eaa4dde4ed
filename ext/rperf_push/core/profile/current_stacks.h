/* current_stacks.h - a copy of each thread's last capture, which can be read while no safepoint comes.
 *
 * Frames of a sighting are ids, which the frame table may reuse after some windows without the frame. So a sighting can
 * be read only in its own window and the two after it. A thread's number determines its place. If two threads have the
 * same place, the last capture stays.
 *
 * Threads    note, begin_window: the collector. The others: any ordinary thread. A lock is held while a sighting is
 *            copied.
 * Ownership  sightings are copied, without their labels.
 */
#ifndef RPP_CURRENT_STACKS_H
#define RPP_CURRENT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/sample_buffer.h"

/* The frames next to the leaf are kept. */
#define RPP_SIGHTING_DEPTH_MAX 128

typedef struct rpp_sighting {
    uint64_t at_ns; /* monotonic, approximate */
    uint32_t thread_seq, window, depth;
    uint8_t state; /* rpp_state */
    rpp_location locations[RPP_SIGHTING_DEPTH_MAX];
} rpp_sighting;

typedef struct rpp_current_stacks rpp_current_stacks;

/* NULL if out of memory. */
rpp_current_stacks *rpp_current_stacks_new(void);
void rpp_current_stacks_free(rpp_current_stacks *current_stacks);
void rpp_current_stacks_note(rpp_current_stacks *current_stacks, const rpp_sample *sample,
                             const rpp_location *locations, uint64_t now_ns);
/* The current window, whose sightings follow. */
void rpp_current_stacks_begin_window(rpp_current_stacks *current_stacks, uint32_t window);
/* False: there is no recent capture of the thread. */
bool rpp_current_stacks_get(rpp_current_stacks *current_stacks, uint32_t thread_seq, rpp_sighting *sighting);
/* Discards all sightings, when a session begins and in a forked child. */
void rpp_current_stacks_clear(rpp_current_stacks *current_stacks);
void rpp_current_stacks_discard_after_fork(rpp_current_stacks *current_stacks);

#endif
