/* rb_sampler.c - when a stack is captured, and how much time it is given. */
#include "rb_sampler.h"

#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"
#include "core/stats.h"
#include "rb_frames.h"
#include "rb_labels.h"
#include "rb_threads.h"
#include "rb_timers.h"

/* What a job may take of the application's time at once. */
#define JOB_BUDGET_NS (400 * RPP_NS_PER_US)
/* A thread that has run this many periods without a capture holds the GVL without burning CPU, or its timer is late. */
#define OVERDUE_PERIODS 4u
/* Leftover running time up to this share of a window waits for the next tick instead of going to where the thread waits. */
#define CARRY_SHARE 200u

static rb_postponed_job_handle_t job_handle;
static rb_rpp_sampler_options options;
static rpp_pipeline *pipeline;
static uint64_t unread_limit_ns; /* wall time after which a CPU clock is read at the next change of state */
static bool by_signal;

static _Atomic bool sampling;
static _Atomic(rb_rpp_thread *) running; /* the one that holds the GVL */
static _Atomic bool ran;                 /* some thread ran since the collector last looked */
static _Atomic(void (*)(void)) restart_in_child;
static _Atomic(void (*)(void)) requested;

/* GC: one at a time, on the thread that holds the GVL. */
static rb_rpp_thread *in_gc;
static rpp_state gc_state = RPP_STATE_GC_MARKING;

/* The stack being captured. `capturing` keeps a handler out that interrupts a capture. */
static volatile bool capturing;
static VALUE frames[RPP_MAX_DEPTH + 1];
static int lines[RPP_MAX_DEPTH + 1];
static rpp_location locations[RPP_MAX_DEPTH + 1];

/* --- one capture --- */

static uint32_t unknown_stack(void)
{
    locations[0] = (rpp_location){RPP_FRAME_UNKNOWN, 0};
    return 1;
}

/* The stack of t into `locations`; 0: try later. */
static uint32_t walk(const rb_rpp_thread *t, bool is_current)
{
    int *into = options.lines ? lines : NULL;
    int depth = is_current ? rb_profile_frames(0, RPP_MAX_DEPTH + 1, frames, into)
                           : rb_profile_thread_frames(t->thread, 0, RPP_MAX_DEPTH + 1, frames, into);
    if (depth <= 0) return unknown_stack();
    bool truncated = depth > RPP_MAX_DEPTH;
    if (truncated) depth = RPP_MAX_DEPTH;
    if (!rb_rpp_frames_convert(frames, into, depth, locations)) return 0;
    if (truncated) {
        locations[depth++] = (rpp_location){RPP_FRAME_TRUNCATED, 0};
        rpp_stats_add(RPP_STAT_samples_truncated, 1);
    }
    return (uint32_t)depth;
}

static bool push(rb_rpp_thread *t, rpp_clock_slot *slot, rpp_state state, uint32_t depth, bool remainder)
{
    rpp_sample sample = {.thread_seq = t->seq, .window = t->window, .depth = depth, .remainder = remainder,
                         .consumers = RPP_CONSUMER_CONTINUOUS};
    if (!rpp_clock_slot_take(slot, state, &sample)) return true;
    rpp_status status = rpp_sample_buffer_push(rpp_pipeline_buffer(pipeline), &sample, locations);
    if (status == RPP_OK) {
        if (state == RPP_STATE_RUNNING && !remainder) slot->captured_in = t->window + 1;
        return true;
    }
    rpp_clock_slot_untake(slot, &sample);
    rpp_stats_add(status == RPP_BUSY ? RPP_STAT_samples_deferred_busy : RPP_STAT_samples_deferred_full, 1);
    return false;
}

static bool begin_capture(void)
{
    if (!capturing) return capturing = true;
    rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
    return false;
}

