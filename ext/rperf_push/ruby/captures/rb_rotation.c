/* rb_rotation.c - ends a window: closes every thread's ledger at one boundary in time. */
#include "captures/rb_rotation.h"

#include "captures/rb_alloc_counts.h"
#include "captures/rb_births.h"
#include "captures/rb_heap.h"
#include "core/base/clock.h"
#include "core/base/stats.h"
#include "frames/rb_frames.h"
#include "frames/rb_walk.h"
#include "threads/rb_outlets.h"
#include "threads/rb_push.h"

_Atomic uint32_t rb_rpp_boundaries;

/* --- one thread --- */

/* In a capture and a section. */
static bool push_all(rb_rpp_thread *t, uint64_t boundary)
{
    if (rb_rpp_is_sampling() && rpp_ledger_bounded(&t->ledger, boundary) == RPP_DUE_CAPTURE) {
        const rpp_location *stack;
        uint32_t depth = rb_rpp_capture_stack(t, &stack);
        if (depth) {
            if (!rb_rpp_push_due(t, stack, depth)) return false;
        } else {
            if (!rpp_ledger_holds_gvl(&t->ledger)) return false;
            rpp_ledger_sum_up_due(&t->ledger); /* it runs on: no moment is better */
        }
    }
    return rb_rpp_push_sums(t);
}

/* Closes t's ledger at the boundary. False: no room, or busy; call it again later. */
static bool settle(rb_rpp_thread *t, uint64_t boundary)
{
    uint64_t began;
    if (!rb_rpp_capture_begin(&began)) return false;
    bool was_busy = rpp_ledger_enter(&t->ledger);
    bool done = push_all(t, boundary);
    bool owed = rpp_ledger_leave(&t->ledger, was_busy);
    if (owed) rpp_ledger_owe(&t->ledger); /* this capture has not ended, so the tick cannot be taken here */
    rb_rpp_capture_end(t, began);
    return done;
}

void rb_rpp_settle_at_end(rb_rpp_thread *t, uint64_t now)
{
    bool was_busy = rpp_ledger_enter(&t->ledger);
    rpp_ledger_ended(&t->ledger, now);
    if (!rb_rpp_push_sums(t)) {
        rpp_time left = t->ledger.account.sums[RPP_STATE_RUNNING];
        rpp_stats_add(RPP_STAT_time_lost_ns, left.cpu_ns + left.wall_ns);
    }
    rpp_ledger_leave(&t->ledger, was_busy);
}

/* Into the outlet's next window. False: as above. */
static bool move_on(rb_rpp_thread *t, rb_rpp_outlet outlet)
{
    if (!settle(t, rpp_pipeline_boundary_ns(rb_rpp_outlet_pipeline(outlet)))) return false;
    rb_rpp_join_window(t, outlet);
    return true;
}

bool rb_rpp_settle_late(rb_rpp_thread *t)
{
    uint32_t boundaries = atomic_load_explicit(&rb_rpp_boundaries, memory_order_relaxed);
    bool settled = true;
    for (rb_rpp_outlet outlet = 0; outlet < rb_rpp_outlets_end(); outlet++) {
        if (rb_rpp_is_late(t, outlet)) settled &= move_on(t, outlet);
    }
    if (settled) t->boundaries = boundaries;
    return settled;
}

/* --- all threads --- */

static bool settle_all_late(rb_rpp_outlet outlet, uint64_t began, uint64_t budget_ns)
{
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended || !rb_rpp_is_late(t, outlet)) continue;
        if (!move_on(t, outlet)) {
            rpp_pipeline_wake(rb_rpp_outlet_pipeline(outlet));
            return false;
        }
        if (rpp_monotonic_ns() - began > budget_ns) return false;
    }
    return true;
}

/* Windows of a live view are so short that a method which is seen now and then would be forgotten and named again and
 * again. */
static bool is_too_early_to_forget(rb_rpp_outlet outlet, uint64_t forgot_ns)
{
    return outlet >= RB_RPP_ATTACHED && rb_rpp_capturing.cut_ns - forgot_ns < RPP_NS_PER_S;
}

/* Frames are released only when no open window can contain them, so all outlets must have moved on. A detached pipeline
 * may still work on its last window. */
static void note_rotation(rb_rpp_outlet outlet)
{
    static unsigned moved_on; /* a bit for each */
    static uint64_t forgot_ns;
    unsigned attached = 0;
    if (is_too_early_to_forget(outlet, forgot_ns)) return;
    moved_on |= 1u << outlet;
    for (rb_rpp_outlet other = 0; other < RB_RPP_OUTLETS; other++) {
        if (!rb_rpp_outlet_pipeline(other)) continue;
        if (!(moved_on & 1u << other)) return;
        attached++;
    }
    if (rb_rpp_frames_readers() > attached) return;
    moved_on = 0;
    forgot_ns = rb_rpp_capturing.cut_ns;
    rb_rpp_frames_next_window();
    for (rb_rpp_outlet each = 0; each < RB_RPP_OUTLETS; each++) {
        if (rb_rpp_outlet_pipeline(each)) rpp_pipeline_want_frames(rb_rpp_outlet_pipeline(each), true);
    }
}

/* In a section: a handler between the boundary and the new window would give time to the wrong one. */
static bool begin_rotation(rb_rpp_outlet outlet)
{
    rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    bool was_busy = t && rb_rpp_section_begin(t);
    rb_rpp_walk_next_window();
    bool begun = rpp_pipeline_begin_rotation(pipeline, rpp_monotonic_ns()) == RPP_OK;
    if (begun) {
        rb_rpp_alloc_counts_cut(outlet);
        rb_rpp_heap_cut(outlet);
        rb_rpp_capturing.cut_ns = rpp_pipeline_boundary_ns(pipeline);
        atomic_fetch_add_explicit(&rb_rpp_boundaries, 1, memory_order_relaxed);
    }
    if (t) rb_rpp_section_end(t, was_busy);
    return begun;
}

bool rb_rpp_rotate(rb_rpp_outlet outlet, uint64_t budget_ns)
{
    rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
    uint64_t began = rpp_monotonic_ns();
    if (!rpp_pipeline_is_rotating(pipeline)) {
        rb_rpp_births_meet_waiting(rpp_monotonic_ns());
        if (!begin_rotation(outlet)) return false;
        note_rotation(outlet);
    }
    if (!settle_all_late(outlet, began, budget_ns)) return false;
    if (!rb_rpp_alloc_counts_push(outlet) || !rb_rpp_push_carried(outlet, rpp_pipeline_window(pipeline) - 1)) {
        rpp_pipeline_wake(pipeline);
        return false;
    }
    rpp_pipeline_end_rotation(pipeline);
    return true;
}

void rb_rpp_settle_all(uint64_t now)
{
    rb_rpp_births_meet_waiting(now);
    rb_rpp_capturing.cut_ns = now;
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        (void)settle(t, now); /* no room: a little inexact */
    }
}
