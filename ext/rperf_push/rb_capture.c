/* rb_capture.c - capturing a stack and giving it time: the middle of the sampler, between hooks and buffers. */
#include "rb_capture.h"

#include <sched.h>

#include "core/base/stats.h"
#include "rb_frames.h"
#include "rb_outlets.h"
#include "rb_overhead.h"
#include "rb_testing.h"
#include "rb_testing_ticks.h"
#include "rb_trigger.h"
#include "rb_walk.h"

/* The collector holds a buffer's lock only briefly, so a second outlet waits for it. */
#define PUSH_TRIES 100

rb_rpp_capture_options rb_rpp_capturing = {.resting = true};

/* The stack being captured. `busy` keeps a handler out that interrupts a capture. */
static volatile bool busy;
static VALUE frames[RPP_MAX_DEPTH + 1];
static int lines[RPP_MAX_DEPTH + 1];
static rpp_location locations[RPP_MAX_DEPTH + 1];

void rb_rpp_capture_forget_after_fork(void)
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
    if (t->interrupted) rb_rpp_testing_interrupted();
    int depth = (t->interrupted ? rb_rpp_walk_interrupted : rb_rpp_walk)(t->thread, RPP_MAX_DEPTH + 1, frames, into);
    rb_rpp_testing_walked(t, frames, into, depth);
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

static rpp_status push_to(rb_rpp_outlet outlet, const rb_rpp_thread *t, rpp_sample *sample, int tries)
{
    rpp_sample_buffer *buffer = rpp_pipeline_buffer(rb_rpp_outlet_pipeline(outlet));
    rpp_status status;
    sample->window = t->windows[outlet];
    while ((status = rpp_sample_buffer_push(buffer, sample, locations)) == RPP_BUSY && --tries > 0) sched_yield();
    if (status == RPP_OK && rpp_sample_buffer_is_filling(buffer)) rpp_pipeline_wake(rb_rpp_outlet_pipeline(outlet));
    return status;
}

/* To all outlets that are on. False: there was no room, and the sample is in the ledger again. */
static bool push(rb_rpp_thread *t, rpp_sample *sample, int tries)
{
    bool taken = false;
    for (rb_rpp_outlet outlet = 0; outlet < rb_rpp_outlets_end(); outlet++) {
        if (!rb_rpp_outlet_is_on(outlet)) continue;
        rpp_sample copy = *sample;
        copy.labels = rpp_label_set_retain(sample->labels);
        rpp_status status = push_to(outlet, t, &copy, taken ? PUSH_TRIES : tries);
        if (status == RPP_OK) {
            taken = true;
            continue;
        }
        rpp_label_set_release(copy.labels); /* never the last reference: `sample` holds one */
        if (!taken) {
            rpp_stats_add(status == RPP_BUSY ? RPP_STAT_samples_deferred_busy : RPP_STAT_samples_deferred_full, 1);
            rpp_ledger_untake(&t->ledger, sample);
            return false;
        }
        rpp_stats_add(RPP_STAT_time_lost_ns, sample->wall_ns);
    }
    rpp_label_set_release(sample->labels); /* nor here: the ledger holds one */
    return true;
}

static bool push_due(rb_rpp_thread *t, uint32_t depth)
{
    bool all = true;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample = {.thread_seq = t->seq, .depth = depth};
        if (rpp_ledger_take_due(&t->ledger, state, &sample)) all &= push(t, &sample, PUSH_TRIES);
    }
    return all;
}

static bool push_sums(rb_rpp_thread *t)
{
    bool all = true;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample = {.thread_seq = t->seq};
        if (rpp_ledger_take_sum(&t->ledger, state, &sample)) all &= push(t, &sample, PUSH_TRIES);
    }
    return all;
}

void rb_rpp_push_sums(rb_rpp_thread *t)
{
    (void)push_sums(t); /* no room: with the window's end */
}

static bool begin(void)
{
    if (!busy) return busy = true;
    rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
    return false;
}

