/* rb_sampler.c - when a stack is captured, and how much time it is given. */
#include "rb_sampler.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/budget.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/stats.h"
#include "rb_frames.h"
#include "rb_hooks.h"
#include "rb_labels.h"
#include "rb_lull.h"
#include "rb_rotation.h"
#include "rb_task.h"
#include "rb_timers.h"

/* What a job may take of the application's time at once. */
#define JOB_BUDGET_NS   (400 * RPP_NS_PER_US)
/* A thread that has run this many periods without a capture may hold the GVL in its sleep. */
#define OVERDUE_PERIODS 4u

static rb_postponed_job_handle_t job_handle;
static rb_rpp_sampler_options wanted[RB_RPP_OUTLETS];
static _Atomic bool by_signal;
static pthread_mutex_t budget_lock = PTHREAD_MUTEX_INITIALIZER; /* two collectors may look, and options change */
static rpp_budget budget;
/* A thread of ours may outlive its deadline at the exit, and the VM. */
static pthread_mutex_t trigger_lock = PTHREAD_MUTEX_INITIALIZER;
static bool jobs_have_ended;     /* under trigger_lock */
static _Atomic bool signal_lost; /* the program has taken it since: the next job gives it up */
static _Atomic(void (*)(void)) restart_in_child;
static _Atomic(void (*)(void)) requested;

/* --- ticks --- */

/* The calling thread runs: in a job, or in the signal handler. False: it is not due yet, or late, and a tick can wait. */
static bool capture_running(rb_rpp_thread *t, uint64_t now, bool by_timer)
{
    t->busy = true;
    bool on_time = rb_rpp_settle_if_late(t);
    if (on_time) {
        rb_rpp_thread_advance(t, now);
        rb_rpp_thread_read_cpu(t);
    }
    bool due = on_time && (!by_timer || rb_rpp_timer_is_due(t));
    if (due) {
        rb_rpp_capture_running(t);
        atomic_store_explicit(&t->captured_ns, now, memory_order_relaxed);
    }
    t->busy = false;
    return due;
}

/* In the signal handler. Whatever forbids a capture now leaves the time on the clock for the next one. */
static void on_timer(rb_rpp_thread *t)
{
    if (!rb_rpp_is_sampling()) return;
    if (!t->in_ruby || t->busy || rb_rpp_capture_is_busy()) {
        rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
        rb_rpp_timer_retry(t);
    } else if (t->phase != RB_RPP_RUNNING || t->doing != RPP_STATE_RUNNING) {
        rb_rpp_timer_owe(t);
    } else {
        uint64_t began = rb_rpp_overhead_begin();
        if (capture_running(t, began ? began : rpp_monotonic_ns(), true)) {
            rb_rpp_timer_next(t);
        } else {
            rb_rpp_timer_retry(t);
        }
        rb_rpp_overhead_end(began, RB_RPP_CAPTURE_MAX_NS);
    }
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

static bool any_on(void)
{
    return rb_rpp_outlet_is_on(RB_RPP_CONTINUOUS) || rb_rpp_outlet_is_on(RB_RPP_ON_DEMAND);
}

static bool any_is_rotating(void)
{
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
        if (pipeline && rpp_pipeline_is_rotating(pipeline)) return true;
    }
    return false;
}

/* Whatever looks at all clocks, or sets them, wants them as they are now. */
static void end_lull(void)
{
    rb_rpp_lull_end(rpp_monotonic_ns());
}

static void begin_or_end_lull(void)
{
    if (!rb_rpp_lull_is_wanted()) {
        end_lull();
    } else if (!rb_rpp_is_lull() && any_on() && !any_is_rotating()) {
        rb_rpp_lull_begin(rpp_monotonic_ns());
    }
}

static bool rotate(rb_rpp_outlet outlet, rb_rpp_occasion when)
{
    end_lull();
    return rb_rpp_rotate(outlet, JOB_BUDGET_NS, when);
}

