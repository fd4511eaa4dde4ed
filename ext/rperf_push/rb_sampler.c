/* rb_sampler.c - when a stack is captured, and how much time it is given. */
#include "rb_sampler.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/budget.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/stats.h"
#include "rb_frames.h"
#include "rb_labels.h"
#include "rb_task.h"
#include "rb_timers.h"

/* What a job may take of the application's time at once. */
#define JOB_BUDGET_NS (400 * RPP_NS_PER_US)
/* A thread that has run this many periods without a capture may hold the GVL in its sleep. */
#define OVERDUE_PERIODS 4u
#define HOOKS_PER_MEASURE 64u
#define HOOK_MAX_NS (2 * RPP_NS_PER_US)

static rb_postponed_job_handle_t job_handle;
static rb_rpp_sampler_options wanted[RB_RPP_OUTLETS];
static uint64_t unread_limit_ns; /* wall time after which a CPU clock is read at the next change of state */
static _Atomic bool by_signal;
static pthread_mutex_t budget_lock = PTHREAD_MUTEX_INITIALIZER; /* two collectors may look, and options change */
static rpp_budget budget;
static bool hooked; /* the hooks are installed: threads are known from birth to death */

static _Atomic bool sampling; /* some outlet is on */
static _Atomic(rb_rpp_thread *) running; /* the one that holds the GVL */
static _Atomic bool ran;                 /* some thread ran since a collector last looked */
static _Atomic bool signal_lost;         /* the program has taken it since: the next job gives it up */
static _Atomic(void (*)(void)) restart_in_child;
static _Atomic(void (*)(void)) requested;

/* GC: one at a time, on the thread that holds the GVL. */
static rb_rpp_thread *in_gc;
static rpp_state gc_state = RPP_STATE_GC_MARKING;

static const rpp_state *gc_state_of(const rb_rpp_thread *t)
{
    return in_gc == t ? &gc_state : NULL;
}

static void advance(rb_rpp_thread *t, uint64_t now)
{
    rb_rpp_thread_advance(t, gc_state_of(t), now);
}

static uint64_t period_ns(void)
{
    return atomic_load_explicit(&rb_rpp_capturing.period_ns, memory_order_relaxed);
}

/* --- the end of a window --- */

static bool settle(rb_rpp_thread *t, rb_rpp_outlet outlet, bool is_current, rb_rpp_occasion when)
{
    uint64_t boundary = rpp_pipeline_boundary_ns(rb_rpp_outlet_pipeline(outlet));
    if (!rb_rpp_settle(t, is_current, gc_state_of(t), boundary, when)) return false;
    rb_rpp_join_window(t, outlet);
    return true;
}

/* Events of a thread that a rotation has not come to yet: its time so far belongs to the window that ended. */
static void settle_if_late(rb_rpp_thread *t)
{
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        if (rb_rpp_is_late(t, outlet)) settle(t, outlet, true, RB_RPP_WINDOW_END);
    }
}

static bool settle_all_late(rb_rpp_outlet outlet, uint64_t began, uint64_t budget_ns, rb_rpp_occasion when)
{
    const rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended || !rb_rpp_is_late(t, outlet)) continue;
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

