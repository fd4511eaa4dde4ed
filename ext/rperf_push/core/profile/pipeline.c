/* pipeline.c - the collector: takes samples out of the buffer, sums them, and closes a window at every interval. */
#include "profile/pipeline.h"

#include <stdatomic.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/thread.h"
#include "base/waker.h"
#include "profile/burst_switch.h"
#include "profile/contention.h"
#include "profile/no_samples.h"
#include "profile/open_windows.h"
#include "profile/shown_stacks.h"

/* While no thread runs, nothing can be captured and no window can close, so the collector sleeps until a thread runs.
 * It wakes up once in this time anyway, in case it missed one. */
#define DEEP_SLEEP_NS         (5 * RPP_NS_PER_S)
/* The collector asks for rotations and for work on frames this often, even if the sampling period is longer. */
#define LONGEST_TICK_NS       (50 * RPP_NS_PER_MS)
/* A job at the next safepoint names frames. A window waits no longer than this for names. */
#define NAMES_WAIT_NS         (3 * RPP_NS_PER_S)
#define COLLECTOR_STACK_BYTES (1024 * 1024)

struct rpp_pipeline {
    /* set when it is created */
    rpp_pipeline_options options;
    rpp_pipeline_seams seams;
    const rpp_clock *clock;
    const rpp_frame_names *names;
    rpp_sample_buffer *buffer;

    /* shared with the sampler */
    _Atomic unsigned work;
    _Atomic uint32_t window;      /* the current window */
    _Atomic uint32_t rotated;     /* windows below this one are flushed and may be closed */
    _Atomic uint64_t boundary_ns; /* of the last rotation */
    _Atomic bool last;
    _Atomic bool asleep;
    _Atomic uint64_t stirred_ns; /* when a thread began to run during the deep sleep; 0: none */
    rpp_waker waker;
    rpp_ticker *ticker;
    rpp_ticker_seat seat;
    rpp_burst_switch watch;
    rpp_open_windows windows;
    rpp_levels *levels; /* NULL: none */

    /* collector only */
    uint64_t flushed_since_ns;
    rpp_no_samples no_samples;

    pthread_t thread;
    bool started;

    pthread_mutex_t lock;
    /* under lock */
    pthread_cond_t changed;
    uint32_t delivered; /* windows below this one went to `deliver` */
    bool stopping, ended;
};

static uint64_t monotonic(const rpp_pipeline *p)
{
    return p->clock->monotonic_ns(p->clock->context);
}

rpp_pipeline *rpp_pipeline_new(const rpp_pipeline_options *options, const rpp_pipeline_seams *seams,
                               rpp_frame_names *names)
{
    rpp_pipeline *p = rpp_calloc(1, sizeof *p);
    if (!p) return NULL;
    p->options = *options;
    p->seams = *seams;
    p->clock = options->clock ? options->clock : &rpp_system_clock;
    p->names = names;
    p->buffer = rpp_sample_buffer_new(options->buffer_half_bytes);
    if (options->watched_max) p->levels = rpp_levels_new(names, options->watched_max, options->ages);
    if (!p->buffer || (options->watched_max && !p->levels)) {
        rpp_levels_free(p->levels);
        rpp_sample_buffer_free(p->buffer);
        rpp_free(p);
        return NULL;
    }
    uint64_t now = monotonic(p);
    p->windows.clock = p->clock;
    p->windows.limits = options->limits;
    p->windows.interval_ns = options->interval_ns;
    p->windows.keeps_pace = options->keeps_pace;
    rpp_open_windows_init(&p->windows, now);
    atomic_store(&p->boundary_ns, now);
    if (options->bursts.on_ns) rpp_burst_switch_init(&p->watch, options->bursts.on_ns, options->bursts.off_ns, now);
    if (options->warns_without_samples) rpp_no_samples_init(&p->no_samples, options->interval_ns, now);
    rpp_waker_init(&p->waker);
    p->ticker = options->ticker;
    p->seat.waker = &p->waker;
    pthread_mutex_init(&p->lock, NULL);
    rpp_cond_init(&p->changed);
    return p;
}

void rpp_pipeline_open(rpp_pipeline *p, uint64_t start_ns)
{
    rpp_open_windows_open(&p->windows, start_ns);
    atomic_store(&p->boundary_ns, start_ns);
}

void rpp_pipeline_free(rpp_pipeline *p)
{
    if (!p) return;
    rpp_ticker_leave(p->ticker, &p->seat);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    rpp_waker_destroy(&p->waker);
    rpp_open_windows_destroy(&p->windows);
    rpp_levels_free(p->levels);
    rpp_sample_buffer_free(p->buffer);
    rpp_free(p);
}

