/* rb_allocs.c - captures allocations: the stacks that create objects, and their classes. */
#include "sampler/rb_allocs.h"

#include <sched.h>
#include <string.h>

#include "captures/rb_capture.h"
#include "captures/rb_heap.h"
#include "captures/rb_labels.h"
#include "captures/rb_rotation.h"
#include "core/base/clock.h"
#include "core/base/stats.h"
#include "frames/rb_frames.h"
#include "frames/rb_walk.h"
#include "sampler/rb_hooks.h"
#include "threads/rb_push.h"
#include "threads/rb_subscribers.h"
#include "vm/rb_new_object.h"

/* Long enough for hundreds of objects, and some 60 of them a second, because what follows within one is alike. */
const rpp_bursts rb_rpp_allocs_bursts = {.on_ns = 250 * RPP_NS_PER_US, .off_ns = 16 * RPP_NS_PER_MS};
#define SHARE_ON         (250.0 / 16250.0)
#define SAMPLES_A_SECOND 200.0
#define FIRST_INTERVAL   64u
#define RATE_OVER_NS     (20 * RPP_NS_PER_MS)
#define NEVER            UINT64_MAX
/* With an interval nothing may be missing, and the collector needs no GVL: so a full buffer is waited for. */
#define TRIES_FOR_ROOM   2000

static VALUE hook;
static bool is_hooked;
static uint64_t to_next_sample = NEVER; /* objects until the next one is taken */
static uint64_t sample_interval = FIRST_INTERVAL, random_state;
static rpp_location stack_of_object[RPP_MAX_DEPTH + 1];

/* --- one object --- */

/* The class, then the stack of its creation. False: try with another object. */
static bool find_stack(const rb_rpp_thread *t, VALUE object, uint32_t *depth)
{
    const rpp_location *stack;
    VALUE klass = rb_rpp_class_of_new(object);
    stack_of_object[0] = (rpp_location){RPP_FRAME_INTERNAL, 0};
    if (klass && !rb_rpp_frames_convert_class(klass, &stack_of_object[0])) return false;
    uint32_t count = rb_rpp_capture_stack(t, &stack);
    if (!count) return false;
    if (count > RPP_MAX_DEPTH) count = RPP_MAX_DEPTH; /* the root end */
    memcpy(stack_of_object + 1, stack, count * sizeof *stack);
    *depth = count + 1;
    return true;
}

static bool push(rb_rpp_subscriber subscriber, const rb_rpp_thread *t, const rpp_sample *sample, int tries)
{
    rpp_status status;
    while ((status = rb_rpp_push_counted(subscriber, t->windows[subscriber], sample, stack_of_object)) != RPP_OK &&
           --tries > 0) {
        sched_yield();
    }
    return status == RPP_OK;
}

/* False: a session found no room for it. *known: some session knows the allocation. */
static bool push_to_all(const rb_rpp_thread *t, uint32_t depth, uint64_t bytes, uint64_t allocation, bool is_sampled,
                        bool is_nth, bool *known)
{
    bool all = true;
    *known = false;
    for (rb_rpp_subscriber subscriber = 0; subscriber < rb_rpp_subscribers_end(); subscriber++) {
        const rb_rpp_alloc_settings *settings = rb_rpp_alloc_counted(subscriber);
        bool one_by_one = settings && settings->interval;
        if (!settings || (one_by_one ? !is_nth : !is_sampled)) continue;
        rpp_sample sample = {.thread_seq = t->seq, .depth = depth, .labels = t->ledger.labels};
        if (one_by_one) {
            sample.alloc_objects = rb_rpp_alloc_nth_weighs(subscriber);
            sample.alloc_space = sample.alloc_objects * bytes;
        } else {
            sample.alloc_sampled = sample_interval;
            sample.alloc_sampled_bytes = sample_interval * bytes;
        }
        if (rb_rpp_heap_is_wanted(subscriber)) sample.watched = allocation;
        bool pushed = push(subscriber, t, &sample, one_by_one ? TRIES_FOR_ROOM : 1);
        *known |= pushed && sample.watched;
        all &= pushed;
    }
    return all;
}

static bool capture(rb_rpp_thread *t, VALUE object, bool is_sampled, bool is_nth)
{
    uint64_t began;
    uint32_t depth;
    if (!rb_rpp_flush_if_late(t) || !rb_rpp_capture_begin(&began)) return false;
    t->interrupted = true; /* the VM may be half-way through a change of its stack */
    bool found = find_stack(t, object, &depth);
    t->interrupted = false;
    uint64_t allocation = found ? rb_rpp_heap_choose() : 0;
    bool known = false;
    bool taken = found && push_to_all(t, depth, rb_gc_obj_slot_size(object), allocation, is_sampled, is_nth, &known);
    if (known) rb_rpp_heap_watch(object, allocation);
    rb_rpp_capture_end(t, began);
    return taken;
}

static void take(VALUE tracepoint, bool is_sampled, bool is_nth)
{
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    bool taken = false;
    if (t && t->in_ruby && !t->ended && rb_rpp_is_sampling()) {
        bool was_busy = rb_rpp_section_begin(t);
        taken = capture(t, rb_tracearg_object(rb_tracearg_from_tracepoint(tracepoint)), is_sampled, is_nth);
        rb_rpp_section_end(t, was_busy);
    }
    rpp_stats_add(taken ? RPP_STAT_allocations_captured : RPP_STAT_allocations_missed, 1);
}

static uint64_t objects_to_next_sample(void)
{
    return 1 + rpp_random_next(&random_state) % (2 * sample_interval - 1);
}

