/* pipeline.c - the collector: takes samples out of the buffer, sums them, and closes a window at every interval. */
#include "profile/pipeline.h"

#include <stdatomic.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/thread.h"
#include "base/waker.h"
#include "profile/silence.h"
#include "profile/window_part.h"

/* While no thread runs, nothing can be captured and no window can close, so the collector sleeps until a thread runs. It wakes up
 * once in this time anyway, in case it missed one. */
#define DEEP_SLEEP_NS         (5 * RPP_NS_PER_S)
/* A process that works now and then reaches a safepoint this soon after the end of a window; an idle process does not. */
#define SAFEPOINT_PATIENCE_NS DEEP_SLEEP_NS
/* The collector asks for rotations and for work on frames this often, even if the sampling period is longer. */
#define LONGEST_TICK_NS       (50 * RPP_NS_PER_MS)
/* A job at the next safepoint names frames. A window waits no longer than this for names. */
#define NAMES_PATIENCE_NS     (3 * RPP_NS_PER_S)
/* Windows follow the monotonic clock. If the wall clock was set by more than this, the next window starts at the new time. */
#define CLOCK_STEP_NS         RPP_NS_PER_S
#define COLLECTOR_STACK_BYTES (1024 * 1024)

struct rpp_pipeline {
    /* set at birth */
    rpp_pipeline_options options;
    rpp_pipeline_seams seams;
    const rpp_clock *clock;
    const rpp_frame_names *names;
    rpp_sample_buffer *buffer;

    /* shared with the sampler */
    _Atomic unsigned work;
    _Atomic unsigned ticks;           /* not taken yet, of the thread that they found */
    _Atomic(const void *) found;      /* that thread */
    _Atomic uint64_t found_cpu_ns;    /* its CPU clock at the last of these ticks */
    _Atomic uint64_t found_ns;        /* the time of the last of these ticks */
    _Atomic uint32_t window;          /* the current window */
    _Atomic uint32_t rotated;         /* windows below this one are settled and may be sealed */
    _Atomic uint64_t boundary_ns;     /* of the last rotation */
    _Atomic uint64_t window_start_ns; /* of the window that will be sealed next */
    _Atomic uint64_t period_ns;
    _Atomic bool last;
    _Atomic bool ticking;
    _Atomic bool asleep;
    _Atomic uint64_t stirred_ns; /* when a thread began to run during the deep sleep; 0: none */
    rpp_waker waker;

