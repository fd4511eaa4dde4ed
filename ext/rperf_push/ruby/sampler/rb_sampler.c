/* rb_sampler.c - decides when a stack is captured: jobs, and the subscribers that come and go. */
#include "sampler/rb_sampler.h"

#include <stdatomic.h>

#include "captures/rb_budget.h"
#include "captures/rb_heap.h"
#include "captures/rb_labels.h"
#include "captures/rb_rotation.h"
#include "captures/rb_thread_starts.h"
#include "core/base/clock.h"
#include "core/base/stats.h"
#include "frames/rb_frames.h"
#include "frames/rb_walk.h"
#include "sampler/rb_allocs.h"
#include "sampler/rb_engine.h"
#include "sampler/rb_hooks.h"
#include "threads/rb_overhead.h"
#include "threads/rb_push.h"
#include "threads/rb_subscribers.h"
#include "threads/rb_timers.h"
#include "vm/rb_jobs.h"
#include "vm/rb_probes.h"
#include "vm/rb_trigger.h"

/* The longest time that one job takes from the application. */
#define JOB_BUDGET_NS (400 * RPP_NS_PER_US)

static rb_rpp_sampler_options wanted[RB_RPP_SUBSCRIBERS];
static _Atomic(void (*)(void)) restart_in_child;

/* --- jobs --- */

/* True: there is more to do. */
static bool work_on_frames(void)
{
    bool more = rb_rpp_frames_work(JOB_BUDGET_NS);
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++) {
        rpp_pipeline *pipeline = rb_rpp_subscriber_pipeline(subscriber);
        if (pipeline) rpp_pipeline_want_frames(pipeline, more);
    }
    return more;
}

static unsigned count_on(void)
{
    unsigned count = 0;
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++)
        count += rb_rpp_subscriber_is_on(subscriber);
    return count;
}

/* The job runs in another Ractor. Collectors ask again until their work is done; for a restart and a request
 * nothing asks again, so the job is triggered again. */
static void leave_to_main_ractor(void)
{
    RB_RPP_PROBE(job_begins, false);
    if (atomic_load(&restart_in_child) || rb_rpp_jobs_any_requested()) rb_rpp_trigger_in_main_ractor();
}

/* If no session goes on in the child, the parent's last one has ended here. */
static void restart_if_forked(void)
{
    void (*restart)(void) = atomic_exchange(&restart_in_child, NULL);
    if (!restart) return;
    restart();
    if (!rb_rpp_subscribers_any()) rb_rpp_labels_end_era();
}

/* Takes ticks that came when the VM, a window's end or our tables did not allow a capture. */
static void take_pending(rb_rpp_thread *t)
{
    t->in_job = false;
    rb_rpp_section_end(t, rb_rpp_section_begin(t));
}

static void job(void *unused)
{
    if (!rb_rpp_in_main_ractor()) {
        leave_to_main_ractor();
        return;
    }
    RB_RPP_PROBE(job_begins, true);
    if (!rb_rpp_trigger_knows_who_runs()) return;
    restart_if_forked();
    rb_rpp_jobs_do_requested();

    bool ticks_were_lost = rb_rpp_engine_regain();
    uint64_t began = rb_rpp_overhead_begin();
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    unsigned work[RB_RPP_SUBSCRIBERS] = {0}, all_work = 0;
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++) {
        rpp_pipeline *pipeline = rb_rpp_subscriber_pipeline(subscriber);
        if (pipeline) all_work |= work[subscriber] = rpp_pipeline_work(pipeline);
    }
    rpp_ticks ticks = rpp_ticker_take(&rb_rpp_ticker);
    /* Before a window ends: a thread that slept with the GVL did so in that window, at this place. */
    bool is_profiled = t && t->in_ruby && !t->ended && rb_rpp_is_sampling();
    if (is_profiled) t->in_job = true;
    if (is_profiled && (ticks_were_lost || ticks.count)) rb_rpp_engine_tick(t, &ticks, rpp_monotonic_ns());
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++) {
        if (work[subscriber] & RPP_WORK_ROTATE) rb_rpp_rotate(subscriber, JOB_BUDGET_NS);
    }
    if (all_work & RPP_WORK_FRAMES) work_on_frames();
    rb_rpp_allocs_follow();
    if (is_profiled) take_pending(t);
    rb_rpp_overhead_end(began, 3 * JOB_BUDGET_NS);
}

/* --- seams of the pipelines: the collectors call these --- */

static void ask(void *unused)
{
    rb_rpp_trigger();
}

static unsigned activity(void *unused)
{
    if (rb_rpp_engine_is_lost()) rb_rpp_trigger();
    rb_rpp_budget_keep();
    bool any_ran;
    const rb_rpp_thread *t = rb_rpp_running_thread(&any_ran);
    unsigned bits = any_ran ? RPP_ACTIVITY_RAN : 0;
    return t && rb_rpp_engine_is_overdue(t) ? bits | RPP_ACTIVITY_OVERDUE : bits;
}