static void end_capture(uint64_t began_ns)
{
    rpp_sample_buffer *buffer = rpp_pipeline_buffer(pipeline);
    uint32_t unnamed = rb_rpp_frames_unnamed();
    if (unnamed) rpp_pipeline_set_unnamed(pipeline, unnamed);
    if (rpp_sample_buffer_is_filling(buffer)) rpp_pipeline_wake(pipeline);
    rpp_stats_add(RPP_STAT_samples_captured, 1);
    rpp_stats_add(RPP_STAT_overhead_ns, rpp_monotonic_ns() - began_ns);
    capturing = false;
}

/* Captures the calling thread's stack once and gives it the current slot's clocks of these states. */
static void take_sample(rb_rpp_thread *t, const rpp_state *states, size_t count, uint64_t now)
{
    if (!begin_capture()) return;
    uint32_t depth = walk(t, true);
    for (size_t i = 0; i < count && depth; i++) push(t, rpp_thread_clocks_current(&t->clocks), states[i], depth, false);
    if (!depth) rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
    end_capture(now);
}

static void read_cpu(rb_rpp_thread *t)
{
    if (t->has_cpu_clock) rpp_thread_clocks_read(&t->clocks, rb_rpp_thread_cpu_ns(t));
}

static bool has_gathered(rb_rpp_thread *t, rpp_state state)
{
    const rpp_clock_slot *slot = rpp_thread_clocks_current(&t->clocks);
    return slot->wall_ns[state] >= options.period_ns || slot->cpu_ns[state] >= options.period_ns;
}

/* --- the end of a window, for one thread --- */

/* Gives a blocked thread the time up to `now`: blocked until it asked for the GVL, waiting since. */
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

static void advance(rb_rpp_thread *t, uint64_t now)
{
    if (t->phase == RB_RPP_RUNNING) {
        rpp_thread_clocks_advance(&t->clocks, in_gc == t ? gc_state : RPP_STATE_RUNNING, now);
    } else {
        advance_off_gvl(t, now);
    }
}

/* How far a thread's clocks are emptied. */
typedef enum occasion { WINDOW_END, LAST_WINDOW_END, THREAD_END } occasion;

/* A little running time of a thread that waits now was not spent where it waits: better a tick finds its method. */
static bool carries_over(const rb_rpp_thread *t, const rpp_clock_slot *slot, rpp_state state)
{
    return state == RPP_STATE_RUNNING && t->phase != RB_RPP_RUNNING && slot->captured_in != t->window + 1 &&
           slot->wall_ns[state] < options.window_ns / CARRY_SHARE;
}

/* Empties all clocks of t. What belongs to the stack of this moment goes there, the rest to where it was last seen. */
static bool push_all(rb_rpp_thread *t, uint32_t depth, occasion when)
{
    const rpp_clock_slot *current = rpp_thread_clocks_current(&t->clocks);
    for (size_t i = 0; i < RPP_LABEL_SLOTS; i++) {
        rpp_clock_slot *slot = &t->clocks.slots[i];
        for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
            bool off_gvl = state == RPP_STATE_BLOCKED || state == RPP_STATE_WAITING;
            bool here = when != THREAD_END && slot == current && off_gvl == (t->phase == RB_RPP_BLOCKED);
            if (when == WINDOW_END && carries_over(t, slot, state)) continue;
            if (!push(t, slot, state, depth, !here)) return false;
        }
    }
    return true;
}

/* Closes t's clocks at the boundary of the window that ends. False: no room, or busy; again later. */
static bool settle(rb_rpp_thread *t, bool is_current, uint64_t boundary, occasion when)
{
    if (!begin_capture()) return false;
    uint64_t began = rpp_monotonic_ns();
    t->busy = true;
    advance(t, boundary);
    read_cpu(t);
    uint32_t depth = t->ended || !t->in_ruby ? unknown_stack() : walk(t, is_current);
    bool done = depth && push_all(t, depth, when);
    if (done) t->window = rpp_pipeline_window(pipeline);
    t->busy = false;
    end_capture(began);
    return done;
}

/* Events of a thread that a rotation has not come to yet: its time so far belongs to the window that ended. */
static void settle_if_late(rb_rpp_thread *t)
{
    if (t->window != rpp_pipeline_window(pipeline)) settle(t, true, rpp_pipeline_boundary_ns(pipeline), WINDOW_END);
}