    /* collector only */
    rpp_profile *open[2]; /* by the window's lowest bit; NULL until its first sample */
    uint64_t due_ns, settled_since_ns;
    uint64_t known_until_ns; /* the first part of the open window was delivered up to here; 0: not yet */
    uint64_t random, tick_ns, tick_period_end_ns; /* each period has one tick, at a random place */
    uint64_t realtime_offset_ns;                  /* realtime = monotonic + this, modulo 2^64 */
    rpp_silence silence;
    rpp_rests rests;

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

static uint64_t current_offset(const rpp_pipeline *p)
{
    return p->clock->realtime_ns(p->clock->context) - monotonic(p);
}

/* The first window is shorter by a random part, so that processes that start together do not upload together. */
static uint64_t first_interval(uint64_t interval_ns)
{
    uint64_t random = rpp_random_seed();
    uint64_t tenths = 1000 + rpp_random_next(&random) % 9001;
    return interval_ns / 10000 * tenths;
}

rpp_pipeline *rpp_pipeline_new(const rpp_pipeline_options *options, const rpp_pipeline_seams *seams,
                               const rpp_frame_names *names)
{
    rpp_pipeline *p = rpp_calloc(1, sizeof *p);
    if (!p) return NULL;
    p->options = *options;
    p->seams = *seams;
    p->clock = options->clock ? options->clock : &rpp_system_clock;
    p->names = names;
    p->buffer = rpp_sample_buffer_new(options->buffer_half_bytes);
    if (!p->buffer) {
        rpp_free(p);
        return NULL;
    }
    uint64_t now = monotonic(p);
    p->due_ns = now + first_interval(options->interval_ns);
    p->random = rpp_random_seed();
    p->realtime_offset_ns = current_offset(p);
    if (options->tells_silence) rpp_silence_init(&p->silence, options->interval_ns, now);
    rpp_pipeline_open(p, now);
    atomic_store(&p->period_ns, options->period_ns);
    atomic_store(&p->ticking, true);
    rpp_waker_init(&p->waker);
    pthread_mutex_init(&p->lock, NULL);
    rpp_cond_init(&p->changed);
    return p;
}

void rpp_pipeline_open(rpp_pipeline *p, uint64_t start_ns)
{
    atomic_store(&p->window_start_ns, start_ns);
    atomic_store(&p->boundary_ns, start_ns);
}

void rpp_pipeline_free(rpp_pipeline *p)
{
    if (!p) return;
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    rpp_waker_destroy(&p->waker);
    rpp_profile_free(p->open[0]);
    rpp_profile_free(p->open[1]);
    rpp_sample_buffer_free(p->buffer);
    rpp_free(p);
}

void rpp_pipeline_forget_after_fork(rpp_pipeline *p)
{
    rpp_sample_buffer_forget_after_fork(p->buffer);
}

/* --- the collector thread --- */

/* A sample belongs to the current window, or during a rotation to the previous one. */
static void ingest(const rpp_sample *sample, const rpp_location *locations, void *context)
{
    rpp_pipeline *p = context;
    rpp_profile **slot = &p->open[sample->window & 1];
    if (!*slot) *slot = rpp_profile_new(&p->options.limits);
    if (!*slot || rpp_profile_add(*slot, sample, locations) != RPP_OK) {
        rpp_stats_add(RPP_STAT_time_lost_ns, sample->wall_ns);
    }
    if (p->options.seen && !sample->sum) rpp_whereabouts_note(p->options.seen, sample, locations, monotonic(p));
    rpp_label_set_release(sample->labels);
}

static void drain(rpp_pipeline *p)
{
    if (rpp_sample_buffer_drain(p->buffer, ingest, p)) rpp_silence_end(&p->silence, monotonic(p));
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
    uint64_t offset = current_offset(p);
    int64_t step = (int64_t)(offset - p->realtime_offset_ns);
    if (step > (int64_t)CLOCK_STEP_NS || step < -(int64_t)CLOCK_STEP_NS) p->realtime_offset_ns = offset;
    atomic_store(&p->window_start_ns, start_ns);
    p->due_ns = start_ns + p->options.interval_ns;
    if (p->options.seen) rpp_whereabouts_begin_window(p->options.seen, atomic_load(&p->window));
}

/* The greatest weight of a draw. If the kernel's tick is longer than the period, every tick is taken. */
static uint64_t longest_weight_ns(rpp_pipeline *p)
{
    uint64_t period = atomic_load_explicit(&p->period_ns, memory_order_relaxed);
    return period > p->options.tick_ns ? period : p->options.tick_ns;
}

static void share_out(rpp_pipeline *p, rpp_profile *profile)
{
    rpp_profile_share_out(profile, longest_weight_ns(p), atomic_load(&p->last), &p->rests);
}

/* NULL: no draw came. The time that the clocks summed up waits for a window with a draw. */
static rpp_profile *close_profile(rpp_pipeline *p, rpp_profile *profile)
{
    if (!profile) return NULL;
    share_out(p, profile);
    if (rpp_profile_row_count(profile)) return profile;
    rpp_profile_free(profile);
    return NULL;
}

/* A preemption often falls on a tick, because the kernel's time slices end at ticks. */
static void note_preemptions(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) == 0) rpp_stats_set(RPP_STAT_preemptions, (uint64_t)used.ru_nivcsw);
}

static void deliver(rpp_pipeline *p, rpp_profile *profile, uint64_t start_ns, uint64_t end_ns)
{
    rpp_stats_add(RPP_STAT_windows_sealed, 1);
    note_preemptions();
    if (profile) {
        rpp_profile_seal(profile, start_ns + p->realtime_offset_ns, end_ns - start_ns);
        p->seams.deliver(profile, p->seams.context);
    } else {
        rpp_stats_add(RPP_STAT_windows_empty, 1);
    }
}

/* If no thread runs, no thread can be settled. Then the known part of the window is delivered soon after its end, and the rest when a
 * thread runs. */
static bool may_deliver_what_is_known(const rpp_pipeline *p)
{
    const rpp_profile *profile = p->open[atomic_load(&p->window) & 1];
    return profile && !p->known_until_ns && rpp_profile_row_count(profile);
}

