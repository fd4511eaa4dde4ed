/* rb_recorder.h - what a session on demand records: a pipeline whose windows are added up, become files, or both, and what was
 * counted meanwhile.
 *
 * Threads    windows come on the collector's; all else under the GVL, but that of one whose collector has stopped any thread may
 *            free.
 * Ownership  it owns its pipeline and its recording.
 */
#ifndef RB_RECORDER_H
#define RB_RECORDER_H

#include "rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/profile/pipeline.h"
#include "rb_recorded.h"
#include "rb_threads.h"

typedef struct rb_rpp_recorder rb_rpp_recorder;

/* Its collector runs. With a directory the windows go there; unless they are summed as well, the data has no samples. When nobody
 * will read the directory any more, `on_unwanted` runs at a safepoint. NULL: out of memory, or no thread. */
rb_rpp_recorder *rb_rpp_recorder_new(const rb_rpp_shape *shape, uint32_t frequency, const char *directory, bool summed,
                                     void (*on_unwanted)(void));
/* True from then on. */
bool rb_rpp_recorder_is_unwanted(const rb_rpp_recorder *recorder);
/* Its collector has stopped. */
void rb_rpp_recorder_free(rb_rpp_recorder *recorder);
rpp_pipeline *rb_rpp_recorder_pipeline(const rb_rpp_recorder *recorder);
/* From the pipeline's latest boundary on. */
void rb_rpp_recorder_begin_counting(rb_rpp_recorder *recorder);
/* All that was sampled until now is recorded afterwards. Lets go of the GVL; may be interrupted. */
void rb_rpp_recorder_bring_in(rb_rpp_recorder *recorder, rb_rpp_outlet outlet);
/* What is recorded, as a Hash. */
VALUE rb_rpp_recorder_data(rb_rpp_recorder *recorder);
/* Begins anew. */
rpp_status rb_rpp_recorder_clear(rb_rpp_recorder *recorder);

#endif