static bool rotate(rb_rpp_outlet outlet, uint64_t budget_ns, rb_rpp_occasion when)
{
    rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
    uint64_t began = rpp_monotonic_ns();
    if (!rpp_pipeline_is_rotating(pipeline)) {
        if (rpp_pipeline_begin_rotation(pipeline, began) != RPP_OK) return false;
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

/* --- hooks --- */

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

static void on_resumed(rb_rpp_thread *t, uint64_t now)
{
    static const rpp_state off_gvl[] = {RPP_STATE_BLOCKED, RPP_STATE_WAITING};
    t->busy = true;
    rb_rpp_thread_find_clock(t);
    if (t->in_ruby) settle_if_late(t);
    rpp_thread_clocks_begin_event(&t->clocks);
    advance(t, now);
    if (t->clocks.unread_ns[RPP_STATE_BLOCKED] > unread_limit_ns) rb_rpp_thread_read_cpu(t);
    if (t->in_ruby) rb_rpp_capture_event(t, off_gvl, period_ns());
    atomic_store_explicit(&t->ready_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&t->captured_ns, now, memory_order_relaxed);
    t->phase = RB_RPP_RUNNING;
    t->busy = false;
    if (t->in_ruby) {
        atomic_store_explicit(&running, t, memory_order_relaxed);
        atomic_store_explicit(&ran, true, memory_order_relaxed);
        stir();
    }
}

static void on_suspended(rb_rpp_thread *t, uint64_t now)
{
    t->busy = true;
    if (t->phase == RB_RPP_RUNNING) {
        if (t->in_ruby) settle_if_late(t);
        rpp_thread_clocks_advance(&t->clocks, RPP_STATE_RUNNING, now);
        if (rpp_thread_clocks_unread_ns(&t->clocks) > unread_limit_ns || rb_rpp_threads_share_native_ones()) {
            rb_rpp_thread_read_cpu(t);
        }
        rb_rpp_thread_leave_clock(t);
        t->phase = RB_RPP_BLOCKED;
        rb_rpp_thread *self = t;
        atomic_compare_exchange_strong_explicit(&running, &self, NULL, memory_order_relaxed, memory_order_relaxed);
    }
    t->busy = false;
}

/* Hooks are too short to time each: one in many stands for all. Under the GVL, nearly. */
static void measure_hook(uint64_t began)
{
    static unsigned calls;
    if (++calls % HOOKS_PER_MEASURE) return;
    uint64_t took = rpp_monotonic_ns() - began;
    uint64_t all = HOOKS_PER_MEASURE * (took < HOOK_MAX_NS ? took : HOOK_MAX_NS);
    rpp_stats_add(RPP_STAT_overhead_ns, all);
    rpp_stats_add(RPP_STAT_overhead_hooks_ns, all);
}

/* While nothing is sampled, only births and deaths are followed. */
static void on_thread_event(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    bool on = atomic_load_explicit(&sampling, memory_order_acquire);
    bool life = event == RUBY_INTERNAL_THREAD_EVENT_STARTED || event == RUBY_INTERNAL_THREAD_EVENT_EXITED;
    if (!on && !life) return;
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
            measure_hook(t->clocks.wall_mark_ns);
            break;
        case RUBY_INTERNAL_THREAD_EVENT_SUSPENDED:
            if (!t->ended) on_suspended(t, rpp_monotonic_ns());
            measure_hook(t->clocks.wall_mark_ns);
            break;
        case RUBY_INTERNAL_THREAD_EVENT_EXITED:
            /* THREAD_BEGIN and THREAD_END come for threads of the main Ractor only. */
            if (!t->ended) rpp_stats_add(RPP_STAT_ractor_threads_ignored, 1);
            t->ended = true;
            atomic_store(&t->exited, true);
            break;
    }
}

/* Time gathered under labels that must make room is pushed first. */
void rb_rpp_sampler_labels_changed(rpp_label_set *labels)
{
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || !t->in_ruby || t->ended) return;
    if (rpp_thread_clocks_current(&t->clocks)->labels == labels) return;
    bool on = atomic_load_explicit(&sampling, memory_order_acquire);
    t->busy = true;
    if (on) {
        uint64_t now = rpp_monotonic_ns();
        settle_if_late(t);
        advance(t, now);
        if (rpp_thread_clocks_unread_ns(&t->clocks) > unread_limit_ns) rb_rpp_thread_read_cpu(t);
        rpp_clock_slot *in_the_way = rpp_thread_clocks_slot_in_the_way(&t->clocks, labels);
        if (in_the_way && !rb_rpp_capture_slot(t, in_the_way)) {
            rpp_stats_add(RPP_STAT_time_lost_ns, in_the_way->wall_ns[RPP_STATE_RUNNING]);
        }
    }
    rpp_thread_clocks_switch_labels(&t->clocks, labels);
    t->busy = false;
}

