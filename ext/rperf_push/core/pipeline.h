/* pipeline.h - the collector: takes samples out of the buffer, sums them, and closes a window at every interval.
 *
 * Assumptions
 *   The sampler runs in application threads at safepoints and cannot be waited for: the collector *asks* for work (a capture,
 *   a rotation, names) through `ask`, the sampler finds out what with rpp_pipeline_work and reports rotations back. If no
 *   safepoint comes, the window stays open and simply gets longer.
 *
 * Lifecycle
 *   new -> start (thread) -> ... -> stop (thread joined, last window delivered) -> free.
 *   In a forked child the parent's pipeline is abandoned (its locks and tables may be half-way): see abandon.
 *
 * Rotation
 *   1. due: the collector sets RPP_WORK_ROTATE and asks.       4. the collector drains the buffer once more,
 *   2. the sampler calls begin_rotation: a boundary in time,      waits for the names of the window's frames,
 *      a new window number.                                       seals the profile and gives it to `deliver`.
 *   3. it settles every thread up to the boundary, in batches,
 *      then calls end_rotation.
 *
 * Threads    as noted at each function.
 */
#ifndef RPP_PIPELINE_H
#define RPP_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "frame_names.h"
#include "profile.h"
#include "sample_buffer.h"

/* What the collector wants from the sampler. */
#define RPP_WORK_TICK   1u /* capture whoever runs now */
#define RPP_WORK_ROTATE 2u /* begin, or go on with, a rotation */
#define RPP_WORK_NAMES  4u /* resolve some names */

/* What the sampler saw since it was last asked. */
#define RPP_ACTIVITY_RAN     1u /* a thread ran: a safepoint can be hoped for */
#define RPP_ACTIVITY_OVERDUE 2u /* a running thread has gathered a period without a capture: tick */

typedef struct rpp_pipeline_seams {
    /* Asks the sampler to come to rpp_pipeline_work at its next safepoint. Collector thread; must not block. */
    void (*ask)(void *context);
    /* RPP_ACTIVITY_* bits since the last time it was called. Collector thread. */
    unsigned (*activity)(void *context);
    /* Takes a sealed profile. Collector thread. */
    void (*deliver)(rpp_profile *profile, void *context);
    void *context;
} rpp_pipeline_seams;

typedef struct rpp_pipeline_options {
    uint64_t interval_ns; /* length of a window */
    uint64_t period_ns;   /* sampling period: the tick's rhythm while threads run */
    size_t buffer_half_bytes;
    rpp_profile_limits limits;
    bool tells_silence;     /* warns when samples stay away (silence.h) */
    const rpp_clock *clock; /* NULL: the machine's */
} rpp_pipeline_options;

typedef struct rpp_pipeline rpp_pipeline;

/* The names must outlive the pipeline. The first window begins now. NULL when out of memory. */
rpp_pipeline *rpp_pipeline_new(const rpp_pipeline_options *options, const rpp_pipeline_seams *seams,
                               const rpp_frame_names *names);
RPP_NODISCARD rpp_status rpp_pipeline_start(rpp_pipeline *pipeline);
/* The first window begins here (monotonic) instead: where sampling does, however long it took to come to that. */
void rpp_pipeline_open(rpp_pipeline *pipeline, uint64_t start_ns);
/* Ends the collector; waits for it until the deadline (monotonic). RPP_TIMEOUT: it is still busy and the pipeline must not
 * be freed. What is buffered but not rotated is lost: rotate first. */
RPP_NODISCARD rpp_status rpp_pipeline_stop(rpp_pipeline *pipeline, uint64_t deadline_ns);
void rpp_pipeline_free(rpp_pipeline *pipeline);

/* --- called by the sampler, in application threads; the functions of this block are async-signal-safe --- */

rpp_sample_buffer *rpp_pipeline_buffer(rpp_pipeline *pipeline);
/* RPP_WORK_* bits; TICK is taken by asking, the others stay until done. */
unsigned rpp_pipeline_work(rpp_pipeline *pipeline);
/* The number of the window that time belongs to now. */
uint32_t rpp_pipeline_window(const rpp_pipeline *pipeline);
/* A thread began to run: ends the deep sleep that the collector falls into while none does. Cheap when it is awake. */
void rpp_pipeline_stir(rpp_pipeline *pipeline);
/* The buffer fills, or work was done: the collector shall look now. */
void rpp_pipeline_wake(rpp_pipeline *pipeline);
/* Frames that wait for their names: RPP_WORK_NAMES stays set while there are any. */
void rpp_pipeline_set_unnamed(rpp_pipeline *pipeline, uint32_t count);

/* --- rotation, by the sampler, under the GVL --- */

/* Fixes the boundary and starts the next window. RPP_BUSY: one is under way already (go on settling, or wait). */
RPP_NODISCARD rpp_status rpp_pipeline_begin_rotation(rpp_pipeline *pipeline, uint64_t boundary_ns);
/* All threads are settled up to the boundary. */
void rpp_pipeline_end_rotation(rpp_pipeline *pipeline);
bool rpp_pipeline_is_rotating(const rpp_pipeline *pipeline);
/* The boundary of the rotation under way, or of the last one: monotonic ns. */
uint64_t rpp_pipeline_boundary_ns(const rpp_pipeline *pipeline);

/* --- any ordinary thread --- */

/* Waits until every window before `window` was handed to deliver, or the deadline (monotonic): RPP_TIMEOUT. */
RPP_NODISCARD rpp_status rpp_pipeline_wait_delivered(rpp_pipeline *pipeline, uint32_t window, uint64_t deadline_ns);
/* Takes effect with the next tick. */
void rpp_pipeline_set_period(rpp_pipeline *pipeline, uint64_t period_ns);

#endif
