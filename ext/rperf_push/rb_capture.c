/* rb_capture.c - capturing a stack and giving it time: the middle of the sampler, between hooks and buffers. */
#include "rb_capture.h"

#include <sched.h>

#include "core/stats.h"
#include "rb_frames.h"
#include "rb_testing.h"

/* The collector holds a buffer's lock for an instant; a second outlet is worth that wait. */
#define PUSH_TRIES 100

rb_rpp_capture_options rb_rpp_capturing = {.resting = true};

static struct {
    rpp_pipeline *pipeline;
    bool on;
} outlets[RB_RPP_OUTLETS];

/* The stack being captured. `busy` keeps a handler out that interrupts a capture. */
static volatile bool busy;
static unsigned overheads; /* begun and not ended */
static VALUE frames[RPP_MAX_DEPTH + 1];
static int lines[RPP_MAX_DEPTH + 1];
static rpp_location locations[RPP_MAX_DEPTH + 1];

/* --- outlets --- */

rpp_pipeline *rb_rpp_outlet_pipeline(rb_rpp_outlet outlet)
{
    return outlets[outlet].pipeline;
}

void rb_rpp_outlet_set_pipeline(rb_rpp_outlet outlet, rpp_pipeline *pipeline)
{
    outlets[outlet].on = false;
    outlets[outlet].pipeline = pipeline;
}

bool rb_rpp_outlet_is_on(rb_rpp_outlet outlet)
{
    return outlets[outlet].on;
}

void rb_rpp_outlet_switch(rb_rpp_outlet outlet, bool on)
{
    outlets[outlet].on = on;
}

void rb_rpp_capture_forget_after_fork(void)
{
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) rb_rpp_outlet_set_pipeline(outlet, NULL);
    busy = false;
    overheads = 0;
}

bool rb_rpp_capture_is_busy(void)
{
    return busy;
}

bool rb_rpp_is_late(const rb_rpp_thread *t, rb_rpp_outlet outlet)
{
    const rpp_pipeline *pipeline = outlets[outlet].pipeline;
    return pipeline && t->windows[outlet] != rpp_pipeline_window(pipeline);
}

void rb_rpp_join_window(rb_rpp_thread *t, rb_rpp_outlet outlet)
{
    if (outlets[outlet].pipeline) t->windows[outlet] = rpp_pipeline_window(outlets[outlet].pipeline);
}

/* --- one stack --- */

static uint32_t unknown_stack(void)
{
    locations[0] = (rpp_location){RPP_FRAME_UNKNOWN, 0};
    return 1;
}

/* The stack of t into `locations`; 0: try later. */
static uint32_t walk(const rb_rpp_thread *t, bool is_current)
{
    int *into = rb_rpp_capturing.lines ? lines : NULL;
    int depth = is_current ? rb_profile_frames(0, RPP_MAX_DEPTH + 1, frames, into)
                           : rb_profile_thread_frames(t->thread, 0, RPP_MAX_DEPTH + 1, frames, into);
    if (depth <= 0) return unknown_stack();
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
    rpp_sample_buffer *buffer = rpp_pipeline_buffer(outlets[outlet].pipeline);
    rpp_status status;
    sample->window = t->windows[outlet];
    while ((status = rpp_sample_buffer_push(buffer, sample, locations)) == RPP_BUSY && --tries > 0) sched_yield();
    if (status == RPP_OK && rpp_sample_buffer_is_filling(buffer)) rpp_pipeline_wake(outlets[outlet].pipeline);
    return status;
}

/* One clock, or part of it, to all outlets that are on. False: it did not fit and is as before. */
static bool push_part(rb_rpp_thread *t, rpp_clock_slot *slot, rpp_state state, uint32_t depth, bool remainder,
                      const rpp_clock_part *part)
{
    rpp_sample sample = {.thread_seq = t->seq, .depth = depth, .remainder = remainder};
    if (!rpp_clock_slot_take(slot, state, &sample)) return true;
    if (part) rpp_clock_slot_keep_rest(slot, &sample, *part);
    bool taken = false;
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        if (!outlets[outlet].on) continue;
        rpp_sample copy = sample;
        copy.labels = rpp_label_set_retain(sample.labels);
        rpp_status status = push_to(outlet, t, &copy, taken ? PUSH_TRIES : 1);
        if (status == RPP_OK) {
            taken = true;
            continue;
        }
        rpp_label_set_release(copy.labels); /* never the last reference: `sample` holds one */
        if (!taken) {
            rpp_stats_add(status == RPP_BUSY ? RPP_STAT_samples_deferred_busy : RPP_STAT_samples_deferred_full, 1);
            rpp_clock_slot_untake(slot, &sample);
            return false;
        }
        rpp_stats_add(RPP_STAT_time_lost_ns, sample.wall_ns);
    }
    rpp_label_set_release(sample.labels); /* nor here: the slot holds one */
    if (!remainder) slot->captured_in[state] = t->settled + 1;
    return true;
}

static bool push(rb_rpp_thread *t, rpp_clock_slot *slot, rpp_state state, uint32_t depth, bool remainder)
{
    return push_part(t, slot, state, depth, remainder, NULL);
}

uint64_t rb_rpp_overhead_begin(void)
{
    return overheads++ ? 0 : rpp_monotonic_ns();
}

void rb_rpp_overhead_end(uint64_t began, uint64_t max_ns)
{
    if (--overheads) return;
    uint64_t took = rpp_monotonic_ns() - began;
    rpp_stats_add(RPP_STAT_overhead_ns, took < max_ns ? took : max_ns);
}

static bool begin(void)
{
    if (!busy) return busy = true;
    rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
    return false;
}

