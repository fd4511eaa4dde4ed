/* rb_rotation.c - the end of a window: every thread's clocks closed at one boundary in time. */
#include "rb_rotation.h"

#include "core/clock.h"
#include "rb_frames.h"

_Atomic uint32_t rb_rpp_boundaries;

static bool settle(rb_rpp_thread *t, rb_rpp_outlet outlet, bool is_current, rb_rpp_occasion when)
{
    uint64_t boundary = rpp_pipeline_boundary_ns(rb_rpp_outlet_pipeline(outlet));
    if (!rb_rpp_settle(t, is_current, boundary, when)) return false;
    rb_rpp_join_window(t, outlet);
    return true;
}

bool rb_rpp_settle_late(rb_rpp_thread *t)
{
    uint32_t boundaries = atomic_load_explicit(&rb_rpp_boundaries, memory_order_relaxed);
    bool settled = true;
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        if (rb_rpp_is_late(t, outlet)) settled &= settle(t, outlet, true, RB_RPP_WINDOW_END);
    }
    if (settled) t->boundaries = boundaries;
    return settled;
}

/* Whoever runs beside us, and was not heard to begin, is of another Ractor. */
static bool is_left_out(rb_rpp_thread *t)
{
    if (!t->ended && !t->in_ruby && t->phase == RB_RPP_RUNNING) rb_rpp_thread_ignore(t);
    return t->ended;
}

static bool settle_all_late(rb_rpp_outlet outlet, uint64_t began, uint64_t budget_ns, rb_rpp_occasion when)
{
    const rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (is_left_out(t) || !rb_rpp_is_late(t, outlet)) continue;
        if (!settle(t, outlet, t == current, when)) {
            rpp_pipeline_wake(rb_rpp_outlet_pipeline(outlet));
            return false;
        }
        if (rpp_monotonic_ns() - began > budget_ns) return false;
    }
    return true;
}

/* Frames are let go of only when no open window can hold them: so all outlets must have moved on. */
static void note_rotation(rb_rpp_outlet outlet)
{
    static unsigned moved_on; /* a bit for each */
    moved_on |= 1u << outlet;
    for (rb_rpp_outlet other = 0; other < RB_RPP_OUTLETS; other++) {
        if (rb_rpp_outlet_pipeline(other) && !(moved_on & 1u << other)) return;
    }
    moved_on = 0;
    rb_rpp_frames_next_window();
}

/* A handler on this thread keeps out: between the boundary and the new window it would give time to the wrong one. */
static bool begin_rotation(rpp_pipeline *pipeline)
{
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    bool was_busy = t && t->busy;
    if (t) t->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    bool begun = rpp_pipeline_begin_rotation(pipeline, rpp_monotonic_ns()) == RPP_OK;
    if (begun) atomic_fetch_add_explicit(&rb_rpp_boundaries, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (t) t->busy = was_busy;
    return begun;
}

bool rb_rpp_rotate(rb_rpp_outlet outlet, uint64_t budget_ns, rb_rpp_occasion when)
{
    rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
    uint64_t began = rpp_monotonic_ns();
    if (!rpp_pipeline_is_rotating(pipeline)) {
        if (!begin_rotation(pipeline)) return false;
        note_rotation(outlet);
    }
    bool resting = rb_rpp_capturing.resting; /* then what the clocks hold is the paused outlet's */
    if (resting) rb_rpp_outlet_switch(outlet, true);
    bool done = settle_all_late(outlet, began, budget_ns, when);
    if (resting) rb_rpp_outlet_switch(outlet, false);
    if (!done) return false;
    rpp_pipeline_end_rotation(pipeline);
    return true;
}

void rb_rpp_settle_all(uint64_t now)
{
    const rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (is_left_out(t)) continue;
        (void)rb_rpp_settle(t, t == current, now, RB_RPP_SETTLE_ALL); /* no room: a little inexact */
    }
}