void rpp_pipeline_discard_after_fork(rpp_pipeline *p)
{
    rpp_sample_buffer_discard_after_fork(p->buffer);
}

/* --- the collector thread --- */

/* A sample belongs to the current window, or during a rotation to the previous one. */
static void ingest(const rpp_sample *sample, const rpp_location *locations, void *context)
{
    rpp_pipeline *p = context;
    if (rpp_open_windows_add(&p->windows, sample, locations) != RPP_OK) {
        rpp_stats_add(RPP_STAT_time_lost_ns, sample->wall_ns);
    }
    if (p->levels && sample->watched) rpp_levels_note(p->levels, sample, locations);
    if (p->options.seen && !sample->is_total) rpp_current_stacks_note(p->options.seen, sample, locations, monotonic(p));
    rpp_label_set_release(sample->labels);
}

static void drain(rpp_pipeline *p)
{
    if (rpp_sample_buffer_drain(p->buffer, ingest, p)) rpp_no_samples_end(&p->no_samples, monotonic(p));
}

static uint32_t delivered_windows(rpp_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    uint32_t delivered = p->delivered;
    pthread_mutex_unlock(&p->lock);
    return delivered;
}

static void set_delivered(rpp_pipeline *p, uint32_t windows)
{
    pthread_mutex_lock(&p->lock);
    p->delivered = windows;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void begin_window(rpp_pipeline *p, uint64_t start_ns)
{
    rpp_open_windows_begin(&p->windows, start_ns);
    if (p->options.seen) rpp_current_stacks_begin_window(p->options.seen, atomic_load(&p->window));
}

/* If the kernel's tick is longer than the period, every tick is taken. */
static rpp_weighing weighing_of(const rpp_pipeline *p)
{
    uint64_t period = rpp_ticker_period_ns(p->ticker);
    return (rpp_weighing){period > p->options.tick_ns ? period : p->options.tick_ns, atomic_load(&p->last)};
}

/* A preemption often falls on a tick, because the kernel's time slices end at ticks. */
static void note_preemptions(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) == 0) rpp_stats_set(RPP_STAT_preemptions, (uint64_t)used.ru_nivcsw);
}

/* An encoded window takes time. Another collector ticks meanwhile. */
static void deliver(rpp_pipeline *p, rpp_profile *profile, uint64_t start_ns, uint64_t end_ns)
{
    rpp_stats_add(RPP_STAT_windows_closed, 1);
    note_preemptions();
    if (profile) {
        rpp_profile_close(profile, rpp_open_windows_realtime_ns(&p->windows, start_ns), end_ns - start_ns);
        rpp_ticker_hand_over(p->ticker, &p->seat);
        rpp_find_contentions(profile, p->names);
        rpp_show_stacks(profile, p->names, p->options.class_labels);
        p->seams.deliver(profile, p->seams.context);
        rpp_ticker_come_back(p->ticker, &p->seat);
    } else {
        rpp_stats_add(RPP_STAT_windows_empty, 1);
    }
}

static uint64_t known_due_ns(const rpp_pipeline *p)
{
    return rpp_open_windows_known_due_ns(&p->windows, atomic_load(&p->window));
}

static void deliver_what_is_known(rpp_pipeline *p)
{
    uint64_t now = monotonic(p);
    uint32_t window = atomic_load(&p->window);
    if (now < known_due_ns(p) || window != delivered_windows(p)) return;
    rpp_profile *known = rpp_open_windows_take_known(&p->windows, window, weighing_of(p), p->names, now);
    if (known) deliver(p, known, atomic_load(&p->windows.start_ns), now);
}

/* Closes and delivers the window that a rotation has flushed, once its frames have names. */
static void close_flushed_window(rpp_pipeline *p, bool wait_for_names)
{
    uint32_t window = delivered_windows(p);
    if (window == atomic_load_explicit(&p->rotated, memory_order_acquire)) return;
    drain(p); /* the buffer has everything that was flushed before `rotated` was raised */

    uint64_t now = monotonic(p), end = atomic_load(&p->boundary_ns);
    if (!p->flushed_since_ns) p->flushed_since_ns = now;
    if (wait_for_names && now - p->flushed_since_ns < NAMES_WAIT_NS &&
        !rpp_open_windows_is_named(&p->windows, window, p->names)) {
        return;
    }
    p->flushed_since_ns = 0;

    rpp_closed_window closed = rpp_open_windows_close(&p->windows, window, weighing_of(p), end);
    if (closed.late) deliver(p, closed.late, closed.start_ns, closed.known_until_ns);
    if (!closed.profile) rpp_no_samples_window(&p->no_samples);
    if (p->levels) rpp_levels_add(p->levels, window, &p->options.limits, &closed.profile);
    deliver(p, closed.profile, closed.since_ns, end);
    begin_window(p, end);
    set_delivered(p, window + 1);
}