static void end(const rb_rpp_thread *t, uint64_t began)
{
    rb_rpp_testing_in_capture(rpp_ledger_holds_gvl(&t->ledger) && !t->interrupted);
    uint32_t unnamed = rb_rpp_frames_unnamed();
    if (unnamed) rpp_stats_set(RPP_STAT_frames_unresolved, unnamed);
    for (rb_rpp_outlet outlet = 0; outlet < rb_rpp_outlets_end() && unnamed; outlet++) {
        if (rb_rpp_outlet_is_on(outlet)) rpp_pipeline_want_frames(rb_rpp_outlet_pipeline(outlet), true);
    }
    rpp_stats_add(RPP_STAT_samples_captured, 1);
    rb_rpp_overhead_end(began, RB_RPP_CAPTURE_MAX_NS);
    busy = false;
}

void rb_rpp_capture_due(rb_rpp_thread *t)
{
    t->refused = !begin();
    if (t->refused) return;
    uint64_t began = rb_rpp_overhead_begin();
    uint32_t depth = t->in_ruby ? walk(t) : unknown_stack();
    if (depth) rb_rpp_testing_tick_captured(locations[0].frame, t->interrupted);
    if (depth) push_due(t, depth);
    t->refused = !depth;
    end(t, began);
}

/* True if the ledger is still at an ended window: the time of now does not belong there. */
static bool is_late_for_any(const rb_rpp_thread *t)
{
    for (rb_rpp_outlet outlet = 0; outlet < rb_rpp_outlets_end(); outlet++) {
        if (rb_rpp_is_late(t, outlet)) return true;
    }
    return false;
}

static void take_owed_tick(rb_rpp_thread *t)
{
    bool was_busy = rpp_ledger_enter(&t->ledger);
    rb_rpp_testing_owed_tick_begin(t);
    rb_rpp_capture_if(t, rpp_ledger_ticked(&t->ledger, rpp_monotonic_ns()));
    rb_rpp_testing_owed_tick_end();
    rpp_ledger_leave(&t->ledger, was_busy);
}

void rb_rpp_section_owes(rb_rpp_thread *t)
{
    if (!t->in_ruby) return;
    if (busy || is_late_for_any(t)) {
        rpp_ledger_owe(&t->ledger);
    } else {
        take_owed_tick(t);
    }
}

void rb_rpp_section_end_in_handler(rb_rpp_thread *t, bool was_busy)
{
    rpp_ledger_leave(&t->ledger, was_busy);
    if (!t->refused) return;
    t->refused = false;
    rpp_ledger_owe(&t->ledger);
    rb_rpp_testing_tick_owed(t);
    if (!t->in_job) rb_rpp_trigger_here(); /* or one job would lead to the next for as long as ticks come */
}

/* --- the end of a window --- */

bool rb_rpp_settle(rb_rpp_thread *t, uint64_t boundary)
{
    if (!begin()) return false;
    uint64_t began = rb_rpp_overhead_begin();
    bool was_busy = rpp_ledger_enter(&t->ledger), done = true;
    if (!rb_rpp_capturing.resting && rpp_ledger_bounded(&t->ledger, boundary) == RPP_DUE_CAPTURE) {
        uint32_t depth = t->in_ruby ? walk(t) : unknown_stack();
        if (depth) {
            done = push_due(t, depth);
        } else if ((done = rpp_ledger_holds_gvl(&t->ledger))) { /* it runs on: no moment is better */
            rpp_ledger_sum_up_due(&t->ledger);
        }
    }
    done = done && push_sums(t);
    bool owed = rpp_ledger_leave(&t->ledger, was_busy);
    if (owed) rpp_ledger_owe(&t->ledger); /* a capture is not possible while `busy` */
    end(t, began);
    return done;
}

void rb_rpp_settle_at_end(rb_rpp_thread *t, uint64_t now)
{
    bool was_busy = rpp_ledger_enter(&t->ledger);
    rpp_ledger_ended(&t->ledger, now);
    if (!push_sums(t)) {
        rpp_time left = t->ledger.account.sums[RPP_STATE_RUNNING];
        rpp_stats_add(RPP_STAT_time_lost_ns, left.cpu_ns + left.wall_ns);
    }
    rpp_ledger_leave(&t->ledger, was_busy);
}