static bool rotate(uint64_t budget_ns, occasion when)
{
    if (!rpp_pipeline_is_rotating(pipeline)) {
        if (rpp_pipeline_begin_rotation(pipeline, rpp_monotonic_ns()) != RPP_OK) return false;
        rb_rpp_frames_next_window();
    }
    uint64_t began = rpp_monotonic_ns(), boundary = rpp_pipeline_boundary_ns(pipeline);
    uint32_t window = rpp_pipeline_window(pipeline);
    const rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->window == window || t->ended) continue;
        if (!settle(t, t == current, boundary, when)) {
            rpp_pipeline_wake(pipeline);
            return false;
        }
        if (rpp_monotonic_ns() - began > budget_ns) return false;
    }
    rpp_pipeline_end_rotation(pipeline);
    return true;
}

/* --- hooks --- */

static void on_started(VALUE thread, uint64_t now)
{
    rb_rpp_thread *t = rb_rpp_thread_register(thread, now);
    if (!t) return;
    t->window = rpp_pipeline_window(pipeline);
    atomic_store(&t->ready_ns, now); /* born ready */
}

static void on_resumed(rb_rpp_thread *t, uint64_t now)
{
    static const rpp_state off_gvl[] = {RPP_STATE_BLOCKED, RPP_STATE_WAITING};
    t->busy = true;
    if (!t->has_cpu_clock) rb_rpp_thread_adopt_self(t);
    if (t->in_ruby) settle_if_late(t);
    advance_off_gvl(t, now);
    if (t->clocks.unread_ns[RPP_STATE_BLOCKED] > unread_limit_ns) read_cpu(t);
    if (t->in_ruby && (has_gathered(t, RPP_STATE_BLOCKED) || has_gathered(t, RPP_STATE_WAITING))) {
        read_cpu(t);
        take_sample(t, off_gvl, 2, now);
    }
    atomic_store_explicit(&t->ready_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&t->captured_ns, now, memory_order_relaxed);
    t->phase = RB_RPP_RUNNING;
    t->busy = false;
    if (t->in_ruby) {
        atomic_store_explicit(&running, t, memory_order_relaxed);
        atomic_store_explicit(&ran, true, memory_order_relaxed);
        rpp_pipeline_stir(pipeline);
    }
}

static void on_suspended(rb_rpp_thread *t, uint64_t now)
{
    t->busy = true;
    if (t->phase == RB_RPP_RUNNING) {
        if (t->in_ruby) settle_if_late(t);
        rpp_thread_clocks_advance(&t->clocks, RPP_STATE_RUNNING, now);
        if (rpp_thread_clocks_unread_ns(&t->clocks) > unread_limit_ns) read_cpu(t);
        t->phase = RB_RPP_BLOCKED;
        rb_rpp_thread *self = t;
        atomic_compare_exchange_strong_explicit(&running, &self, NULL, memory_order_relaxed, memory_order_relaxed);
    }
    t->busy = false;
}

static void on_thread_event(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    bool on = atomic_load_explicit(&sampling, memory_order_acquire);
    if (!on && event != RUBY_INTERNAL_THREAD_EVENT_EXITED) return;
    if (event == RUBY_INTERNAL_THREAD_EVENT_STARTED) {
        on_started(data->thread, rpp_monotonic_ns());
        return;
    }
    rb_rpp_thread *t = rb_rpp_thread_of(data->thread);
    if (!t) return;
    switch (event) {
        case RUBY_INTERNAL_THREAD_EVENT_READY: {
            /* Concurrent with anything; the first one counts. */
            uint64_t none = 0;
            atomic_compare_exchange_strong_explicit(&t->ready_ns, &none, rpp_monotonic_ns(), memory_order_relaxed,
                                                    memory_order_relaxed);
            break;
        }
        case RUBY_INTERNAL_THREAD_EVENT_RESUMED:
            if (!t->ended) on_resumed(t, rpp_monotonic_ns());
            break;
        case RUBY_INTERNAL_THREAD_EVENT_SUSPENDED:
            if (!t->ended) on_suspended(t, rpp_monotonic_ns());
            break;
        case RUBY_INTERNAL_THREAD_EVENT_EXITED:
            if (on && !t->ended) rpp_stats_add(RPP_STAT_ractor_threads_ignored, 1);
            t->ended = true;
            atomic_store(&t->exited, true);
            break;
    }
}

