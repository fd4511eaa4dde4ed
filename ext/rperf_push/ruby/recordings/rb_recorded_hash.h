/* rb_recorded_hash.h - converts a recording to the API's data Hash: frames, weights, threads and label sets as Ruby
 * objects.
 *
 * Threads    under the GVL.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_RECORDED_HASH_H
#define RB_RECORDED_HASH_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "core/profile/recording.h"

typedef struct rb_rpp_shape {
    unsigned mode;        /* RPP_MODE_*: the first is the weight, the others go under :values */
    bool lines;           /* frames are [path, label, line] */
    bool separate;        /* :raw_samples beside :aggregated_samples */
    bool class_labels;    /* classes of allocated objects are labels, not frames */
    uint32_t watched_max; /* objects that are watched for levels; 0: no levels */
} rb_rpp_shape;

/* Adds unique_frames, unique_stacks, detected_thread_count, sampling_count, aggregated_samples, label_sets (and
 * raw_samples, values) to `hash`. Allocates; the recording must not be added to meanwhile by the calling thread.
 * Returns what rpp_recording_clear_if takes. */
uint64_t rb_rpp_recorded_into(VALUE hash, rpp_recording *recording, const rb_rpp_shape *shape);

#endif