static bool is_stopping(rpp_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    bool stopping = p->stopping;
    pthread_mutex_unlock(&p->lock);
    return stopping;
}

/* --- ticks and waits --- */

/* After a deep sleep, the thread that woke the collector began to run before it: ticks from now on would miss its first
 * work. */
static bool is_tick(rpp_pipeline *p, bool slept)
{
    uint64_t now = monotonic(p), stirred = atomic_exchange(&p->stirred_ns, 0);
    uint64_t awake_since = stirred ? stirred : now;
    return rpp_ticker_is_due(p->ticker, &p->seat, now, slept ? awake_since : 0);
}

static void tick(rpp_pipeline *p)
{
    rpp_finding found = p->seams.find(p->seams.context); /* none: the thread has just stopped */
    if (rpp_ticker_note(p->ticker, &p->seat, found)) atomic_fetch_or(&p->work, RPP_WORK_TICK);
}

/* Asks for work while a safepoint is likely. Asks again every period, because the VM may lose a request. */
static void ask_for_work(rpp_pipeline *p, unsigned activity, bool is_tick)
{
    bool is_over = monotonic(p) >= p->windows.due_ns || (p->levels && rpp_levels_are_filling(p->levels));
    if (is_over && delivered_windows(p) == atomic_load(&p->window)) {
        atomic_fetch_or(&p->work, RPP_WORK_ROTATE);
    }
    if (is_tick && (activity & RPP_ACTIVITY_OVERDUE)) tick(p);
    bool due = atomic_load(&p->work) || !rpp_burst_switch_is_followed(&p->watch);
    if ((activity & RPP_ACTIVITY_RAN) && due) p->seams.ask(p->seams.context);
}

/* The name explains the backtrace of an idle process. */
static void collector_sleeps_until_a_thread_runs(rpp_pipeline *p)
{
    uint64_t until = monotonic(p) + DEEP_SLEEP_NS;
    rpp_waker_wait(&p->waker, rpp_ns_least(until, known_due_ns(p)));
}

/* A collector that does not tick sleeps until its window is over, and then wakes in the same rhythm until the window is
 * flushed. With bursts, each wakes at their changes as well. */
static void collector_waits_for_the_next_tick(rpp_pipeline *p)
{
    uint64_t period = rpp_ticker_period_ns(p->ticker), tick = rpp_ticker_next_ns(p->ticker, &p->seat);
    uint64_t now = monotonic(p), due = p->windows.due_ns > now ? p->windows.due_ns : UINT64_MAX;
    bool ticks = tick != UINT64_MAX;
    bool is_calm = !ticks && due != UINT64_MAX && !atomic_load(&p->work);
    uint64_t next = rpp_ns_least(ticks ? tick : due, rpp_burst_switch_next_ns(&p->watch));
    uint64_t at_last = now + (is_calm || period > LONGEST_TICK_NS ? LONGEST_TICK_NS : period);
    rpp_waker_wait(&p->waker, rpp_ns_least(next, at_last));
}

