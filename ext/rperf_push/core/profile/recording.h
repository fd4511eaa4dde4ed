/* recording.h - adds up the closed profiles of a session on demand, with their own names.
 *
 * The process reuses a frame id some windows after the frame was last seen. A recording may last much longer, so
 * it identifies frames by name, file and first line. It leaves out the profiler's own frames.
 *
 * Threads    any thread; the recording has its own lock.
 * Ownership  a recording copies profiles and names.
 */
#ifndef RPP_RECORDING_H
#define RPP_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "sampling/frame_names.h"

typedef struct rpp_recording rpp_recording;

/* With separate_rows, each capture stays a separate row. NULL if out of memory. */
rpp_recording *rpp_recording_new(bool separate_rows);
void rpp_recording_free(rpp_recording *recording);

/* Adds a closed profile with the names of its frames. Of levels, the latest one stays. Samples that do not fit go to
 * (overflow). RPP_NO_MEMORY: a part is lost. */
RPP_NODISCARD rpp_status rpp_recording_add(rpp_recording *recording, const rpp_profile *profile,
                                           const rpp_frame_names *names);

typedef struct rpp_recorded {
    const rpp_profile *profile; /* its frame ids refer to `names` */
    const rpp_frame_names *names;
    uint64_t captures; /* number of stacks before they were summed */
    uint64_t changes;  /* for rpp_recording_clear_if */
} rpp_recorded;

/* Calls `visit` under the lock; it must not call the recording. */
void rpp_recording_read(rpp_recording *recording, void (*visit)(const rpp_recorded *recorded, void *context),
                        void *context);
/* Takes everything out, for a thread of its own to read; the caller frees it. Its frame ids refer to *names, which are
 * the recording's and outlive the call. NULL: out of memory, and nothing changed. */
rpp_profile *rpp_recording_take(rpp_recording *recording, const rpp_frame_names **names);
/* Removes everything that a reader has read. RPP_BUSY: something was added or taken since then, so read again.
 * RPP_BUSY, RPP_NO_MEMORY: nothing changed. */
RPP_NODISCARD rpp_status rpp_recording_clear_if(rpp_recording *recording, uint64_t changes);

#endif
