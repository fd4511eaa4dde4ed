/* rb_hooks.c - what the VM tells us: threads, fibers and the GC, from which the clocks follow. */
#include "rb_hooks.h"

#include <stdatomic.h>

#include "core/clock.h"
#include "core/stats.h"
#include "rb_labels.h"
#include "rb_lull.h"
#include "rb_rotation.h"
#include "rb_timers.h"

#define HOOKS_PER_MEASURE 61u
#define HOOK_MAX_NS       (4 * RPP_NS_PER_US)
#define READING_NS        (1 * RPP_NS_PER_US) /* what a CPU clock takes to read, about: it is a system call */
#define READINGS_SHARE    4 /* one part in so many of the budget may go to reading CPU clocks at changes of state */

static _Atomic bool sampling;
static _Atomic(rb_rpp_thread *) running; /* the one that holds the GVL */
static _Atomic bool ran;                 /* some thread ran since a collector last asked */
static uint64_t measuring_ns;            /* what it takes to measure a hook */

/* When a CPU clock is worth reading at a change of state. */
static struct {
    uint64_t unread_ns;   /* for the thread: that much wall time since it was read */
    uint64_t distance_ns; /* for all of them: that much since any was */
    _Atomic uint64_t last_ns;
} reading;

bool rb_rpp_is_sampling(void)
{
    return atomic_load_explicit(&sampling, memory_order_acquire);
}

/* Seen by hooks or not, time goes into the profile. */
static bool is_profiling(void)
{
    return rb_rpp_is_sampling() || rb_rpp_is_lull();
}

rb_rpp_thread *rb_rpp_running_thread(bool *any_ran)
{
    rb_rpp_thread *t = atomic_load_explicit(&running, memory_order_relaxed);
    if (any_ran) *any_ran = atomic_exchange_explicit(&ran, false, memory_order_relaxed) || t;
    return t;
}

/* A hundredth of the period, from 100 us to 1 ms. */
void rb_rpp_hooks_set_pace(uint64_t period_ns, double overhead_limit)
{
    reading.unread_ns = period_ns / 100;
    if (reading.unread_ns < 100 * RPP_NS_PER_US) reading.unread_ns = 100 * RPP_NS_PER_US;
    if (reading.unread_ns > RPP_NS_PER_MS) reading.unread_ns = RPP_NS_PER_MS;
    reading.distance_ns = (uint64_t)((double)(READING_NS * READINGS_SHARE) / overhead_limit);
}

/* Time that is not read yet is shared out among the states in between, so nothing is lost by waiting. */
static void read_cpu_if_worth_it(rb_rpp_thread *t, uint64_t unread_ns, uint64_t now)
{
    if (unread_ns <= reading.unread_ns) return;
    if (now < atomic_load_explicit(&reading.last_ns, memory_order_relaxed) + reading.distance_ns) return;
    atomic_store_explicit(&reading.last_ns, now, memory_order_relaxed);
    rb_rpp_thread_read_cpu(t);
}

/* Runs on the creator: of a thread of the main Ractor, or of another one's first. */
static void on_started(VALUE thread, uint64_t now)
{
    rb_rpp_thread *creator = rb_rpp_thread_of(rb_thread_current());
    if (!creator || !creator->in_ruby) {
        rpp_stats_add(RPP_STAT_ractor_threads_ignored, 1);
        return;
    }
    rb_rpp_thread *t = rb_rpp_thread_register(thread, now);
    if (!t) return;
    rpp_thread_clocks_switch_labels(&t->clocks, rpp_thread_clocks_current(&creator->clocks)->labels);
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) rb_rpp_join_window(t, outlet);
    atomic_store(&t->ready_ns, now); /* born ready */
}

static void stir(void)
{
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        if (rb_rpp_outlet_is_on(outlet)) rpp_pipeline_stir(rb_rpp_outlet_pipeline(outlet));
    }
}

/* It was not heard to ask for the GVL, so it did while nobody listened, and has waited since. */
static void find_unheard_wait(rb_rpp_thread *t)
{
    uint64_t none = 0, until = t->unheard_until_ns;
    if (!until) return;
    atomic_compare_exchange_strong_explicit(&t->ready_ns, &none, until, memory_order_relaxed, memory_order_relaxed);
    t->unheard_until_ns = 0;
}