/* The labels of the fiber that runs now. Time gathered under labels that must make room is pushed first. */
void rb_rpp_sampler_labels_changed(rpp_label_set *labels)
{
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || !t->in_ruby || t->ended || !atomic_load(&sampling)) return;
    rpp_label_set *before = rpp_thread_clocks_current(&t->clocks)->labels;
    if (before == labels) return;
    t->busy = true;
    uint64_t now = rpp_monotonic_ns();
    settle_if_late(t);
    advance(t, now);
    if (rpp_thread_clocks_unread_ns(&t->clocks) > unread_limit_ns) read_cpu(t);
    rpp_clock_slot *in_the_way = rpp_thread_clocks_slot_in_the_way(&t->clocks, labels);
    bool room = true;
    if (in_the_way && begin_capture()) {
        uint32_t depth = walk(t, true);
        for (rpp_state state = 0; state < RPP_STATE_COUNT && room; state++) {
            room = depth && push(t, in_the_way, state, depth, true);
        }
        end_capture(now);
    }
    if (!room) rpp_stats_add(RPP_STAT_time_lost_ns, in_the_way->wall_ns[RPP_STATE_RUNNING]);
    rpp_thread_clocks_switch_labels(&t->clocks, labels);
    t->busy = false;
}

static void on_thread_end(rb_rpp_thread *t)
{
    rb_rpp_timer_stop(t);
    t->busy = true;
    uint64_t now = rpp_monotonic_ns();
    settle_if_late(t);
    advance(t, now);
    read_cpu(t);
    t->in_ruby = false;
    if (begin_capture()) {
        if (!push_all(t, unknown_stack(), THREAD_END)) {
            for (size_t i = 0; i < RPP_LABEL_SLOTS; i++) {
                rpp_stats_add(RPP_STAT_time_lost_ns, t->clocks.slots[i].wall_ns[RPP_STATE_RUNNING]);
            }
        }
        end_capture(now);
    }
    t->ended = true;
    t->busy = false;
    atomic_store(&running, NULL);
}

static void on_ruby_event(rb_event_flag_t event, VALUE unused, VALUE self, ID mid, VALUE klass)
{
    if (!atomic_load_explicit(&sampling, memory_order_acquire)) return;
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || t->ended) return;
    if (event == RUBY_EVENT_THREAD_BEGIN) {
        t->in_ruby = true;
        atomic_store_explicit(&running, t, memory_order_relaxed);
        rb_rpp_timer_start(t);
        rb_rpp_sampler_labels_changed(rb_rpp_labels_current());
    } else if (event == RUBY_EVENT_THREAD_END) {
        if (t->in_ruby) on_thread_end(t);
    } else {
        rb_rpp_sampler_labels_changed(rb_rpp_labels_current());
    }
}

