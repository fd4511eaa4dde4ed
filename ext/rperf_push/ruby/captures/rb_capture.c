/* rb_capture.c - captures a stack at once for what a ledger says is due. */
#include "captures/rb_capture.h"

#include "core/base/stats.h"
#include "frames/rb_frames.h"
#include "frames/rb_walk.h"
#include "threads/rb_overhead.h"
#include "threads/rb_push.h"
#include "threads/rb_subscribers.h"
#include "vm/rb_probes.h"
#include "vm/rb_trigger.h"

rb_rpp_capture_options rb_rpp_capturing;

/* The stack being captured. `busy` keeps a handler out that interrupts a capture. */
static volatile bool busy;
static VALUE frames[RPP_MAX_DEPTH + 1];
static int lines[RPP_MAX_DEPTH + 1];
static rpp_location locations[RPP_MAX_DEPTH + 1];

void rb_rpp_capture_discard_after_fork(void)
{
    busy = false;
}

bool rb_rpp_capture_is_busy(void)
{
    return busy;
}

/* --- one stack --- */

static uint32_t unknown_stack(void)
{
    locations[0] = (rpp_location){RPP_FRAME_UNKNOWN, 0};
    return 1;
}

/* The stack of t into `locations`; 0: try later. */
static uint32_t walk(const rb_rpp_thread *t)
{
    int *into = rb_rpp_capturing.lines ? lines : NULL;
    RB_RPP_PROBE(walk_begins, t->interrupted);
    int depth = (t->interrupted ? rb_rpp_walk_interrupted : rb_rpp_walk)(t->thread, RPP_MAX_DEPTH + 1, frames, into);
    RB_RPP_PROBE(walked, t, frames, into, depth);
    if (depth == RB_RPP_WALK_NOT_NOW) {
        rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
        return 0;
    }
    if (depth == 0) return unknown_stack();
    bool truncated = depth > RPP_MAX_DEPTH;
    if (truncated) depth = RPP_MAX_DEPTH;
    if (!rb_rpp_frames_convert(frames, into, depth, locations)) {
        rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
        return 0;
    }
    if (truncated) {
        locations[depth++] = (rpp_location){RPP_FRAME_TRUNCATED, 0};
        rpp_stats_add(RPP_STAT_samples_truncated, 1);
    }
    return (uint32_t)depth;
}

uint32_t rb_rpp_capture_stack(const rb_rpp_thread *t, const rpp_location **stack)
{
    *stack = locations;
    return t->in_ruby ? walk(t) : unknown_stack();
}

bool rb_rpp_capture_begin_asked(void)
{
    if (busy) {
        rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
        return false;
    }
    busy = true;
    return true;
}

void rb_rpp_capture_end_asked(const rb_rpp_thread *t)
{
    RB_RPP_PROBE(capture_ends, rpp_ledger_holds_gvl(&t->ledger) && !t->interrupted);
    uint32_t unnamed = rb_rpp_frames_unnamed();
    if (unnamed) rpp_stats_set(RPP_STAT_frames_unresolved, unnamed);
    for (rb_rpp_subscriber subscriber = 0; subscriber < rb_rpp_subscribers_end() && unnamed; subscriber++) {
        if (rb_rpp_subscriber_is_on(subscriber)) rpp_pipeline_want_frames(rb_rpp_subscriber_pipeline(subscriber), true);
    }
    rpp_stats_add(RPP_STAT_samples_captured, 1);
    busy = false;
}

bool rb_rpp_capture_begin(uint64_t *began)
{
    if (!rb_rpp_capture_begin_asked()) return false;
    *began = rb_rpp_overhead_begin();
    return true;
}

void rb_rpp_capture_end(const rb_rpp_thread *t, uint64_t began)
{
    rb_rpp_capture_end_asked(t);
    rb_rpp_overhead_end(began, RB_RPP_CAPTURE_MAX_NS);
}

void rb_rpp_capture_due(rb_rpp_thread *t)
{
    uint64_t began;
    t->refused = !rb_rpp_capture_begin(&began);
    if (t->refused) return;
    const rpp_location *stack;
    uint32_t depth = rb_rpp_capture_stack(t, &stack);
    if (depth) RB_RPP_PROBE(tick_captured, stack[0].frame, t->interrupted);
    if (depth) (void)rb_rpp_push_due(t, stack, depth); /* no room: with the next capture */
    t->refused = !depth;
    rb_rpp_capture_end(t, began);
}

/* True if the ledger is still at an ended window: the time of now does not belong there. */
static bool is_late_for_any(const rb_rpp_thread *t)
{
    for (rb_rpp_subscriber subscriber = 0; subscriber < rb_rpp_subscribers_end(); subscriber++) {
        if (rb_rpp_is_late(t, subscriber)) return true;
    }
    return false;
}

static void take_pending_tick(rb_rpp_thread *t)
{
    bool was_busy = rpp_ledger_enter(&t->ledger);
    RB_RPP_PROBE(pending_tick_begins, t);
    rb_rpp_capture_if(t, rpp_ledger_ticked(&t->ledger, rpp_monotonic_ns()));
    RB_RPP_PROBE(pending_tick_ends);
    rpp_ledger_leave(&t->ledger, was_busy);
}

void rb_rpp_section_owes(rb_rpp_thread *t)
{
    if (!t->in_ruby) return;
    if (busy || is_late_for_any(t)) {
        rpp_ledger_keep_tick(&t->ledger);
    } else {
        take_pending_tick(t);
    }
}

void rb_rpp_section_end_in_handler(rb_rpp_thread *t, bool was_busy)
{
    rpp_ledger_leave(&t->ledger, was_busy);
    if (!t->refused) return;
    t->refused = false;
    rpp_ledger_keep_tick(&t->ledger);
    RB_RPP_PROBE(tick_pending, t);
    if (!t->in_job) rb_rpp_trigger_here(); /* or one job would lead to the next for as long as ticks come */
}