static void on_thread_begin(rb_rpp_thread *t)
{
    t->in_ruby = true;
    rb_rpp_sampler_labels_changed(rb_rpp_labels_current());
    if (!atomic_load_explicit(&sampling, memory_order_acquire)) return;
    atomic_store_explicit(&running, t, memory_order_relaxed);
    rb_rpp_timer_start(t);
}

static void on_thread_end(rb_rpp_thread *t)
{
    rb_rpp_timer_stop(t);
    if (atomic_load_explicit(&sampling, memory_order_acquire)) {
        settle_if_late(t);
        if (!rb_rpp_settle(t, true, NULL, rpp_monotonic_ns(), RB_RPP_THREAD_END)) {
            for (size_t i = 0; i < RPP_LABEL_SLOTS; i++) {
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
    if (!t || t->ended) return;
    if (event == RUBY_EVENT_THREAD_BEGIN) {
        on_thread_begin(t);
    } else if (event == RUBY_EVENT_THREAD_END) {
        on_thread_end(t);
    } else if (atomic_load_explicit(&sampling, memory_order_acquire)) {
        rb_rpp_sampler_labels_changed(rb_rpp_labels_current());
    }
}

/* GC time is taken out of the running clock, split where marking ends, and belongs to the stack that triggered it. */
static void on_gc_event(VALUE tracepoint, void *unused)
{
    static const rpp_state gc_states[] = {RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING};
    if (!atomic_load_explicit(&sampling, memory_order_acquire)) return;
    rb_event_flag_t event = rb_tracearg_event_flag(rb_tracearg_from_tracepoint(tracepoint));
    rb_rpp_thread *t = in_gc ? in_gc : rb_rpp_thread_of(rb_thread_current());
    if (!t || !t->in_ruby || t->ended) return;
    uint64_t now = rpp_monotonic_ns();
    bool was_busy = t->busy; /* allocating in one of our own methods may lead here */
    t->busy = true;
    advance(t, now);
    switch (event) {
        case RUBY_INTERNAL_EVENT_GC_ENTER:
            settle_if_late(t);
            rpp_thread_clocks_begin_event(&t->clocks);
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
            rb_rpp_capture_event(t, gc_states, period_ns());
            break;
    }
    t->busy = was_busy;
}

static void install_hooks_once(void)
{
    if (hooked) return;
    hooked = true;
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
    uint64_t now = rpp_monotonic_ns();
    t->busy = true;
    settle_if_late(t);
    advance(t, now);
    rb_rpp_thread_read_cpu(t);
    rb_rpp_capture_running(t);
    atomic_store_explicit(&t->captured_ns, now, memory_order_relaxed);
    t->busy = false;
}

/* In the signal handler. Whatever forbids a capture now leaves the time on the clock for the next one. False: no more
 * ticks are wanted. */
static bool on_timer(rb_rpp_thread *t)
{
    if (!atomic_load_explicit(&sampling, memory_order_acquire)) return false;
    if (!t->in_ruby || t->phase != RB_RPP_RUNNING || t->busy || in_gc || rb_rpp_capture_is_busy()) {
        rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
    } else {
        capture_running(t);
    }
    return true;
}

static void name_frames(uint64_t budget_ns)
{
    rb_rpp_frames_name(budget_ns);
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
        if (pipeline) rpp_pipeline_set_unnamed(pipeline, rb_rpp_frames_unnamed());
    }
}

static void give_up_signal(void)
{
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) rb_rpp_timer_stop(t);
    rb_rpp_timers_stop();
    atomic_store(&by_signal, false);
    rpp_log(RPP_LOG_WARN, "engine safepoint instead of signal from now on: the program handles SIGURG itself");
}

static void job(void *unused)
{
    void (*restart)(void) = atomic_exchange(&restart_in_child, NULL);
    if (restart) restart();
    void (*request)(void) = atomic_exchange(&requested, NULL);
    if (request) request();

    if (atomic_exchange(&signal_lost, false)) give_up_signal();
    uint64_t began = rb_rpp_overhead_begin();
    unsigned work = 0;
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
        if (!pipeline) continue;
        unsigned its_work = rpp_pipeline_work(pipeline);
        if (its_work & RPP_WORK_ROTATE) rotate(outlet, JOB_BUDGET_NS, RB_RPP_WINDOW_END);
        work |= its_work;
    }
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    bool can_capture = t && t->in_ruby && !t->ended && atomic_load_explicit(&sampling, memory_order_acquire);
    if (can_capture && (work & RPP_WORK_TICK)) capture_running(t);
    if (work & RPP_WORK_NAMES) name_frames(JOB_BUDGET_NS);
    rb_rpp_overhead_end(began, 3 * JOB_BUDGET_NS);
}

