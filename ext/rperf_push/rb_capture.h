/* rb_capture.h - capturing a stack and giving it time: the middle of the sampler, between hooks and buffers.
 *
 * Vocabulary
 *   outlet   a session that gets samples: a pipeline, and whether it is on. There are two: the continuous session and the
 *            one on demand. Both see the same captures; each has windows of its own.
 *   settle   to close a thread's clocks at a boundary and push all they hold, so that a window ends exactly.
 *
 * Threads    the thread that holds the GVL, handlers and hooks included; nothing here allocates.
 */
#ifndef RB_CAPTURE_H
#define RB_CAPTURE_H

#include "rb_compat.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/pipeline.h"
#include "rb_threads.h"

typedef struct rb_rpp_capture_options {
    _Atomic uint64_t period_ns; /* the one in force; set by a collector, read anywhere */
    bool lines;
    bool resting; /* no outlet is on: clocks stand still, with what they hold */
} rb_rpp_capture_options;

/* How far a thread's clocks are emptied. */
typedef enum rb_rpp_occasion { RB_RPP_WINDOW_END, RB_RPP_SETTLE_ALL, RB_RPP_THREAD_END } rb_rpp_occasion;

/* Shared by both outlets. */
extern rb_rpp_capture_options rb_rpp_capturing;

/* The sampling period in force. */
static inline uint64_t rb_rpp_period_ns(void)
{
    return atomic_load_explicit(&rb_rpp_capturing.period_ns, memory_order_relaxed);
}

/* NULL: nobody there. */
rpp_pipeline *rb_rpp_outlet_pipeline(rb_rpp_outlet outlet);
void rb_rpp_outlet_set_pipeline(rb_rpp_outlet outlet, rpp_pipeline *pipeline);
bool rb_rpp_outlet_is_on(rb_rpp_outlet outlet);
/* On: samples go there from now on. The clocks should be empty, or hold only what may go there. */
void rb_rpp_outlet_switch(rb_rpp_outlet outlet, bool on);
/* In a forked child: nobody is there, no capture is under way. */
void rb_rpp_capture_forget_after_fork(void);

/* Whether a capture is being made, so that a handler that interrupts it must keep out. */
bool rb_rpp_capture_is_busy(void);

/* No capture takes longer, unless the thread is taken off its core meanwhile. */
#define RB_RPP_CAPTURE_MAX_NS (100 * RPP_NS_PER_US)

/* Time of ours on an application thread, from begin to end, the outermost pair only. At most `max_ns` is counted: what is
 * beyond was spent waiting for a core. Begin returns the monotonic time, or 0 within another pair. Under the GVL. */
uint64_t rb_rpp_overhead_begin(void);
void rb_rpp_overhead_end(uint64_t began_ns, uint64_t max_ns);

/* Captures the calling thread's stack and gives it all its running time under the current labels. */
void rb_rpp_capture_running(rb_rpp_thread *t);
/* An event of these two states is over: captures the stack if it is due. Most are not. */
void rb_rpp_capture_due_event(rb_rpp_thread *t, const rpp_state states[2], uint64_t period_ns);
static inline void rb_rpp_capture_event(rb_rpp_thread *t, const rpp_state states[2])
{
    uint64_t period = rb_rpp_period_ns();
    if (rpp_thread_clocks_event_may_be_due(&t->clocks, states, period)) rb_rpp_capture_due_event(t, states, period);
}
/* Pushes all that a slot holds, to the calling thread's stack of this moment. False: no room. */
bool rb_rpp_capture_slot(rb_rpp_thread *t, rpp_clock_slot *slot);

/* Wall time up to now goes to what the thread is doing. */
void rb_rpp_thread_advance(rb_rpp_thread *t, uint64_t now_ns);
void rb_rpp_thread_read_cpu(rb_rpp_thread *t);

/* Closes t's clocks at the boundary. False: no room, or busy; again later. */
bool rb_rpp_settle(rb_rpp_thread *t, bool is_current, uint64_t boundary_ns, rb_rpp_occasion when);
/* The thread has time from before the boundary of a rotation under way. */
bool rb_rpp_is_late(const rb_rpp_thread *t, rb_rpp_outlet outlet);
/* From now on its clocks belong to the outlet's current window. */
void rb_rpp_join_window(rb_rpp_thread *t, rb_rpp_outlet outlet);

#endif