/* GC time is taken out of the running clock, split where marking ends, and belongs to the stack that triggered it. */
static void on_gc_event(VALUE tracepoint, void *unused)
{
    if (!atomic_load_explicit(&sampling, memory_order_acquire)) return;
    rb_event_flag_t event = rb_tracearg_event_flag(rb_tracearg_from_tracepoint(tracepoint));
    rb_rpp_thread *t = in_gc ? in_gc : rb_rpp_thread_of(rb_thread_current());
    if (!t || !t->in_ruby || t->ended) return;
    uint64_t now = rpp_monotonic_ns();
    t->busy = true;
    advance(t, now);
    switch (event) {
        case RUBY_INTERNAL_EVENT_GC_ENTER:
            in_gc = t;
            break;
        case RUBY_INTERNAL_EVENT_GC_START:
            gc_state = RPP_STATE_GC_MARKING;
            break;
        case RUBY_INTERNAL_EVENT_GC_END_MARK:
            gc_state = RPP_STATE_GC_SWEEPING;
            break;
        case RUBY_INTERNAL_EVENT_GC_END_SWEEP:
            gc_state = RPP_STATE_GC_MARKING; /* whatever comes next begins with marking */
            break;
        case RUBY_INTERNAL_EVENT_GC_EXIT:
            in_gc = NULL;
            if (has_gathered(t, RPP_STATE_GC_MARKING) || has_gathered(t, RPP_STATE_GC_SWEEPING)) {
                static const rpp_state gc_states[] = {RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING};
                read_cpu(t);
                take_sample(t, gc_states, 2, now);
            }
            break;
    }
    t->busy = false;
}

static void install_hooks_once(void)
{
    static bool installed;
    if (installed) return;
    installed = true;
    rb_internal_thread_add_event_hook(on_thread_event,
                                      RUBY_INTERNAL_THREAD_EVENT_STARTED | RUBY_INTERNAL_THREAD_EVENT_READY |
                                          RUBY_INTERNAL_THREAD_EVENT_RESUMED | RUBY_INTERNAL_THREAD_EVENT_SUSPENDED |
                                          RUBY_INTERNAL_THREAD_EVENT_EXITED,
                                      NULL);
    rb_add_event_hook(on_ruby_event,
                      RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END | RUBY_EVENT_FIBER_SWITCH, Qnil);
    VALUE gc = rb_tracepoint_new(Qnil,
                                 RUBY_INTERNAL_EVENT_GC_ENTER | RUBY_INTERNAL_EVENT_GC_EXIT |
                                     RUBY_INTERNAL_EVENT_GC_START | RUBY_INTERNAL_EVENT_GC_END_MARK |
                                     RUBY_INTERNAL_EVENT_GC_END_SWEEP,
                                 on_gc_event, NULL);
    rb_gc_register_mark_object(gc);
    rb_tracepoint_enable(gc);
}

/* --- ticks --- */

/* The calling thread is due: in the signal handler, or in a job. */
static void capture_running(rb_rpp_thread *t)
{
    static const rpp_state states[] = {RPP_STATE_RUNNING};
    uint64_t now = rpp_monotonic_ns();
    t->busy = true;
    settle_if_late(t);
    advance(t, now);
    read_cpu(t);
    take_sample(t, states, 1, now);
    atomic_store_explicit(&t->captured_ns, now, memory_order_relaxed);
    t->busy = false;
}

/* In the signal handler. Whatever forbids a capture now leaves the time on the clock for the next one. */
static void on_timer(rb_rpp_thread *t)
{
    if (!atomic_load_explicit(&sampling, memory_order_acquire)) return;
    if (!t->in_ruby || t->phase != RB_RPP_RUNNING || t->busy || in_gc || capturing) {
        rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
        return;
    }
    capture_running(t);
}

static void job(void *unused)
{
    void (*restart)(void) = atomic_exchange(&restart_in_child, NULL);
    if (restart) restart();
    void (*request)(void) = atomic_exchange(&requested, NULL);
    if (request) request();
    if (!atomic_load_explicit(&sampling, memory_order_acquire)) return;

    uint64_t began = rpp_monotonic_ns();
    unsigned work = rpp_pipeline_work(pipeline);
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (t && t->in_ruby && !t->ended && (work & RPP_WORK_TICK)) capture_running(t);
    if (work & RPP_WORK_ROTATE) rotate(JOB_BUDGET_NS, WINDOW_END);
    if (work & RPP_WORK_NAMES) {
        rb_rpp_frames_name(JOB_BUDGET_NS);
        if (pipeline) rpp_pipeline_set_unnamed(pipeline, rb_rpp_frames_unnamed());
    }
    rpp_stats_add(RPP_STAT_overhead_ns, rpp_monotonic_ns() - began);
}

