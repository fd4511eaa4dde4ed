/* pipeline.h - the collector: takes samples out of the buffer, sums them, and closes a window at every interval.
 *
 * Assumptions
 *   The sampler runs in application threads at safepoints, and nothing may wait for it. The collector *asks* for work
 *   (a capture, a rotation, names) through `ask`. The sampler reads the work with rpp_pipeline_work and reports
 *   rotations back. If no safepoint comes, the window stays open and gets longer. At its regular end, the known part is
 *   delivered; the rest of that time follows later as another part (window_part.h). No thread is woken for it.
 *
 * Lifecycle
 *   new -> start (thread) -> ... -> stop (thread joined, last window delivered) -> free.
 *   A forked child abandons its parent's pipeline, whose locks and tables may be inconsistent: discard_after_fork.
 *
 * Rotation
 *   1. due: the collector sets RPP_WORK_ROTATE and asks.       4. the collector drains the buffer once more,
 *   2. the sampler calls begin_rotation: a boundary in time,      waits for the names of the window's frames,
 *      a new window number.                                       closes the profile and gives it to `deliver`.
 *   3. it flushes every thread up to the boundary, in batches,
 *      then calls end_rotation.
 *
 * Threads    as noted at each function.
 * Ownership  the caller owns the pipeline; `deliver` takes each closed profile.
 */
#ifndef RPP_PIPELINE_H
#define RPP_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancellation.h"
#include "base/clock.h"
#include "profile/current_stacks.h"
#include "profile/heap_levels.h"
#include "profile/profile.h"
#include "profile/ticker.h"
#include "sampling/bursts.h"
#include "sampling/frame_names.h"
#include "sampling/sample_buffer.h"

/* Work that the collector asks for. */
#define RPP_WORK_TICK   1u /* capture the running thread */
#define RPP_WORK_ROTATE 2u /* begin or continue a rotation */
#define RPP_WORK_FRAMES 4u /* name some frames, release others */

/* What happened since the last call of `activity`. */
#define RPP_ACTIVITY_RAN     1u /* a thread ran: a safepoint is likely */
#define RPP_ACTIVITY_OVERDUE 2u /* a running thread needs a tick of the collector */

typedef struct rpp_pipeline_seams {
    /* Asks the sampler to call rpp_pipeline_work at its next safepoint. Collector thread; must not block. */
    void (*ask)(void *context);
    /* RPP_ACTIVITY_* bits since the last call. Collector thread. */
    unsigned (*activity)(void *context);
    /* At a tick: who runs at this instant, and what its CPU clock shows. Collector thread. */
    rpp_finding (*find)(void *context);
    /* Takes a closed profile. Collector thread. */
    void (*deliver)(rpp_profile *profile, void *context);
    void *context;
} rpp_pipeline_seams;

typedef struct rpp_pipeline_options {
    uint64_t interval_ns; /* length of a window */
    uint64_t tick_ns;     /* the kernel's tick, if ticks come from it; 0: unknown */
    rpp_ticker *ticker;   /* of all pipelines of the sampler; outlives them */
    size_t buffer_half_bytes;
    rpp_bursts bursts; /* the averages; 0: none. What is watched in them: see rpp_pipeline_watches */
    rpp_profile_limits limits;
    uint32_t watched_max;       /* objects that may be watched for levels (heap_levels.h); 0: no levels */
    bool ages;                  /* levels say how many GCs their objects have survived */
    bool class_labels;          /* classes of allocated objects are labels, not frames (shown_stacks.h) */
    bool keeps_pace;            /* a late boundary makes the next window shorter */
    bool warns_without_samples; /* logs a line if samples stop (no_samples.h) */
    rpp_current_stacks *seen;   /* gets each sample, or NULL; outlives the pipeline */
    const rpp_clock *clock;     /* NULL: the machine's */
} rpp_pipeline_options;

typedef struct rpp_pipeline rpp_pipeline;

/* The names must outlive the pipeline. The first window begins now. NULL if out of memory. */
rpp_pipeline *rpp_pipeline_new(const rpp_pipeline_options *options, const rpp_pipeline_seams *seams,
                               rpp_frame_names *names);
