/* rb_sampler.h - decides when a stack is captured. The ledger decides what time it gets
 * (core/sampling/thread_ledger.h).
 *
 * Operation
 *   running       at ticks of the thread's own CPU clock (engine signal), or at ticks of the collector at a safepoint
 *                 (engine safepoint, and threads that sleep while they hold the GVL).
 *   off the GVL   when it is over, or when a window ends: the stack does not change meanwhile (rb_hooks, rb_rotation).
 *   GC            when it is over (rb_hooks).
 *
 *   One sampler serves all sessions (subscribers, see rb_subscribers.h): at the highest of their frequencies, while one
 *   of them is on, and within the smallest of their budgets.
 *
 * Threads    under the GVL, unless a line says something else.
 * Ownership  sessions own their pipelines.
 */
#ifndef RB_SAMPLER_H
#define RB_SAMPLER_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "captures/rb_capture.h"
#include "core/profile/pipeline.h"
#include "core/sampling/label_sets.h"
#include "core/settings/settings.h"

typedef struct rb_rpp_sampler_options {
    uint64_t period_ns;
    bool lines;
    double overhead_limit; /* share of one core in application threads */
    rpp_engine_kind engine;
    unsigned mode;           /* RPP_MODE_* */
    uint32_t alloc_interval; /* 0: allocations are sampled at random */
} rb_rpp_sampler_options;

/* Call it once per process image: registers jobs and keys. The first start installs the hooks. */
void rb_rpp_sampler_init(void);
/* In a finalizer at the exit: no job is triggered any more. */
void rb_rpp_sampler_leave_vm(void);

/* When something is sampled or traced: each thread has a record from now on. The first call installs the hooks; until
 * then the program pays nothing. In a method or job, because it allocates. */
void rb_rpp_sampler_follow_threads(void);
/* When a session or a trace ends. After the last one a new thread gets no record, and a thread that has one gives it
 * back at its end. */
void rb_rpp_sampler_leave_threads(void);

/* Creates a pipeline for this sampler; see rpp_pipeline_seams for `deliver`. NULL if out of memory. */
typedef void (*rb_rpp_deliver)(rpp_profile *profile, void *context);
rpp_pipeline *rb_rpp_sampler_new_pipeline(const rpp_pipeline_options *options, rb_rpp_deliver deliver, void *context);
/* Any thread. NULL is fine. */
void rb_rpp_sampler_free_pipeline(rpp_pipeline *pipeline);

/* --- under the GVL, in a method or job --- */

/* All of the beginning that runs Ruby code, in which other threads and signal handlers may start and stop sessions.
 * Call it first, then see which subscriber is free, then attach or resume. May raise if it is interrupted. */
void rb_rpp_sampler_prepare(const rb_rpp_sampler_options *options, bool paused);
/* Samples go to the pipeline from now on; with `paused`, from the first resume on. Runs no Ruby code. */
void rb_rpp_sampler_attach(rb_rpp_subscriber subscriber, const rb_rpp_sampler_options *options, rpp_pipeline *pipeline,
                           bool paused);
/* No more samples come. Call rb_rpp_flush_until first, so that no time is lost. */
void rb_rpp_sampler_detach(rb_rpp_subscriber subscriber);
/* A paused subscriber receives no time. */
void rb_rpp_sampler_pause(rb_rpp_subscriber subscriber);
void rb_rpp_sampler_resume(rb_rpp_subscriber subscriber);
/* Ends the subscriber's window: flushes all threads and names all frames, and releases the GVL in between. False: the
 * deadline (monotonic) passed, or the subscriber was detached. Only in a method. */
bool rb_rpp_flush_until(rb_rpp_subscriber subscriber, uint64_t deadline_ns);
/* The engine in use: "signal" or "safepoint". */
const char *rb_rpp_sampler_engine(void);

/* --- fork: touches our own memory only --- */

/* In the child: there is no sampling, and only the calling thread. `restart` runs once, at the child's first
 * safepoint. */
void rb_rpp_sampler_discard_after_fork(void (*restart)(void));
/* True in a child that has not reached that safepoint. Any thread. */
bool rb_rpp_sampler_will_restart(void);

#endif
