/* rb_recorded.h - a recording as the data Hash of the API: frames, weights, threads and label sets as Ruby objects. */
#ifndef RB_RECORDED_H
#define RB_RECORDED_H

#include "rb_compat.h"

#include <stdbool.h>

#include "core/recording.h"

typedef struct rb_rpp_shape {
    unsigned mode; /* RPP_MODE_*: the weight is cpu, if it is among them; wall then goes under :values */
    bool lines;    /* frames are [path, label, line] */
    bool separate; /* :raw_samples beside :aggregated_samples */
} rb_rpp_shape;

/* Adds unique_frames, unique_stacks, detected_thread_count, sampling_count, aggregated_samples, label_sets (and raw_samples,
 * values) to `hash`. Allocates; the recording must not be added to meanwhile by the calling thread. */
void rb_rpp_recorded_into(VALUE hash, rpp_recording *recording, const rb_rpp_shape *shape);

#endif