/* In the allocator. */
static void on_new_object(VALUE tracepoint, void *unused)
{
    bool is_sampled = !--to_next_sample, is_nth = !--rb_rpp_alloc_pace.left;
    if (!is_sampled && !is_nth) return;
    take(tracepoint, is_sampled, is_nth);
    if (is_sampled) to_next_sample = objects_to_next_sample();
    if (is_nth) rb_rpp_alloc_pace_begin(rb_rpp_alloc_pace.nth);
}

/* --- on and off --- */

/* So many that some hundred are sampled in a second, by the rate of a moment ago: samples choose nothing. */
static void adapt_interval(void)
{
    static uint64_t then_ns, then;
    uint64_t now_ns = rpp_monotonic_ns(), passed_ns = now_ns - then_ns;
    if (passed_ns < RATE_OVER_NS) return;
    uint64_t now = rb_rpp_alloc_counter();
    if (then) {
        double seen_a_second = (double)(now - then) * 1e9 / (double)passed_ns * SHARE_ON;
        sample_interval = 1 + (uint64_t)(seen_a_second / SAMPLES_A_SECOND);
    }
    then = now;
    then_ns = now_ns;
}

static bool is_burst(void)
{
    bool any = false;
    for (rb_rpp_subscriber subscriber = 0; subscriber < rb_rpp_subscribers_end(); subscriber++) {
        rpp_pipeline *pipeline = rb_rpp_subscriber_pipeline(subscriber);
        any |= pipeline && rb_rpp_alloc_counted(subscriber) && rpp_pipeline_watches(pipeline);
    }
    return any;
}

static void note_watching(bool on)
{
    for (rb_rpp_subscriber subscriber = 0; subscriber < rb_rpp_subscribers_end(); subscriber++) {
        if (rb_rpp_subscriber_pipeline(subscriber))
            rpp_pipeline_note_watching(rb_rpp_subscriber_pipeline(subscriber), on);
    }
}

/* 0: no session wants each n-th. */
static uint32_t shortest_interval(void)
{
    uint32_t shortest = 0;
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++) {
        const rb_rpp_alloc_settings *settings = rb_rpp_alloc_counted(subscriber);
        uint32_t interval = settings ? settings->interval : 0;
        if (interval && (!shortest || interval < shortest)) shortest = interval;
    }
    return shortest;
}

static void set_sampling(bool on)
{
    if (on == (to_next_sample < NEVER / 2)) return;
    if (on) adapt_interval();
    to_next_sample = on ? objects_to_next_sample() : NEVER;
}

static void set_nth(uint32_t interval)
{
    if (interval != rb_rpp_alloc_pace.nth) rb_rpp_alloc_pace_begin(interval);
}

static bool other_ractors(void)
{
    return rpp_stats_get(RPP_STAT_ractor_threads_ignored) > 0;
}

void rb_rpp_allocs_follow(void)
{
    bool sampling = is_burst();
    uint32_t interval = shortest_interval();
    set_sampling(sampling);
    set_nth(interval);
    if (other_ractors()) rb_rpp_heap_give_up();
    bool hooked = (sampling || interval) && !other_ractors();
    if (hooked != is_hooked) {
        is_hooked = hooked;
        if (hooked) rb_tracepoint_enable(hook);
        if (!hooked) rb_tracepoint_disable(hook);
        rpp_stats_add(RPP_STAT_allocation_bursts, hooked);
    }
    note_watching(sampling);
}

/* --- sessions --- */

/* One of the subscribers that sample has the bursts. */
static void choose_who_watches(void)
{
    bool chosen = false;
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++) {
        const rb_rpp_alloc_settings *settings = rb_rpp_alloc_counted(subscriber);
        bool watches = settings && !settings->interval && !chosen;
        if (rb_rpp_subscriber_pipeline(subscriber))
            rpp_pipeline_set_bursts(rb_rpp_subscriber_pipeline(subscriber), watches);
        chosen |= watches;
    }
}

void rb_rpp_allocs_attach(rb_rpp_subscriber subscriber, const rb_rpp_alloc_settings *settings)
{
    rb_rpp_alloc_counts_attach(subscriber, settings);
    if (settings->watched_max) rb_rpp_heap_attach(subscriber, settings->watched_max);
}

void rb_rpp_allocs_detach(rb_rpp_subscriber subscriber)
{
    rb_rpp_heap_detach(subscriber);
}

void rb_rpp_allocs_resume(rb_rpp_subscriber subscriber)
{
    if (!rb_rpp_alloc_counts_begin(subscriber)) return;
    choose_who_watches();
    rb_rpp_allocs_follow();
    rb_rpp_alloc_leave_behind(subscriber);
}

void rb_rpp_allocs_pause(rb_rpp_subscriber subscriber)
{
    if (!rb_rpp_alloc_counts_end(subscriber)) return;
    choose_who_watches();
    rb_rpp_allocs_follow();
}

/* --- life --- */

void rb_rpp_allocs_discard_after_fork(void)
{
    rb_rpp_alloc_counts_discard_after_fork();
    rb_rpp_heap_discard();
    to_next_sample = NEVER;
    rb_rpp_alloc_pace_begin(0);
}

void rb_rpp_allocs_init(void)
{
    random_state = rpp_random_seed();
    rb_rpp_alloc_counts_init();
    rb_rpp_heap_init();
    hook = rb_tracepoint_new(Qnil, RUBY_INTERNAL_EVENT_NEWOBJ, on_new_object, NULL);
    rb_gc_register_mark_object(hook);
}
