/* recording.h - what a session on demand has seen so far: sealed profiles added up, with names of its own.
 *
 * Frame ids of the process are given to others some windows after a frame was last seen. A recording may last much longer, so
 * it knows frames by name, file and first line, and leaves the profiler's own ones out.
 *
 * Threads    any one at a time may call any function; the recording locks for itself.
 */
#ifndef RPP_RECORDING_H
#define RPP_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "frame_names.h"
#include "profile.h"

typedef struct rpp_recording rpp_recording;

/* With separate_rows every capture stays a row of its own. NULL when out of memory. */
rpp_recording *rpp_recording_new(bool separate_rows);
void rpp_recording_free(rpp_recording *recording);

/* Adds a sealed profile, whose frames `names` names. What does not fit is in (overflow). RPP_NO_MEMORY: some of it is lost. */
RPP_NODISCARD rpp_status rpp_recording_add(rpp_recording *recording, const rpp_profile *profile,
                                           const rpp_frame_names *names);

typedef struct rpp_recorded {
    const rpp_profile *profile; /* its frame ids are those of `names` */
    const rpp_frame_names *names;
    uint64_t captures; /* stacks captured, before they were summed */
} rpp_recorded;

/* Reads under the lock; `visit` must not call the recording. */
void rpp_recording_read(rpp_recording *recording, void (*visit)(const rpp_recorded *recorded, void *context),
                        void *context);
/* Forgets what was added. RPP_NO_MEMORY: nothing changed. */
RPP_NODISCARD rpp_status rpp_recording_clear(rpp_recording *recording);

#endif
