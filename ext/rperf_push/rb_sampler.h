/* rb_sampler.h - when a stack is captured, and how much time it is given. The one rule: when a thread's clock has gathered
 * one sampling period, the current stack is captured and given all of it.
 *
 * Operation
 *   running       at ticks: of the thread's own CPU clock (engine signal), or of the collector at a safepoint (engine
 *                 safepoint, and threads that sleep with the GVL in their hands).
 *   off the GVL   when it is over, or when a window ends: the stack stands still meanwhile (rb_hooks, rb_rotation).
 *   GC            when it is over (rb_hooks).
 *
 *   One sampler serves both sessions (outlets, see rb_capture.h): at the higher of their frequencies, while one of them is on,
 *   and within the smaller of their budgets.
 */
#ifndef RB_SAMPLER_H
#define RB_SAMPLER_H

#include "rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/label_sets.h"
#include "core/settings.h"
#include "rb_capture.h"

typedef struct rb_rpp_sampler_options {
    uint64_t period_ns;
    bool lines;
    double overhead_limit; /* share of one core in application threads */
    rpp_engine_kind engine;
} rb_rpp_sampler_options;

/* Once a process image: jobs, keys. The hooks come with the first start. */
void rb_rpp_sampler_init(void);
/* The VM is about to be taken apart: no job is triggered any more, whoever asks. In a finalizer at the exit. */
void rb_rpp_sampler_leave_vm(void);

/* The seams for a pipeline that this sampler feeds. */
extern const rpp_pipeline_seams rb_rpp_sampler_seams;

/* --- under the GVL, in a method or job --- */

/* Samples go into the pipeline from now on; with `paused`, from the first resume on. */
void rb_rpp_sampler_attach(rb_rpp_outlet outlet, const rb_rpp_sampler_options *options, rpp_pipeline *pipeline,
                           bool paused);
/* No sample comes any more. Call rb_rpp_settle_until before, to lose nothing. */
void rb_rpp_sampler_detach(rb_rpp_outlet outlet);
/* Time that passes while an outlet is paused is not its own. Clocks go on where they were. */
void rb_rpp_sampler_pause(rb_rpp_outlet outlet);
void rb_rpp_sampler_resume(rb_rpp_outlet outlet);
/* Whether any outlet is attached: labels are worth setting. */
bool rb_rpp_sampler_is_attached(void);
/* Ends the outlet's window: settles all threads and names all frames, letting go of the GVL in between, until the deadline
 * (monotonic). False: it passed, or the outlet was detached meanwhile. In a method only. */
bool rb_rpp_settle_until(rb_rpp_outlet outlet, uint64_t deadline_ns);
/* "signal" or "safepoint": the one at work. */
const char *rb_rpp_sampler_engine(void);

/* The share of one core spent in application threads lately. */
double rb_rpp_sampler_overhead(void);

/* --- fork: touches our own memory only --- */

/* In the child: no sampling, no thread but the calling one. `restart` runs once, at the child's first safepoint. */
void rb_rpp_sampler_forget_after_fork(void (*restart)(void));
/* Something for Ruby's logger: `drain` will run at a safepoint. Any thread. */
void rb_rpp_sampler_request(void (*drain)(void));

#endif