/* --- seams of the pipelines: the collectors call these --- */

static void ask(void *unused)
{
    rb_postponed_job_trigger(job_handle);
}

static void use_period(uint64_t ns)
{
    atomic_store_explicit(&rb_rpp_capturing.period_ns, ns, memory_order_relaxed);
    rb_rpp_timers_set_period(ns);
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
        if (pipeline) rpp_pipeline_set_period(pipeline, ns);
    }
    rpp_stats_set(RPP_STAT_period_ns, ns);
}

static rpp_overhead overhead(void)
{
    uint64_t hooks = rpp_stats_get(RPP_STAT_overhead_hooks_ns), all = rpp_stats_get(RPP_STAT_overhead_ns);
    return (rpp_overhead){.captures_ns = all > hooks ? all - hooks : 0, .hooks_ns = hooks};
}

static void keep_to_budget(void)
{
    pthread_mutex_lock(&budget_lock);
    uint64_t before = budget.period_ns;
    uint64_t period = rpp_budget_look(&budget, rpp_monotonic_ns(), overhead());
    if (period != before) use_period(period);
    pthread_mutex_unlock(&budget_lock);
}

/* A thread with a timer is left to it, however long that takes on a busy machine: a tick would find its next safepoint, not
 * what it does. But while it sleeps with the GVL its clock stands still. */
static bool is_overdue(const rb_rpp_thread *t)
{
    uint64_t since = atomic_load_explicit(&t->captured_ns, memory_order_relaxed), now = rpp_monotonic_ns();
    uint64_t patience = t->has_timer ? period_ns() * OVERDUE_PERIODS : period_ns() / 4 * 3;
    return now > since && now - since > patience && (!t->has_timer || rb_rpp_task_is_asleep(t->tid));
}

static unsigned activity(void *unused)
{
    if (rb_rpp_timers_are_lost()) {
        atomic_store(&signal_lost, true);
        rb_postponed_job_trigger(job_handle);
    }
    keep_to_budget();
    rb_rpp_thread *t = atomic_load_explicit(&running, memory_order_relaxed);
    unsigned bits = atomic_exchange_explicit(&ran, false, memory_order_relaxed) || t ? RPP_ACTIVITY_RAN : 0;
    if (!t) return bits;
    return is_overdue(t) ? bits | RPP_ACTIVITY_OVERDUE : bits;
}

const rpp_pipeline_seams rb_rpp_sampler_seams = {.ask = ask, .activity = activity};

/* --- outlets come and go --- */

