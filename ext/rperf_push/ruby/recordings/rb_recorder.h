/* rb_recorder.h - records for a session on demand: owns its pipeline, and sums its windows, writes them to files, or
 * both.
 *
 * Threads    windows arrive on the collector's thread; the rest runs under the GVL. Any thread may take, and may free a
 *            recorder whose collector has stopped.
 * Ownership  the recorder owns its pipeline and its recording.
 */
#ifndef RB_RECORDER_H
#define RB_RECORDER_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/base/byte_sink.h"
#include "core/base/status.h"
#include "core/profile/pipeline.h"
#include "recordings/rb_recorded_hash.h"
#include "threads/rb_threads.h"

typedef struct rb_rpp_recorder rb_rpp_recorder;

/* Creates a recorder and starts its collector. With a directory, each window becomes a file there. Without `summed`,
 * the data has no samples. When the process that reads the directory is gone, `on_unwanted` runs at a safepoint.
 * Returns NULL if out of memory, or if the thread does not start. */
rb_rpp_recorder *rb_rpp_recorder_new(const rb_rpp_shape *shape, uint32_t frequency, const char *directory, bool summed,
                                     void (*on_unwanted)(void));
/* True if the process that reads the directory is gone. */
bool rb_rpp_recorder_is_unwanted(const rb_rpp_recorder *recorder);
/* Stop the collector first. */
void rb_rpp_recorder_free(rb_rpp_recorder *recorder);
rpp_pipeline *rb_rpp_recorder_pipeline(const rb_rpp_recorder *recorder);
/* Counts ticks and overhead from the pipeline's latest boundary on. */
void rb_rpp_recorder_begin_counting(rb_rpp_recorder *recorder);
/* Waits until the recording has everything that was sampled until now. Releases the GVL. An interrupt may end it. */
void rb_rpp_recorder_bring_in(rb_rpp_recorder *recorder, rb_rpp_subscriber subscriber);
/* Converts the recording to a data Hash. *changes is for rb_rpp_recorder_clear. */
VALUE rb_rpp_recorder_data(rb_rpp_recorder *recorder, uint64_t *changes);
/* Takes out what was delivered until now, as a pprof without compression, which ends at `until_ns` (monotonic): a
 * boundary, or now where no thread runs. The counts begin anew there. Any thread. On a failure it stays recorded, since
 * when it was. */
RPP_NODISCARD rpp_status rb_rpp_recorder_take(rb_rpp_recorder *recorder, uint64_t until_ns, rpp_byte_buffer *into,
                                              uint64_t *samples);
/* Empties the recording and restarts the counts. RPP_BUSY: it has changed since the data was read, and stays as it
 * is. */
RPP_NODISCARD rpp_status rb_rpp_recorder_clear(rb_rpp_recorder *recorder, uint64_t changes);

#endif