static void job(void *unused)
{
    void (*restart)(void) = atomic_exchange(&restart_in_child, NULL);
    if (restart) restart();
    void (*request)(void) = atomic_exchange(&requested, NULL);
    if (request) request();

    if (atomic_exchange(&signal_lost, false)) give_up_signal();
    uint64_t began = rb_rpp_overhead_begin();
    unsigned work[RB_RPP_OUTLETS] = {0}, all_work = 0;
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
        if (pipeline) all_work |= work[outlet] = rpp_pipeline_work(pipeline);
    }
    /* Before a window ends: a thread that slept with the GVL in its hands did so in that window, and here. */
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    bool is_profiled = t && t->in_ruby && !t->ended && rb_rpp_is_sampling();
    if (is_profiled && (all_work & RPP_WORK_TICK)) capture_running(t, rpp_monotonic_ns(), false);
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        if (work[outlet] & RPP_WORK_ROTATE) rotate(outlet, RB_RPP_WINDOW_END);
    }
    if (all_work & RPP_WORK_NAMES) name_frames(JOB_BUDGET_NS);
    begin_or_end_lull();
    rb_rpp_overhead_end(began, 3 * JOB_BUDGET_NS);
}

/* --- seams of the pipelines: the collectors call these --- */

static void trigger_job(void)
{
    pthread_mutex_lock(&trigger_lock);
    if (!jobs_have_ended) rb_postponed_job_trigger(job_handle);
    pthread_mutex_unlock(&trigger_lock);
}

static void ask(void *unused)
{
    trigger_job();
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
    uint64_t before = budget.period_ns, now = rpp_monotonic_ns();
    rpp_overhead spent = overhead();
    bool lull = rpp_budget_wants_lull(&budget, now, spent.hooks_ns);
    uint64_t period = rpp_budget_look(&budget, now, spent);
    if (period != before) use_period(period);
    pthread_mutex_unlock(&budget_lock);
    /* Where threads share native ones, no CPU clock tells what one of them did meanwhile. */
    rb_rpp_lull_want(lull && !rb_rpp_threads_share_native_ones());
    if (rb_rpp_lull_is_wanted() != rb_rpp_is_lull()) trigger_job();
}

static bool is_past(const _Atomic uint64_t *moment, uint64_t patience_ns)
{
    return rpp_monotonic_ns() > atomic_load_explicit(moment, memory_order_relaxed) + patience_ns;
}

/* A tick finds whoever runs just then, be it for an instant: what is short and often is found as often as it is there.
 * A thread with a timer is left to that, however long it takes on a busy machine: a tick would find its next safepoint, not
 * what it does. But while it sleeps with the GVL its clock stands still. */
static bool is_overdue(const rb_rpp_thread *t)
{
    if (!is_past(&t->captured_ns, rb_rpp_period_ns() / 4 * 3)) return false;
    if (!t->has_timer) return true;
    return is_past(&t->resumed_ns, rb_rpp_period_ns() * OVERDUE_PERIODS) && rb_rpp_task_is_asleep(t->tid) &&
           rb_rpp_running_thread(NULL) == t; /* still: it did not let go of the GVL before */
}

static unsigned activity(void *unused)
{
    if (rb_rpp_timers_are_lost()) {
        atomic_store(&signal_lost, true);
        trigger_job();
    }
    keep_to_budget();
    bool any_ran;
    const rb_rpp_thread *t = rb_rpp_running_thread(&any_ran);
    unsigned bits = any_ran || rb_rpp_lull_is_wanted() ? RPP_ACTIVITY_RAN : 0;
    return t && is_overdue(t) ? bits | RPP_ACTIVITY_OVERDUE : bits;
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
    rb_rpp_hooks_set_pace(period, overhead_limit);
    pthread_mutex_lock(&budget_lock);
    rpp_budget_init(&budget, overhead_limit, period, rpp_monotonic_ns(), overhead());
    pthread_mutex_unlock(&budget_lock);
    use_period(period);
}

