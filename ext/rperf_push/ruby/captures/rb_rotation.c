/* rb_rotation.c - ends a window: closes every thread's ledger at one boundary in time. */
#include "captures/rb_rotation.h"

#include "captures/rb_alloc_counts.h"
#include "captures/rb_heap.h"
#include "captures/rb_thread_starts.h"
#include "core/base/clock.h"
#include "core/base/stats.h"
#include "frames/rb_frames.h"
#include "frames/rb_walk.h"
#include "threads/rb_push.h"
#include "threads/rb_subscribers.h"

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
            rpp_ledger_add_due(&t->ledger); /* it runs on: no moment is better */
        }
    }
    return rb_rpp_push_totals(t);
}

/* Closes t's ledger at the boundary. False: no room, or busy; call it again later. */
static bool flush(rb_rpp_thread *t, uint64_t boundary)
{
    uint64_t began;
    if (!rb_rpp_capture_begin(&began)) return false;
    bool was_busy = rpp_ledger_enter(&t->ledger);
    bool done = push_all(t, boundary);
    bool pending = rpp_ledger_leave(&t->ledger, was_busy);
    if (pending) rpp_ledger_keep_tick(&t->ledger); /* this capture has not ended, so the tick cannot be taken here */
    rb_rpp_capture_end(t, began);
    return done;
}

void rb_rpp_flush_at_end(rb_rpp_thread *t, uint64_t now)
{
    bool was_busy = rpp_ledger_enter(&t->ledger);
    rpp_ledger_ended(&t->ledger, now);
    if (!rb_rpp_push_totals(t)) {
        rpp_time left = t->ledger.account.totals[RPP_STATE_RUNNING];
        rpp_stats_add(RPP_STAT_time_lost_ns, left.cpu_ns + left.wall_ns);
    }
    rpp_ledger_leave(&t->ledger, was_busy);
}

/* Into the subscriber's next window. False: as above. */
static bool move_on(rb_rpp_thread *t, rb_rpp_subscriber subscriber)
{
    if (!flush(t, rpp_pipeline_boundary_ns(rb_rpp_subscriber_pipeline(subscriber)))) return false;
    rb_rpp_join_window(t, subscriber);
    return true;
}

bool rb_rpp_flush_late(rb_rpp_thread *t)
{
    uint32_t boundaries = atomic_load_explicit(&rb_rpp_boundaries, memory_order_relaxed);
    bool flushed = true;
    for (rb_rpp_subscriber subscriber = 0; subscriber < rb_rpp_subscribers_end(); subscriber++) {
        if (rb_rpp_is_late(t, subscriber)) flushed &= move_on(t, subscriber);
    }
    if (flushed) t->boundaries = boundaries;
    return flushed;
}

/* --- all threads --- */

static bool flush_all_late(rb_rpp_subscriber subscriber, uint64_t began, uint64_t budget_ns)
{
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended || !rb_rpp_is_late(t, subscriber)) continue;
        if (!move_on(t, subscriber)) {
            rpp_pipeline_wake(rb_rpp_subscriber_pipeline(subscriber));
            return false;
        }
        if (rpp_monotonic_ns() - began > budget_ns) return false;
    }
    return true;
}

/* Windows of a live view are so short that a method which is seen now and then would be forgotten and named again and
 * again. */
static bool is_too_early_to_discard(rb_rpp_subscriber subscriber, uint64_t discarded_ns)
{
    return subscriber >= RB_RPP_ATTACHED && rb_rpp_capturing.cut_ns - discarded_ns < RPP_NS_PER_S;
}

/* Frames are released only when no open window can contain them, so all subscribers must have moved on. A detached
 * pipeline may still work on its last window. */
static void note_rotation(rb_rpp_subscriber subscriber)
{
    static unsigned moved_on; /* a bit for each */
    static uint64_t discarded_ns;
    unsigned attached = 0;
    if (is_too_early_to_discard(subscriber, discarded_ns)) return;
    moved_on |= 1u << subscriber;
    for (rb_rpp_subscriber other = 0; other < RB_RPP_SUBSCRIBERS; other++) {
        if (!rb_rpp_subscriber_pipeline(other)) continue;
        if (!(moved_on & 1u << other)) return;
        attached++;
    }
    if (rb_rpp_frames_readers() > attached) return;
    moved_on = 0;
    discarded_ns = rb_rpp_capturing.cut_ns;
    rb_rpp_frames_next_window();
    for (rb_rpp_subscriber each = 0; each < RB_RPP_SUBSCRIBERS; each++) {
        if (rb_rpp_subscriber_pipeline(each)) rpp_pipeline_want_frames(rb_rpp_subscriber_pipeline(each), true);
    }
}

/* In a section: a handler between the boundary and the new window would give time to the wrong one. */
static bool begin_rotation(rb_rpp_subscriber subscriber)
{
    rpp_pipeline *pipeline = rb_rpp_subscriber_pipeline(subscriber);
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    bool was_busy = t && rb_rpp_section_begin(t);
    rb_rpp_walk_next_window();
    bool begun = rpp_pipeline_begin_rotation(pipeline, rpp_monotonic_ns()) == RPP_OK;
    if (begun) {
        rb_rpp_alloc_counts_cut(subscriber);
        rb_rpp_heap_cut(subscriber);
        rb_rpp_capturing.cut_ns = rpp_pipeline_boundary_ns(pipeline);
        atomic_fetch_add_explicit(&rb_rpp_boundaries, 1, memory_order_relaxed);
    }
    if (t) rb_rpp_section_end(t, was_busy);
    return begun;
}

bool rb_rpp_rotate(rb_rpp_subscriber subscriber, uint64_t budget_ns)
{
    rpp_pipeline *pipeline = rb_rpp_subscriber_pipeline(subscriber);
    uint64_t began = rpp_monotonic_ns();
    if (!rpp_pipeline_is_rotating(pipeline)) {
        rb_rpp_thread_starts_meet_waiting(rpp_monotonic_ns());
        if (!begin_rotation(subscriber)) return false;
        note_rotation(subscriber);
    }
    if (!flush_all_late(subscriber, began, budget_ns)) return false;
    if (!rb_rpp_alloc_counts_push(subscriber) || !rb_rpp_push_carried(subscriber, rpp_pipeline_window(pipeline) - 1)) {
        rpp_pipeline_wake(pipeline);
        return false;
    }
    rpp_pipeline_end_rotation(pipeline);
    return true;
}

void rb_rpp_flush_all(uint64_t now)
{
    rb_rpp_thread_starts_meet_waiting(now);
    rb_rpp_capturing.cut_ns = now;
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        (void)flush(t, now); /* no room: a little inexact */
    }
}