static void on_resumed(rb_rpp_thread *t, uint64_t now)
{
    static const rpp_state off_gvl[] = {RPP_STATE_BLOCKED, RPP_STATE_WAITING};
    t->busy = true;
    rb_rpp_thread_find_clock(t);
    if (t->in_ruby) rb_rpp_settle_if_late(t);
    rpp_thread_clocks_begin_event(&t->clocks, off_gvl);
    find_unheard_wait(t);
    rb_rpp_thread_advance(t, now);
    read_cpu_if_worth_it(t, rpp_thread_clocks_current(&t->clocks)->unread_ns[RPP_STATE_BLOCKED], now);
    if (t->in_ruby) rb_rpp_capture_event(t, off_gvl);
    atomic_store_explicit(&t->ready_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&t->resumed_ns, now, memory_order_relaxed);
    t->phase = RB_RPP_RUNNING;
    rb_rpp_timer_catch_up(t);
    t->busy = false;
    if (t->in_ruby) {
        atomic_store_explicit(&running, t, memory_order_relaxed);
        atomic_store_explicit(&ran, true, memory_order_relaxed);
        stir();
    }
}

static void on_suspended(rb_rpp_thread *t, uint64_t now)
{
    if (!t->in_ruby) { /* it has run, and there was no THREAD_BEGIN */
        rb_rpp_thread_ignore(t);
        return;
    }
    t->busy = true;
    t->unheard_until_ns = 0;
    uint64_t unseen_ns = t->phase == RB_RPP_BLOCKED ? rb_rpp_thread_find_unseen_run(t) : 0;
    if (unseen_ns) {
        rb_rpp_thread_advance(t, now - unseen_ns);
        atomic_store_explicit(&t->ready_ns, 0, memory_order_relaxed);
        t->phase = RB_RPP_RUNNING;
    }
    if (t->phase == RB_RPP_RUNNING) {
        if (t->in_ruby) rb_rpp_settle_if_late(t);
        rpp_thread_clocks_advance(&t->clocks, RPP_STATE_RUNNING, now);
        if (rb_rpp_threads_share_native_ones()) {
            rb_rpp_thread_read_cpu(t);
        } else {
            read_cpu_if_worth_it(t, rpp_thread_clocks_unread_ns(&t->clocks), now);
        }
        rb_rpp_thread_leave_clock(t);
        t->phase = RB_RPP_BLOCKED;
        rb_rpp_thread *self = t;
        atomic_compare_exchange_strong_explicit(&running, &self, NULL, memory_order_relaxed, memory_order_relaxed);
    }
    t->busy = false;
}

/* Hooks are too short to time each: one in many stands for all. 0: not this one. A count that two threads make at once is no
 * loss. */
static uint64_t measure_begin(void)
{
    _Static_assert(HOOKS_PER_MEASURE % 2 && HOOKS_PER_MEASURE % 3,
                   "hooks come in twos and threes: all kinds are to be measured");
    static _Atomic unsigned calls;
    unsigned call = atomic_load_explicit(&calls, memory_order_relaxed) + 1;
    atomic_store_explicit(&calls, call, memory_order_relaxed);
    return call % HOOKS_PER_MEASURE ? 0 : rpp_monotonic_ns();
}

static void measure_end(uint64_t began)
{
    if (!began) return;
    uint64_t took = rpp_monotonic_ns() - began;
    took -= took < measuring_ns ? took : measuring_ns;
    uint64_t all = HOOKS_PER_MEASURE * (took < HOOK_MAX_NS ? took : HOOK_MAX_NS);
    rpp_stats_add(RPP_STAT_overhead_ns, all);
    rpp_stats_add(RPP_STAT_overhead_hooks_ns, all);
}

/* A lull ends in a job, which takes a thread that runs; the collector may have given up on that. */
static void call_for_end_of_lull(void)
{
    atomic_store_explicit(&ran, true, memory_order_relaxed);
    stir();
}

/* While nothing is sampled, only births and deaths are followed. */
static void on_thread_event(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    bool on = rb_rpp_is_sampling();
    bool life = event == RUBY_INTERNAL_THREAD_EVENT_STARTED || event == RUBY_INTERNAL_THREAD_EVENT_EXITED;
    if (!on && !life) {
        bool lull_is_over = rb_rpp_is_lull() && !rb_rpp_lull_is_wanted();
        if (lull_is_over && event == RUBY_INTERNAL_THREAD_EVENT_RESUMED) call_for_end_of_lull();
        return;
    }
    if (event == RUBY_INTERNAL_THREAD_EVENT_STARTED) {
        on_started(data->thread, rpp_monotonic_ns());
        return;
    }
    uint64_t began = life ? 0 : measure_begin();
    rb_rpp_thread *t = rb_rpp_thread_of(data->thread);
    if (!t) return;
    switch (event) {
    case RUBY_INTERNAL_THREAD_EVENT_READY: {
        /* Concurrent with anything; the first one counts. */
        uint64_t none = 0, now = rpp_monotonic_ns();
        atomic_compare_exchange_strong_explicit(&t->ready_ns, &none, now, memory_order_relaxed, memory_order_relaxed);
        break;
    }
    case RUBY_INTERNAL_THREAD_EVENT_RESUMED:
        if (!t->ended) on_resumed(t, rpp_monotonic_ns());
        break;
    case RUBY_INTERNAL_THREAD_EVENT_SUSPENDED:
        if (!t->ended) on_suspended(t, rpp_monotonic_ns());
        break;
    case RUBY_INTERNAL_THREAD_EVENT_EXITED:
        if (!t->ended) { /* there was no THREAD_END */
            rb_rpp_timer_stop(t);
            rb_rpp_thread_ignore(t);
        }
        atomic_store(&t->exited, true);
        break;
    }
    measure_end(began);
}