static void *collector_main(void *context)
{
    rpp_pipeline *p = context;
    unsigned quiet = 0;
    bool slept = true;
    while (!is_stopping(p)) {
        /* Set before asking for activity: a thread that runs after the answer then ends the sleep. */
        atomic_store(&p->asleep, quiet > 0);
        bool due = is_tick(p, slept);
        unsigned activity = p->seams.activity(p->seams.context);
        quiet = activity ? 0 : quiet + 1;
        drain(p);
        rpp_burst_switch_update(&p->watch, slept, monotonic(p));
        ask_for_work(p, activity, due);
        close_flushed_window(p, true);
        rpp_no_samples_check(&p->no_samples, monotonic(p));
        slept = quiet >= 2;
        if (!slept) {
            collector_waits_for_the_next_tick(p);
        } else {
            deliver_what_is_known(p);
            if (rpp_burst_switch_sleep(&p->watch)) p->seams.ask(p->seams.context);
            collector_sleeps_until_a_thread_runs(p);
        }
    }
    close_flushed_window(p, false);

    pthread_mutex_lock(&p->lock);
    p->ended = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

rpp_status rpp_pipeline_start(rpp_pipeline *p)
{
    rpp_status status = rpp_thread_start(&p->thread, "rpp-collector", COLLECTOR_STACK_BYTES, collector_main, p);
    p->started = status == RPP_OK;
    return status;
}

/* Waits for a change, under the lock. False: the deadline has passed, or the wait was cancelled. */
static bool wait_for_change(rpp_pipeline *p, rpp_cancellation *cancellation)
{
    if (rpp_cancellation_is_over(cancellation, rpp_monotonic_ns())) return false;
    rpp_cancellation_wait(cancellation, &p->changed, &p->lock, cancellation->deadline_ns);
    return true;
}

rpp_status rpp_pipeline_stop(rpp_pipeline *p, rpp_cancellation *cancellation)
{
    if (!p->started) return RPP_OK;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    rpp_waker_wake(&p->waker);
    while (!p->ended && wait_for_change(p, cancellation)) continue;
    bool ended = p->ended;
    pthread_mutex_unlock(&p->lock);
    if (!ended) return RPP_TIMEOUT;
    pthread_join(p->thread, NULL);
    p->started = false;
    return RPP_OK;
}

/* --- for the sampler --- */

rpp_sample_buffer *rpp_pipeline_buffer(rpp_pipeline *p)
{
    return p->buffer;
}

unsigned rpp_pipeline_work(rpp_pipeline *p)
{
    return atomic_fetch_and(&p->work, ~RPP_WORK_TICK);
}

uint32_t rpp_pipeline_window(const rpp_pipeline *p)
{
    return atomic_load_explicit(&p->window, memory_order_relaxed);
}

void rpp_pipeline_stir(rpp_pipeline *p)
{
    if (!atomic_load_explicit(&p->asleep, memory_order_relaxed)) return;
    uint64_t none = 0;
    atomic_compare_exchange_strong(&p->stirred_ns, &none, monotonic(p));
    rpp_waker_wake(&p->waker);
}

bool rpp_pipeline_watches(const rpp_pipeline *p)
{
    return rpp_burst_switch_is_on(&p->watch);
}

void rpp_pipeline_set_bursts(rpp_pipeline *p, bool on)
{
    rpp_burst_switch_want(&p->watch, on);
}

void rpp_pipeline_note_watching(rpp_pipeline *p, bool on)
{
    rpp_burst_switch_note(&p->watch, on);
}

void rpp_pipeline_wake(rpp_pipeline *p)
{
    rpp_waker_wake(&p->waker);
}

void rpp_pipeline_want_frames(rpp_pipeline *p, bool wanted)
{
    if (wanted) {
        atomic_fetch_or(&p->work, RPP_WORK_FRAMES);
    } else {
        atomic_fetch_and(&p->work, ~RPP_WORK_FRAMES);
    }
}

rpp_status rpp_pipeline_begin_rotation(rpp_pipeline *p, uint64_t boundary_ns)
{
    uint32_t window = atomic_load(&p->window);
    if (window != delivered_windows(p)) return RPP_BUSY;
    atomic_store(&p->boundary_ns, boundary_ns);
    atomic_store_explicit(&p->window, window + 1, memory_order_release);
    return RPP_OK;
}

void rpp_pipeline_end_rotation(rpp_pipeline *p)
{
    atomic_fetch_and(&p->work, ~RPP_WORK_ROTATE);
    atomic_store_explicit(&p->rotated, atomic_load(&p->window), memory_order_release);
    rpp_pipeline_wake(p);
}

void rpp_pipeline_tell_level(rpp_pipeline *p, const rpp_watched *watched)
{
    if (p->levels) rpp_levels_tell(p->levels, watched, rpp_pipeline_boundary_ns(p));
}

bool rpp_pipeline_is_rotating(const rpp_pipeline *p)
{
    return atomic_load(&p->rotated) != atomic_load(&p->window);
}

uint64_t rpp_pipeline_boundary_ns(const rpp_pipeline *p)
{
    return atomic_load_explicit(&p->boundary_ns, memory_order_relaxed);
}

/* --- for any ordinary thread --- */

void rpp_pipeline_set_last(rpp_pipeline *p)
{
    atomic_store(&p->last, true);
}

rpp_status rpp_pipeline_wait_delivered(rpp_pipeline *p, uint32_t window, rpp_cancellation *cancellation)
{
    pthread_mutex_lock(&p->lock);
    while ((int32_t)(p->delivered - window) < 0 && !p->ended && wait_for_change(p, cancellation)) continue;
    bool delivered = (int32_t)(p->delivered - window) >= 0;
    pthread_mutex_unlock(&p->lock);
    return delivered ? RPP_OK : RPP_TIMEOUT;
}

void rpp_pipeline_set_ticking(rpp_pipeline *p, bool on)
{
    if (on) {
        rpp_ticker_join(p->ticker, &p->seat);
    } else {
        rpp_ticker_leave(p->ticker, &p->seat);
    }
}