static void combine_options(void)
{
    uint64_t period = UINT64_MAX;
    double overhead_limit = 1;
    rb_rpp_capturing.lines = false;
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        if (!rb_rpp_outlet_pipeline(outlet)) continue;
        const rb_rpp_sampler_options *o = &wanted[outlet];
        if (o->period_ns < period) period = o->period_ns;
        if (o->overhead_limit < overhead_limit) overhead_limit = o->overhead_limit;
        rb_rpp_capturing.lines |= o->lines;
    }
    unread_limit_ns = period / 100;
    if (unread_limit_ns < 100 * RPP_NS_PER_US) unread_limit_ns = 100 * RPP_NS_PER_US;
    if (unread_limit_ns > RPP_NS_PER_MS) unread_limit_ns = RPP_NS_PER_MS;
    pthread_mutex_lock(&budget_lock);
    rpp_budget_init(&budget, overhead_limit, period, rpp_monotonic_ns(), overhead());
    pthread_mutex_unlock(&budget_lock);
    use_period(period);
}

/* All clocks go on from now; what they hold stays. */
static void begin_sampling(void)
{
    uint64_t now = rpp_monotonic_ns();
    rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        rpp_thread_clocks_restart(&t->clocks, now, rb_rpp_thread_cpu_ns(t));
        t->phase = t == current ? RB_RPP_RUNNING : RB_RPP_BLOCKED;
        atomic_store(&t->ready_ns, 0);
        atomic_store(&t->captured_ns, now);
        if (t->in_ruby) rb_rpp_timer_start(t);
    }
    in_gc = NULL;
    rb_rpp_capturing.resting = false;
    atomic_store(&running, current);
    atomic_store(&ran, true);
    atomic_store_explicit(&sampling, true, memory_order_release);
}

/* The clocks stop; what they hold stays. */
static void end_sampling(void)
{
    uint64_t now = rpp_monotonic_ns();
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        advance(t, now);
        rb_rpp_thread_read_cpu(t);
    }
    atomic_store(&sampling, false);
    atomic_store(&running, NULL);
    rb_rpp_capturing.resting = true;
}

/* What was gathered so far belongs to the outlets that are on now. */
static void push_all_threads(void)
{
    uint64_t now = rpp_monotonic_ns();
    const rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        (void)rb_rpp_settle(t, t == current, gc_state_of(t), now, RB_RPP_SETTLE_ALL); /* no room: a little inexact */
    }
}

static bool any_on(void)
{
    return rb_rpp_outlet_is_on(RB_RPP_CONTINUOUS) || rb_rpp_outlet_is_on(RB_RPP_ON_DEMAND);
}

void rb_rpp_sampler_resume(rb_rpp_outlet outlet)
{
    if (rb_rpp_outlet_is_on(outlet)) return;
    bool others = any_on();
    if (others) push_all_threads();
    rb_rpp_outlet_switch(outlet, true);
    if (!others) begin_sampling();
    rpp_pipeline_stir(rb_rpp_outlet_pipeline(outlet));
}

void rb_rpp_sampler_pause(rb_rpp_outlet outlet)
{
    if (!rb_rpp_outlet_is_on(outlet)) return;
    bool others = rb_rpp_outlet_is_on(outlet == RB_RPP_CONTINUOUS ? RB_RPP_ON_DEMAND : RB_RPP_CONTINUOUS);
    if (others) {
        push_all_threads();
    } else {
        end_sampling();
    }
    rb_rpp_outlet_switch(outlet, false);
}

void rb_rpp_sampler_attach(rb_rpp_outlet outlet, const rb_rpp_sampler_options *options, rpp_pipeline *pipeline,
                           bool paused)
{
    if (rb_rpp_outlet_pipeline(outlet)) rb_rpp_sampler_detach(outlet); /* one that is being stopped meanwhile */
    bool first = !rb_rpp_sampler_is_attached();
    if (any_on()) {
        push_all_threads();
    } else if (!first) { /* the other one is paused: what the clocks hold is its own */
        rb_rpp_outlet other = outlet == RB_RPP_CONTINUOUS ? RB_RPP_ON_DEMAND : RB_RPP_CONTINUOUS;
        rb_rpp_outlet_switch(other, true);
        push_all_threads();
        rb_rpp_outlet_switch(other, false);
    }
    wanted[outlet] = *options;
    rb_rpp_outlet_set_pipeline(outlet, pipeline);
    combine_options();
    if (first) by_signal = rb_rpp_timers_start(options->engine, on_timer);
    install_hooks_once();
    rb_rpp_threads_register_all(rpp_monotonic_ns());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (first) rpp_thread_clocks_reset(&t->clocks, 0, 0); /* whatever they hold is of an earlier session */
        rb_rpp_join_window(t, outlet);
    }
    if (!paused) rb_rpp_sampler_resume(outlet);
    rb_rpp_sampler_labels_changed(rb_rpp_labels_current());
}