/* --- seams of the pipeline: the collector calls these --- */

static void ask(void *unused)
{
    if (atomic_load_explicit(&sampling, memory_order_acquire)) rb_postponed_job_trigger(job_handle);
}

static unsigned activity(void *unused)
{
    rb_rpp_thread *t = atomic_load_explicit(&running, memory_order_relaxed);
    unsigned bits = atomic_exchange_explicit(&ran, false, memory_order_relaxed) || t ? RPP_ACTIVITY_RAN : 0;
    if (!t) return bits;
    uint64_t patience = t->has_timer ? options.period_ns * OVERDUE_PERIODS : 0;
    uint64_t since = atomic_load_explicit(&t->captured_ns, memory_order_relaxed), now = rpp_monotonic_ns();
    return now > since && now - since > patience ? bits | RPP_ACTIVITY_OVERDUE : bits;
}

const rpp_pipeline_seams rb_rpp_sampler_seams = {.ask = ask, .activity = activity};

/* --- life --- */

void rb_rpp_sampler_init(void)
{
    job_handle = rb_postponed_job_preregister(0, job, NULL);
    rb_rpp_threads_init();
}

void rb_rpp_sampler_start(const rb_rpp_sampler_options *wanted, rpp_pipeline *into)
{
    uint64_t now = rpp_monotonic_ns();
    options = *wanted;
    pipeline = into;
    unread_limit_ns = options.period_ns / 100;
    if (unread_limit_ns < 100 * RPP_NS_PER_US) unread_limit_ns = 100 * RPP_NS_PER_US;
    if (unread_limit_ns > RPP_NS_PER_MS) unread_limit_ns = RPP_NS_PER_MS;
    rb_rpp_timers_set_period(options.period_ns);
    by_signal = rb_rpp_timers_start(options.engine, on_timer);
    install_hooks_once();
    rb_rpp_threads_register_all(now);
    rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        /* Known from an earlier run: whatever its clocks hold is of that time. */
        rpp_thread_clocks_reset(&t->clocks, now, rb_rpp_thread_cpu_ns(t));
        t->phase = t == current ? RB_RPP_RUNNING : RB_RPP_BLOCKED;
        t->window = rpp_pipeline_window(pipeline);
        atomic_store(&t->ready_ns, 0);
        atomic_store(&t->captured_ns, now);
        if (t->in_ruby && !t->ended) rb_rpp_timer_start(t);
    }
    in_gc = NULL;
    atomic_store(&running, current);
    atomic_store(&ran, true);
    atomic_store_explicit(&sampling, true, memory_order_release);
    rb_rpp_sampler_labels_changed(rb_rpp_labels_current());
}

void rb_rpp_sampler_stop(void)
{
    atomic_store(&sampling, false);
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) rb_rpp_timer_stop(t);
    rb_rpp_timers_stop();
    atomic_store(&running, NULL);
    pipeline = NULL;
}

bool rb_rpp_sampler_is_running(void)
{
    return atomic_load_explicit(&sampling, memory_order_relaxed);
}

bool rb_rpp_sampler_settle(void)
{
    if (!rotate(UINT64_MAX, LAST_WINDOW_END)) return false;
    rb_rpp_frames_name(UINT64_MAX);
    rpp_pipeline_set_unnamed(pipeline, rb_rpp_frames_unnamed());
    rpp_pipeline_wake(pipeline);
    return true;
}

const char *rb_rpp_sampler_engine(void)
{
    return by_signal ? "signal" : "safepoint";
}

void rb_rpp_sampler_forget_after_fork(void (*restart)(void))
{
    atomic_store(&sampling, false);
    atomic_store(&running, NULL);
    capturing = false;
    in_gc = NULL;
    pipeline = NULL;
    rb_rpp_timers_forget_after_fork();
    atomic_store(&restart_in_child, restart);
    rb_postponed_job_trigger(job_handle);
}

void rb_rpp_sampler_request(void (*drain)(void))
{
    atomic_store(&requested, drain);
    rb_postponed_job_trigger(job_handle);
}