/* At a tick, of a thread that was overdue a moment ago. */
static rpp_finding find(void *unused)
{
    rb_rpp_thread *t = rb_rpp_running_thread(NULL);
    if (!t || !rpp_ledger_runs(&t->ledger)) return (rpp_finding){.who = NULL};
    return (rpp_finding){.who = t, .at = {.cpu_ns = rb_rpp_thread_cpu_ns(t), .wall_ns = rpp_monotonic_ns()}};
}

static const rpp_pipeline_seams seams = {.ask = ask, .activity = activity, .find = find};

rpp_pipeline *rb_rpp_sampler_new_pipeline(const rpp_pipeline_options *options, rb_rpp_deliver deliver, void *context)
{
    rpp_pipeline_seams own = seams;
    own.deliver = deliver;
    own.context = context;
    rpp_pipeline_options with_ticks = *options;
    with_ticks.tick_ns = rb_rpp_rules.tick_ns;
    with_ticks.ticker = &rb_rpp_ticker;
    with_ticks.bursts = rb_rpp_allocs_bursts;
    rpp_stats_set(RPP_STAT_kernel_tick_ns, rb_rpp_rules.tick_ns);
    rpp_pipeline *pipeline = rpp_pipeline_new(&with_ticks, &own, rb_rpp_frames_names());
    if (!pipeline) return NULL;
    rb_rpp_frames_add_reader();
    return pipeline;
}

void rb_rpp_sampler_free_pipeline(rpp_pipeline *pipeline)
{
    if (!pipeline) return;
    rpp_pipeline_free(pipeline);
    rb_rpp_frames_remove_reader();
}

/* --- subscribers come and go --- */

static void combine_options(void)
{
    uint64_t period = UINT64_MAX;
    double overhead_limit = 1;
    rb_rpp_capturing.lines = false;
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++) {
        if (!rb_rpp_subscriber_pipeline(subscriber)) continue;
        const rb_rpp_sampler_options *o = &wanted[subscriber];
        if (o->period_ns < period) period = o->period_ns;
        if (o->overhead_limit < overhead_limit) overhead_limit = o->overhead_limit;
        rb_rpp_capturing.lines |= o->lines;
    }
    rb_rpp_hooks_set_pace(period);
    rb_rpp_budget_begin(overhead_limit, period);
}

static void join_windows(rb_rpp_thread *t)
{
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++)
        rb_rpp_join_window(t, subscriber);
}

/* If it is interrupted, the next call does all of it. */
void rb_rpp_sampler_follow_threads(void)
{
    static bool all_have_records;
    if (rb_rpp_hooks_are_following() && all_have_records) return;
    all_have_records = false;
    rb_rpp_hooks_install_once();
    rb_rpp_hooks_follow(true);
    rb_rpp_threads_register_all(rpp_monotonic_ns(), join_windows);
    all_have_records = true;
    rb_rpp_labels_changed(rb_rpp_labels_current());
}

void rb_rpp_sampler_leave_threads(void)
{
    if (!rb_rpp_subscribers_any() && !rb_rpp_hooks_tell_somebody()) rb_rpp_hooks_follow(false);
}

static void resume_at(rb_rpp_subscriber subscriber, uint64_t now)
{
    bool others = count_on();
    if (others) rb_rpp_flush_all(now);
    rb_rpp_subscriber_switch(subscriber, true);
    if (!others) rb_rpp_sampling_begin(now);
    rb_rpp_allocs_resume(subscriber);
    rpp_pipeline_stir(rb_rpp_subscriber_pipeline(subscriber));
}

void rb_rpp_sampler_prepare(const rb_rpp_sampler_options *options, bool paused)
{
    if (options->engine != RPP_ENGINE_SAFEPOINT || rb_rpp_allocs_are_wanted(options->mode)) {
        rb_rpp_walk_prove();
    }
    if (!paused) rb_rpp_sampler_follow_threads();
}

void rb_rpp_sampler_resume(rb_rpp_subscriber subscriber)
{
    if (rb_rpp_subscriber_is_on(subscriber)) return;
    rb_rpp_sampler_follow_threads();
    resume_at(subscriber, rpp_monotonic_ns());
}

void rb_rpp_sampler_pause(rb_rpp_subscriber subscriber)
{
    if (!rb_rpp_subscriber_is_on(subscriber)) return;
    rb_rpp_flush_all(rpp_monotonic_ns());
    rb_rpp_allocs_pause(subscriber);
    if (count_on() == 1) rb_rpp_sampling_end();
    rb_rpp_subscriber_switch(subscriber, false);
}