static void advance_to_change_of_labels(rb_rpp_thread *t, uint64_t now)
{
    if (rb_rpp_is_lull()) {
        rb_rpp_lull_pass(t, now);
    } else {
        rb_rpp_settle_if_late(t);
        rb_rpp_thread_advance(t, now);
        read_cpu_if_worth_it(t, rpp_thread_clocks_unread_ns(&t->clocks), now);
    }
}

/* Time gathered under labels that must make room is pushed first. */
static void make_room(rb_rpp_thread *t, rpp_clock_slot *in_the_way, uint64_t now)
{
    if (rb_rpp_is_lull()) rb_rpp_lull_catch_up(t, now);
    if (!rb_rpp_capture_slot(t, in_the_way))
        rpp_stats_add(RPP_STAT_time_lost_ns, in_the_way->wall_ns[RPP_STATE_RUNNING]);
}

void rb_rpp_labels_changed(rpp_label_set *labels)
{
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || !t->in_ruby || t->ended) return;
    if (rpp_thread_clocks_current(&t->clocks)->labels == labels) return;
    t->busy = true;
    if (is_profiling()) {
        uint64_t now = rpp_monotonic_ns();
        advance_to_change_of_labels(t, now);
        rpp_clock_slot *in_the_way = rpp_thread_clocks_slot_in_the_way(&t->clocks, labels);
        if (in_the_way) make_room(t, in_the_way, now);
    }
    rpp_thread_clocks_switch_labels(&t->clocks, labels);
    t->busy = false;
}

static void on_thread_begin(rb_rpp_thread *t)
{
    t->in_ruby = true;
    t->ended = false; /* had it been suspended before, it was taken for another Ractor's */
    rb_rpp_labels_changed(rb_rpp_labels_current());
    if (rb_rpp_is_lull()) rb_rpp_thread_find_clock(t); /* there is no RESUMED that would */
    if (!rb_rpp_is_sampling()) return;
    atomic_store_explicit(&running, t, memory_order_relaxed);
    rb_rpp_timer_start(t);
}

static void on_thread_end(rb_rpp_thread *t)
{
    rb_rpp_timer_stop(t);
    uint64_t now = rpp_monotonic_ns();
    if (rb_rpp_is_lull()) rb_rpp_lull_catch_up(t, now);
    if (is_profiling()) {
        rb_rpp_settle_if_late(t);
        if (!rb_rpp_settle(t, true, now, RB_RPP_THREAD_END)) {
            for (size_t i = 0; i < t->clocks.in_use; i++) {
                rpp_stats_add(RPP_STAT_time_lost_ns, t->clocks.slots[i].wall_ns[RPP_STATE_RUNNING]);
            }
        }
        atomic_store_explicit(&running, NULL, memory_order_relaxed);
    }
    t->in_ruby = false;
    t->ended = true;
}

static void on_ruby_event(rb_event_flag_t event, VALUE unused, VALUE self, ID mid, VALUE klass)
{
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t) return;
    if (event == RUBY_EVENT_THREAD_BEGIN) {
        on_thread_begin(t);
    } else if (t->ended) {
        return;
    } else if (event == RUBY_EVENT_THREAD_END) {
        on_thread_end(t);
    } else if (is_profiling()) {
        rb_rpp_labels_changed(rb_rpp_labels_current());
    }
}

/* What the GC does after the event. */
static rpp_state gc_phase(rb_event_flag_t event, rpp_state before)
{
    if (event == RUBY_INTERNAL_EVENT_GC_END_MARK) return RPP_STATE_GC_SWEEPING;
    bool marks_next = event == RUBY_INTERNAL_EVENT_GC_START || event == RUBY_INTERNAL_EVENT_GC_END_SWEEP;
    return marks_next ? RPP_STATE_GC_MARKING : before;
}

/* GC time is taken out of the running clock, split where marking ends, and belongs to the stack that triggered it. One GC at
 * a time, on the thread that holds the GVL; its phases may be spread over several pauses. */