void rb_rpp_sampler_detach(rb_rpp_outlet outlet)
{
    rb_rpp_sampler_pause(outlet);
    rb_rpp_outlet_set_pipeline(outlet, NULL);
    if (rb_rpp_sampler_is_attached()) {
        combine_options();
        return;
    }
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) rb_rpp_timer_stop(t);
    rb_rpp_timers_stop();
}

bool rb_rpp_sampler_is_attached(void)
{
    return rb_rpp_outlet_pipeline(RB_RPP_CONTINUOUS) || rb_rpp_outlet_pipeline(RB_RPP_ON_DEMAND);
}

static void *nap(void *unused)
{
    struct timespec a_moment = {0, (long)RPP_NS_PER_MS};
    nanosleep(&a_moment, NULL);
    return NULL;
}

/* Whether some boundary since `window` was the current one is settled. */
static bool is_settled_since(const rpp_pipeline *pipeline, uint32_t window)
{
    return rpp_pipeline_window(pipeline) != window && !rpp_pipeline_is_rotating(pipeline);
}

/* In slices, as jobs would do it: other threads get their turn in between. */
bool rb_rpp_settle_until(rb_rpp_outlet outlet, uint64_t deadline_ns)
{
    rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
    if (!pipeline) return false;
    /* A rotation that is under way cut earlier than now. */
    uint32_t window = rpp_pipeline_window(pipeline) + (rpp_pipeline_is_rotating(pipeline) ? 1 : 0);
    while (!rotate(outlet, JOB_BUDGET_NS, RB_RPP_SETTLE_ALL) || !is_settled_since(pipeline, window)) {
        if (rpp_monotonic_ns() >= deadline_ns) return false;
        rb_thread_call_without_gvl(nap, NULL, NULL, NULL);
        if (rb_rpp_outlet_pipeline(outlet) != pipeline) return false;
    }
    while (rb_rpp_frames_unnamed() && rpp_monotonic_ns() < deadline_ns) {
        name_frames(JOB_BUDGET_NS);
        rb_thread_schedule();
        if (rb_rpp_outlet_pipeline(outlet) != pipeline) return false;
    }
    rpp_pipeline_wake(pipeline);
    return true;
}

const char *rb_rpp_sampler_engine(void)
{
    return by_signal ? "signal" : "safepoint";
}

double rb_rpp_sampler_overhead(void)
{
    pthread_mutex_lock(&budget_lock);
    double share = budget.share;
    pthread_mutex_unlock(&budget_lock);
    return share;
}

/* --- life --- */

void rb_rpp_sampler_init(void)
{
    job_handle = rb_postponed_job_preregister(0, job, NULL);
    rb_rpp_threads_init();
}

void rb_rpp_sampler_forget_after_fork(void (*restart)(void))
{
    pthread_mutex_init(&budget_lock, NULL);
    atomic_store(&sampling, false);
    atomic_store(&running, NULL);
    in_gc = NULL;
    rb_rpp_capturing.resting = true;
    rb_rpp_capture_forget_after_fork();
    rb_rpp_timers_forget_after_fork();
    rb_rpp_threads_forget_after_fork();
    atomic_store(&restart_in_child, restart);
    rb_postponed_job_trigger(job_handle);
}

void rb_rpp_sampler_request(void (*drain)(void))
{
    atomic_store(&requested, drain);
    rb_postponed_job_trigger(job_handle);
}