static void end(uint64_t began)
{
    rb_rpp_testing_in_capture();
    uint32_t unnamed = rb_rpp_frames_unnamed();
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS && unnamed; outlet++) {
        if (outlets[outlet].on) rpp_pipeline_set_unnamed(outlets[outlet].pipeline, unnamed);
    }
    rpp_stats_add(RPP_STAT_samples_captured, 1);
    rb_rpp_overhead_end(began, RB_RPP_CAPTURE_MAX_NS);
    busy = false;
}

void rb_rpp_capture_running(rb_rpp_thread *t)
{
    if (!begin()) return;
    uint64_t began = rb_rpp_overhead_begin();
    uint32_t depth = walk(t, true);
    if (depth) push(t, rpp_thread_clocks_current(&t->clocks), RPP_STATE_RUNNING, depth, false);
    end(began);
}

void rb_rpp_capture_due_event(rb_rpp_thread *t, const rpp_state states[2], uint64_t period_ns)
{
    rpp_clock_part part;
    bool due = rpp_thread_clocks_event_is_due(&t->clocks, states[0], period_ns, &part) ||
               rpp_thread_clocks_event_is_due(&t->clocks, states[1], period_ns, &part);
    if (!due || !begin()) return;
    uint64_t began = rb_rpp_overhead_begin();
    rb_rpp_thread_read_cpu(t);
    uint32_t depth = walk(t, true);
    for (int i = 0; i < 2 && depth; i++) {
        if (!rpp_thread_clocks_event_is_due(&t->clocks, states[i], period_ns, &part)) continue;
        push_part(t, rpp_thread_clocks_current(&t->clocks), states[i], depth, false, &part);
    }
    end(began);
}

bool rb_rpp_capture_slot(rb_rpp_thread *t, rpp_clock_slot *slot)
{
    if (!begin()) return false;
    uint64_t began = rb_rpp_overhead_begin();
    uint32_t depth = walk(t, true);
    bool done = depth > 0;
    for (rpp_state state = 0; state < RPP_STATE_COUNT && done; state++) done = push(t, slot, state, depth, true);
    end(began);
    return done;
}

/* --- clocks of one thread --- */

/* Blocked until it asked for the GVL, waiting since. */
static void advance_off_gvl(rb_rpp_thread *t, uint64_t now)
{
    uint64_t ready = atomic_load_explicit(&t->ready_ns, memory_order_relaxed);
    if (ready && ready < now) {
        rpp_thread_clocks_advance(&t->clocks, RPP_STATE_BLOCKED, ready);
        rpp_thread_clocks_advance(&t->clocks, RPP_STATE_WAITING, now);
    } else {
        rpp_thread_clocks_advance(&t->clocks, RPP_STATE_BLOCKED, now);
    }
}

void rb_rpp_thread_advance(rb_rpp_thread *t, uint64_t now)
{
    if (t->phase == RB_RPP_RUNNING) {
        rpp_thread_clocks_advance(&t->clocks, t->doing, now);
    } else {
        advance_off_gvl(t, now);
    }
}

void rb_rpp_thread_read_cpu(rb_rpp_thread *t)
{
    if (!t->has_cpu_clock) return;
    rb_rpp_testing_reading_cpu_clock();
    rpp_thread_clocks_read(&t->clocks, rb_rpp_thread_cpu_ns(t));
}

/* Whether a clock's time is of the stack of this moment. For what runs, the ticks of the thread's own timer know better: this is
 * but the next safepoint. */
static bool is_of_this_moment(const rb_rpp_thread *t, rpp_state state)
{
    if (t->phase == RB_RPP_BLOCKED) return state == RPP_STATE_BLOCKED || state == RPP_STATE_WAITING;
    return state == t->doing && !t->has_timer;
}

/* Time that is not of this moment, and that no capture came to in this window: nobody knows yet where it was spent. The CPU time
 * does better to wait for a capture that finds the method. The wall time is this window's. */
static bool carries_over(const rb_rpp_thread *t, const rpp_clock_slot *slot, bool is_here, rpp_state state)
{
    return !is_here && slot->captured_in[state] != t->settled + 1;
}

/* Empties all clocks of t. What belongs to the stack of this moment goes there, the rest to where it was last seen. */
static bool push_all(rb_rpp_thread *t, uint32_t depth, rb_rpp_occasion when)
{
    const rpp_clock_slot *current = rpp_thread_clocks_current(&t->clocks);
    for (size_t i = 0; i < t->clocks.in_use; i++) {
        rpp_clock_slot *slot = &t->clocks.slots[i];
        for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
            bool here = when != RB_RPP_THREAD_END && slot == current && is_of_this_moment(t, state);
            rpp_clock_part wall_only = {.wall_ns = slot->wall_ns[state]};
            bool carries = when == RB_RPP_WINDOW_END && carries_over(t, slot, here, state);
            if (carries && !wall_only.wall_ns) continue;
            if (!push_part(t, slot, state, depth, !here, carries ? &wall_only : NULL)) return false;
        }
    }
    return true;
}

bool rb_rpp_settle(rb_rpp_thread *t, bool is_current, uint64_t boundary, rb_rpp_occasion when)
{
    if (!begin()) return false;
    uint64_t began = rb_rpp_overhead_begin();
    bool was_busy = t->busy;
    t->busy = true;
    if (!rb_rpp_capturing.resting) {
        rb_rpp_thread_advance(t, boundary);
        rb_rpp_thread_read_cpu(t);
    }
    bool has_stack = t->in_ruby && when != RB_RPP_THREAD_END;
    uint32_t depth = has_stack ? walk(t, is_current) : unknown_stack();
    bool done = depth && push_all(t, depth, when);
    if (done) {
        t->settled++;
        rpp_thread_clocks_fade(&t->clocks);
    }
    t->busy = was_busy;
    end(began);
    return done;
}