static void on_gc_event(VALUE tracepoint, void *unused)
{
    static const rpp_state gc_states[] = {RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING};
    static rb_rpp_thread *collecting;
    static rpp_state phase = RPP_STATE_GC_MARKING;
    uint64_t began = measure_begin();
    rb_event_flag_t event = rb_tracearg_event_flag(rb_tracearg_from_tracepoint(tracepoint));
    phase = gc_phase(event, phase);
    rb_rpp_thread *t = collecting ? collecting : rb_rpp_thread_of(rb_thread_current());
    if (!rb_rpp_is_sampling() || !t || !t->in_ruby || t->ended) return;
    uint64_t now = rpp_monotonic_ns();
    bool was_busy = t->busy; /* allocating in one of our own methods may lead here */
    t->busy = true;
    /* Before the first one, or time of now went into a window that has ended. */
    if (event == RUBY_INTERNAL_EVENT_GC_ENTER) rb_rpp_settle_if_late(t);
    rb_rpp_thread_advance(t, now);
    read_cpu_if_worth_it(t, rpp_thread_clocks_unread_ns(&t->clocks), now);
    if (event == RUBY_INTERNAL_EVENT_GC_ENTER) {
        rpp_thread_clocks_begin_event(&t->clocks, gc_states);
        collecting = t;
    } else if (event == RUBY_INTERNAL_EVENT_GC_EXIT) {
        collecting = NULL;
        rb_rpp_capture_event(t, gc_states);
        rb_rpp_timer_catch_up(t);
    }
    t->doing = collecting ? phase : RPP_STATE_RUNNING;
    t->busy = was_busy;
    measure_end(began);
}

static VALUE gc_hook;

bool rb_rpp_hooks_install_once(void)
{
    static bool installed;
    if (installed) return false;
    installed = true;
    rb_internal_thread_add_event_hook(on_thread_event,
                                      RUBY_INTERNAL_THREAD_EVENT_STARTED | RUBY_INTERNAL_THREAD_EVENT_READY |
                                          RUBY_INTERNAL_THREAD_EVENT_RESUMED | RUBY_INTERNAL_THREAD_EVENT_SUSPENDED |
                                          RUBY_INTERNAL_THREAD_EVENT_EXITED,
                                      NULL);
    rb_add_event_hook(on_ruby_event, RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END | RUBY_EVENT_FIBER_SWITCH, Qnil);
    gc_hook =
        rb_tracepoint_new(Qnil,
                          RUBY_INTERNAL_EVENT_GC_ENTER | RUBY_INTERNAL_EVENT_GC_EXIT | RUBY_INTERNAL_EVENT_GC_START |
                              RUBY_INTERNAL_EVENT_GC_END_MARK | RUBY_INTERNAL_EVENT_GC_END_SWEEP,
                          on_gc_event, NULL);
    rb_gc_register_mark_object(gc_hook);
    rb_tracepoint_enable(gc_hook);
    return true;
}

void rb_rpp_hooks_leave_vm(void)
{
    if (gc_hook) rb_tracepoint_disable(gc_hook);
}

/* --- on and off --- */

void rb_rpp_hooks_listen(bool on, rb_rpp_thread *current)
{
    atomic_store(&running, current);
    atomic_store_explicit(&sampling, on, memory_order_release);
    if (!on) return;
    atomic_store(&ran, true);
    /* Last, as a tick that comes while nobody listens is not followed by another. */
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->in_ruby && !t->ended) rb_rpp_timer_start(t);
    }
}

void rb_rpp_sampling_begin(uint64_t now)
{
    rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        rpp_thread_clocks_restart(&t->clocks, now, rb_rpp_thread_cpu_ns(t));
        t->phase = t == current ? RB_RPP_RUNNING : RB_RPP_BLOCKED;
        t->doing = RPP_STATE_RUNNING;
        atomic_store(&t->ready_ns, 0);
        t->unheard_until_ns = t == current ? 0 : now;
        atomic_store(&t->captured_ns, now);
        atomic_store(&t->resumed_ns, now);
    }
    measuring_ns = rpp_monotonic_reading_ns();
    rb_rpp_capturing.resting = false;
    rb_rpp_hooks_listen(true, current);
}

void rb_rpp_sampling_end(void)
{
    uint64_t now = rpp_monotonic_ns();
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        rb_rpp_thread_advance(t, now);
        rb_rpp_thread_read_cpu(t);
    }
    rb_rpp_hooks_forget_after_fork();
}

void rb_rpp_hooks_forget_after_fork(void)
{
    rb_rpp_hooks_listen(false, NULL);
    rb_rpp_capturing.resting = true;
}