/* The first time something is to be sampled. Until then the program pays nothing. */
static void follow_threads(void)
{
    if (!rb_rpp_hooks_install_once()) return;
    rb_rpp_threads_register_all(rpp_monotonic_ns());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) rb_rpp_join_window(t, outlet);
    }
    rb_rpp_labels_changed(rb_rpp_labels_current());
}

static void resume_at(rb_rpp_outlet outlet, uint64_t now)
{
    bool others = any_on();
    if (others) rb_rpp_settle_all(now);
    rb_rpp_outlet_switch(outlet, true);
    if (!others) rb_rpp_sampling_begin(now);
    rpp_pipeline_stir(rb_rpp_outlet_pipeline(outlet));
}

void rb_rpp_sampler_resume(rb_rpp_outlet outlet)
{
    if (rb_rpp_outlet_is_on(outlet)) return;
    end_lull();
    follow_threads();
    resume_at(outlet, rpp_monotonic_ns());
}

void rb_rpp_sampler_pause(rb_rpp_outlet outlet)
{
    if (!rb_rpp_outlet_is_on(outlet)) return;
    end_lull();
    bool others = rb_rpp_outlet_is_on(outlet == RB_RPP_CONTINUOUS ? RB_RPP_ON_DEMAND : RB_RPP_CONTINUOUS);
    if (others) {
        rb_rpp_settle_all(rpp_monotonic_ns());
    } else {
        rb_rpp_sampling_end();
    }
    rb_rpp_outlet_switch(outlet, false);
}

void rb_rpp_sampler_attach(rb_rpp_outlet outlet, const rb_rpp_sampler_options *options, rpp_pipeline *pipeline,
                           bool paused)
{
    if (rb_rpp_outlet_pipeline(outlet)) rb_rpp_sampler_detach(outlet); /* one that is being stopped meanwhile */
    end_lull();
    bool first = !rb_rpp_sampler_is_attached();
    if (any_on()) {
        rb_rpp_settle_all(rpp_monotonic_ns());
    } else if (!first) { /* the other one is paused: what the clocks hold is its own */
        rb_rpp_outlet other = outlet == RB_RPP_CONTINUOUS ? RB_RPP_ON_DEMAND : RB_RPP_CONTINUOUS;
        rb_rpp_outlet_switch(other, true);
        rb_rpp_settle_all(rpp_monotonic_ns());
        rb_rpp_outlet_switch(other, false);
    }
    wanted[outlet] = *options;
    rb_rpp_outlet_set_pipeline(outlet, pipeline);
    combine_options();
    if (first) by_signal = rb_rpp_timers_start(options->engine, on_timer);
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (first) rpp_thread_clocks_reset(&t->clocks, 0, 0); /* whatever they hold is of an earlier session */
        rb_rpp_join_window(t, outlet);
    }
    if (!paused) follow_threads();
    uint64_t now = rpp_monotonic_ns();
    rpp_pipeline_open(pipeline, now);
    if (!paused) resume_at(outlet, now);
    rb_rpp_labels_changed(rb_rpp_labels_current());
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
    while (!rotate(outlet, RB_RPP_SETTLE_ALL) || !is_settled_since(pipeline, window)) {
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

void rb_rpp_sampler_leave_vm(void)
{
    pthread_mutex_lock(&trigger_lock);
    jobs_have_ended = true;
    pthread_mutex_unlock(&trigger_lock);
    rb_rpp_hooks_leave_vm();
}

void rb_rpp_sampler_forget_after_fork(void (*restart)(void))
{
    pthread_mutex_init(&budget_lock, NULL);
    pthread_mutex_init(&trigger_lock, NULL);
    rb_rpp_hooks_forget_after_fork();
    rb_rpp_lull_forget_after_fork();
    rb_rpp_capture_forget_after_fork();
    rb_rpp_timers_forget_after_fork();
    rb_rpp_threads_forget_after_fork();
    atomic_store(&restart_in_child, restart);
    trigger_job();
}

void rb_rpp_sampler_request(void (*drain)(void))
{
    atomic_store(&requested, drain);
    trigger_job();
}