RPP_NODISCARD rpp_status rpp_pipeline_start(rpp_pipeline *pipeline);
/* Moves the start of the first window to this time (monotonic), when sampling begins. */
void rpp_pipeline_open(rpp_pipeline *pipeline, uint64_t start_ns);
/* Ends the collector and waits for it. RPP_TIMEOUT: the deadline passed, or the wait was cancelled. The collector is
 * then still busy: do not free the pipeline, call again. Samples that are buffered but not rotated are lost: rotate
 * first. */
RPP_NODISCARD rpp_status rpp_pipeline_stop(rpp_pipeline *pipeline, rpp_cancellation *cancellation);
void rpp_pipeline_free(rpp_pipeline *pipeline);
/* In a forked child, after the sampler has abandoned the parent's pipeline: frees the buffer, which is most of its
 * memory. The rest is never freed, because the fork may have come in the middle of a change. */
void rpp_pipeline_discard_after_fork(rpp_pipeline *pipeline);

/* --- called by the sampler, in application threads; the functions of this block are async-signal-safe --- */

rpp_sample_buffer *rpp_pipeline_buffer(rpp_pipeline *pipeline);
/* Returns RPP_WORK_* bits, and clears TICK. The others stay until the work is done. */
unsigned rpp_pipeline_work(rpp_pipeline *pipeline);
/* The number of the current window. */
uint32_t rpp_pipeline_window(const rpp_pipeline *pipeline);
/* With bursts, a pipeline watches in them: rpp_pipeline_watches. The sampler says what it does; until it does that,
 * the collector asks. A new pipeline has none. */
void rpp_pipeline_set_bursts(rpp_pipeline *pipeline, bool on);
bool rpp_pipeline_watches(const rpp_pipeline *pipeline);
void rpp_pipeline_note_watching(rpp_pipeline *pipeline, bool on);
/* A thread began to run: ends the collector's deep sleep. Cheap if it is awake. */
void rpp_pipeline_stir(rpp_pipeline *pipeline);
/* Wakes the collector: the buffer fills, or work was done. */
void rpp_pipeline_wake(rpp_pipeline *pipeline);
/* Sets or clears RPP_WORK_FRAMES: frames wait for a name or for their release. */
void rpp_pipeline_want_frames(rpp_pipeline *pipeline, bool wanted);

/* --- rotation, by the sampler, under the GVL --- */

/* Fixes the boundary and starts the next window. RPP_BUSY: a rotation is in progress; continue it, or wait. */
RPP_NODISCARD rpp_status rpp_pipeline_begin_rotation(rpp_pipeline *pipeline, uint64_t boundary_ns);
/* Between the two: which of the watched objects are alive; NULL: none. Nothing without levels. */
void rpp_pipeline_tell_level(rpp_pipeline *pipeline, const rpp_watched *watched);
/* All threads are flushed up to the boundary. */
void rpp_pipeline_end_rotation(rpp_pipeline *pipeline);
bool rpp_pipeline_is_rotating(const rpp_pipeline *pipeline);
/* The boundary of the current or last rotation: monotonic ns. */
uint64_t rpp_pipeline_boundary_ns(const rpp_pipeline *pipeline);

/* --- any ordinary thread --- */

/* Waits until every window before `window` was delivered. RPP_TIMEOUT: the deadline passed, or the wait was cancelled.
 * */
RPP_NODISCARD rpp_status rpp_pipeline_wait_delivered(rpp_pipeline *pipeline, uint32_t window,
                                                     rpp_cancellation *cancellation);
/* Windows that are closed from now on carry nothing over. Call it before the last rotation of a session. */
void rpp_pipeline_set_last(rpp_pipeline *pipeline);
/* On: the collector is one of those that tick (ticker.h). Off, as a new one is: it wakes only for windows, names and
 * the buffer. */
void rpp_pipeline_set_ticking(rpp_pipeline *pipeline, bool on);

#endif