void rb_rpp_sampler_attach(rb_rpp_subscriber subscriber, const rb_rpp_sampler_options *options, rpp_pipeline *pipeline,
                           bool paused)
{
    const rb_rpp_alloc_settings allocations = {
        .wanted = rb_rpp_allocs_are_wanted(options->mode),
        .interval = options->alloc_interval,
        .watched_max = rb_rpp_watched_max(options->mode, options->alloc_interval),
    };
    if (rb_rpp_subscriber_pipeline(subscriber)) rb_rpp_sampler_detach(subscriber); /* another thread is stopping it */
    if (!paused) rb_rpp_sampler_follow_threads(); /* again, if all other sessions have ended since it was prepared */
    bool first = !rb_rpp_subscribers_any();
    if (count_on()) rb_rpp_flush_all(rpp_monotonic_ns());
    wanted[subscriber] = *options;
    rb_rpp_discard_carried(subscriber);
    rb_rpp_allocs_attach(subscriber, &allocations);
    rb_rpp_subscriber_set_pipeline(subscriber, pipeline);
    combine_options();
    if (first) rb_rpp_engine_start(options->engine);
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        rb_rpp_join_window(t, subscriber);
    }
    uint64_t now = rpp_monotonic_ns();
    rpp_pipeline_open(pipeline, now);
    rpp_pipeline_want_frames(pipeline, true); /* frames that another session left without names */
    if (!paused) resume_at(subscriber, now);
    rb_rpp_labels_changed(rb_rpp_labels_current());
}

void rb_rpp_sampler_detach(rb_rpp_subscriber subscriber)
{
    rb_rpp_sampler_pause(subscriber);
    rb_rpp_allocs_detach(subscriber);
    rb_rpp_subscriber_set_pipeline(subscriber, NULL);
    if (rb_rpp_subscribers_any()) {
        combine_options();
        return;
    }
    rb_rpp_engine_stop();
    rb_rpp_labels_end_era();
    rb_rpp_sampler_leave_threads();
}

static void *nap(void *unused)
{
    struct timespec a_moment = {0, (long)RPP_NS_PER_MS};
    nanosleep(&a_moment, NULL);
    return NULL;
}

/* True if a boundary after `window` is flushed. */
static bool is_flushed_since(const rpp_pipeline *pipeline, uint32_t window)
{
    return rpp_pipeline_window(pipeline) != window && !rpp_pipeline_is_rotating(pipeline);
}

/* In slices, like jobs, so that other threads run in between. */
bool rb_rpp_flush_until(rb_rpp_subscriber subscriber, uint64_t deadline_ns)
{
    rpp_pipeline *pipeline = rb_rpp_subscriber_pipeline(subscriber);
    if (!pipeline) return false;
    uint32_t window = rpp_pipeline_window(pipeline); /* open: a rotation in progress flushes the one before it */
    while (!rb_rpp_rotate(subscriber, JOB_BUDGET_NS) || !is_flushed_since(pipeline, window)) {
        if (rpp_monotonic_ns() >= deadline_ns) return false;
        rb_thread_call_without_gvl(nap, NULL, NULL, NULL);
        if (rb_rpp_subscriber_pipeline(subscriber) != pipeline) return false;
    }
    while (work_on_frames() && rpp_monotonic_ns() < deadline_ns) {
        rb_thread_schedule();
        if (rb_rpp_subscriber_pipeline(subscriber) != pipeline) return false;
    }
    rpp_pipeline_wake(pipeline);
    return true;
}

const char *rb_rpp_sampler_engine(void)
{
    return rb_rpp_engine_name();
}

/* --- life --- */

void rb_rpp_sampler_init(void)
{
    rb_rpp_subscribers_init();
    rb_rpp_trigger_init(job);
    rb_rpp_threads_init();
    rb_rpp_thread_starts_init();
    rb_rpp_allocs_init();
}

void rb_rpp_sampler_leave_vm(void)
{
    rb_rpp_trigger_leave_vm();
    rb_rpp_hooks_leave_vm();
}

void rb_rpp_sampler_discard_after_fork(void (*restart)(void))
{
    rb_rpp_budget_discard_after_fork();
    rb_rpp_trigger_discard_after_fork();
    rb_rpp_hooks_discard_after_fork();
    rb_rpp_allocs_discard_after_fork();
    rb_rpp_subscribers_discard_after_fork();
    rb_rpp_capture_discard_after_fork();
    rb_rpp_overhead_discard_after_fork();
    rb_rpp_frames_discard_after_fork();
    rb_rpp_timers_discard_after_fork();
    rb_rpp_threads_discard_after_fork();
    atomic_store(&restart_in_child, restart);
    rb_rpp_trigger();
}

bool rb_rpp_sampler_will_restart(void)
{
    return atomic_load_explicit(&restart_in_child, memory_order_relaxed) != NULL;
}