static uint64_t idle_due_ns(const rpp_pipeline *p)
{
    uint64_t half_ns = p->options.interval_ns / 2;
    return p->due_ns + (half_ns > SAFEPOINT_PATIENCE_NS ? half_ns : SAFEPOINT_PATIENCE_NS);
}

static void deliver_what_is_known(rpp_pipeline *p)
{
    uint64_t now = monotonic(p);
    uint32_t window = atomic_load(&p->window);
    if (now < idle_due_ns(p) || window != delivered_windows(p) || !may_deliver_what_is_known(p)) return;
    p->known_until_ns = now;
    share_out(p, p->open[window & 1]);
    rpp_profile *known = rpp_window_part_known(p->open[window & 1], p->names, &p->options.limits);
    if (known) deliver(p, known, atomic_load(&p->window_start_ns), now);
}

/* Seals and delivers the window that a rotation has settled, once its frames have names. */
static void seal_settled_window(rpp_pipeline *p, bool patient)
{
    uint32_t window = delivered_windows(p);
    if (window == atomic_load_explicit(&p->rotated, memory_order_acquire)) return;
    drain(p); /* the buffer has everything that was settled before `rotated` was raised */

    rpp_profile **slot = &p->open[window & 1];
    uint64_t now = monotonic(p), end = atomic_load(&p->boundary_ns);
    if (!p->settled_since_ns) p->settled_since_ns = now;
    if (patient && *slot && !rpp_profile_is_named(*slot, p->names) && now - p->settled_since_ns < NAMES_PATIENCE_NS) {
        return;
    }
    p->settled_since_ns = 0;

    uint64_t start = atomic_load(&p->window_start_ns), known_until = p->known_until_ns;
    rpp_profile *sealed = close_profile(p, *slot);
    *slot = NULL;
    p->known_until_ns = 0;
    if (known_until && sealed) {
        uint64_t since = end > known_until ? end - known_until : 0;
        rpp_profile *late = rpp_window_part_late(sealed, since, &p->options.limits);
        if (late) deliver(p, late, start, known_until);
    }
    if (!sealed) rpp_silence_window(&p->silence);
    deliver(p, sealed, known_until && known_until < end ? known_until : start, end);
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

/* Ticks do not depend on which thread runs. After a deep sleep, a tick at the moment of the wake-up would find the thread that wakes
 * first too often. And that thread began to run before the collector woke: ticks from now on would miss its first work. */
static bool is_tick(rpp_pipeline *p, bool slept)
{
    uint64_t now = monotonic(p), period = atomic_load_explicit(&p->period_ns, memory_order_relaxed);
    uint64_t stirred = atomic_exchange(&p->stirred_ns, 0);
    if (slept || now > p->tick_ns + period) p->tick_period_end_ns = slept && stirred ? stirred : now;
    if (!slept && now < p->tick_ns) return false;
    uint64_t at = rpp_random_next(&p->random) % period;
    p->tick_ns = p->tick_period_end_ns + at;
    p->tick_period_end_ns += period;
    return !slept;
}

/* The sampler may read while this writes, and get the time of one tick with the count of another. Then it has a little more or
 * less to weigh. But it never gets the count of another thread's ticks. */
static void note_tick(rpp_pipeline *p)
{
    rpp_finding found = p->seams.find(p->seams.context);
    if (!found.who) return; /* it has just stopped */
    if (atomic_load(&p->found) != found.who) atomic_store(&p->ticks, 0);
    atomic_store(&p->found, found.who);
    atomic_store(&p->found_cpu_ns, found.at.cpu_ns);
    atomic_store(&p->found_ns, found.at.wall_ns);
    atomic_fetch_add(&p->ticks, 1);
    atomic_fetch_or(&p->work, RPP_WORK_TICK);
    rpp_stats_add(RPP_STAT_ticks, 1);
}

/* Asks for work while a safepoint is likely. Asks again every period, because the VM may lose a request. */
static void ask_for_work(rpp_pipeline *p, unsigned activity, bool ticks)
{
    if (monotonic(p) >= p->due_ns && delivered_windows(p) == atomic_load(&p->window)) {
        atomic_fetch_or(&p->work, RPP_WORK_ROTATE);
    }
    if (ticks && (activity & RPP_ACTIVITY_OVERDUE)) note_tick(p);
    if ((activity & RPP_ACTIVITY_RAN) && atomic_load(&p->work)) p->seams.ask(p->seams.context);
}

/* The name explains the backtrace of an idle process. */
static void collector_sleeps_until_a_thread_runs(rpp_pipeline *p)
{
    uint64_t until = monotonic(p) + DEEP_SLEEP_NS;
    if (may_deliver_what_is_known(p) && idle_due_ns(p) < until) until = idle_due_ns(p);
    rpp_waker_wait(&p->waker, until);
}

/* Without ticks of its own: until the window is over, and then in the same rhythm, until it is settled. */
static uint64_t next_tick_ns(rpp_pipeline *p)
{
    if (atomic_load_explicit(&p->ticking, memory_order_relaxed)) return p->tick_ns;
    return p->due_ns > monotonic(p) ? p->due_ns : UINT64_MAX;
}

static void collector_waits_for_the_next_tick(rpp_pipeline *p)
{
    uint64_t period = atomic_load_explicit(&p->period_ns, memory_order_relaxed), now = monotonic(p);
    bool is_calm =
        !atomic_load_explicit(&p->ticking, memory_order_relaxed) && p->due_ns > now && !atomic_load(&p->work);
    uint64_t at_last = now + (is_calm || period > LONGEST_TICK_NS ? LONGEST_TICK_NS : period);
    uint64_t next = next_tick_ns(p);
    rpp_waker_wait(&p->waker, next < at_last ? next : at_last);
}

static void *collector_main(void *context)
{
    rpp_pipeline *p = context;
    unsigned quiet = 0;
    bool slept = true;
    while (!is_stopping(p)) {
        /* Set before asking for activity: a thread that runs after the answer then ends the sleep. */
        atomic_store(&p->asleep, quiet > 0);
        bool ticks = is_tick(p, slept) && atomic_load_explicit(&p->ticking, memory_order_relaxed);
        unsigned activity = p->seams.activity(p->seams.context);
        quiet = activity ? 0 : quiet + 1;
        drain(p);
        ask_for_work(p, activity, ticks);
        seal_settled_window(p, true);
        rpp_silence_look(&p->silence, monotonic(p));
        slept = quiet >= 2;
        if (!slept) {
            collector_waits_for_the_next_tick(p);
        } else {
            deliver_what_is_known(p);
            collector_sleeps_until_a_thread_runs(p);
        }
    }
    seal_settled_window(p, false);

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

/* Waits for a change, under the lock. False: the patience is over. */
static bool wait_for_change(rpp_pipeline *p, rpp_patience *patience)
{
    if (rpp_patience_is_over(patience, rpp_monotonic_ns())) return false;
    rpp_patience_wait(patience, &p->changed, &p->lock, patience->deadline_ns);
    return true;
}

rpp_status rpp_pipeline_stop(rpp_pipeline *p, rpp_patience *patience)
{
    if (!p->started) return RPP_OK;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    rpp_waker_wake(&p->waker);
    while (!p->ended && wait_for_change(p, patience)) continue;
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

rpp_ticks rpp_pipeline_take_ticks(rpp_pipeline *p)
{
    const void *who = atomic_load(&p->found);
    rpp_ticks ticks = {.count = atomic_exchange(&p->ticks, 0)};
    ticks.last.who = atomic_load(&p->found);
    if (ticks.last.who != who) ticks.count = 0;
    ticks.last.at.cpu_ns = atomic_load(&p->found_cpu_ns);
    ticks.last.at.wall_ns = atomic_load(&p->found_ns);
    return ticks;
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

rpp_status rpp_pipeline_wait_delivered(rpp_pipeline *p, uint32_t window, rpp_patience *patience)
{
    pthread_mutex_lock(&p->lock);
    while ((int32_t)(p->delivered - window) < 0 && !p->ended && wait_for_change(p, patience)) continue;
    bool delivered = (int32_t)(p->delivered - window) >= 0;
    pthread_mutex_unlock(&p->lock);
    return delivered ? RPP_OK : RPP_TIMEOUT;
}

void rpp_pipeline_set_ticking(rpp_pipeline *p, bool on)
{
    atomic_store_explicit(&p->ticking, on, memory_order_relaxed);
}

void rpp_pipeline_set_period(rpp_pipeline *p, uint64_t period_ns)
{
    atomic_store_explicit(&p->period_ns, period_ns, memory_order_relaxed);
}
