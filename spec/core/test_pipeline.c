/* test_pipeline.c - windows that meet exactly, and hold what was sampled in them.
 *
 * The clock is far ahead of the machine's, so every wait of the collector is as good as endless: it makes one turn for
 * each wake, and time passes when the test says so.
 */
#include "profile/pipeline.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/stats.h"
#include "test.h"

#define AHEAD       (1000000 * RPP_NS_PER_S)
#define EPOCH       (UINT64_C(1700000000) * RPP_NS_PER_S)
#define INTERVAL    (10 * RPP_NS_PER_S)
#define PERIOD      (10 * RPP_NS_PER_MS)
#define WINDOWS_MAX 8
#define UNTIL(ns)   (&(rpp_cancellation){.deadline_ns = (ns)})

typedef struct delivered {
    uint64_t time_ns, duration_ns, wall_ns;
    size_t rows;
    uint32_t leaf;
} delivered;

/* A pipeline, the sampler it asks, and whoever it delivers to. */
typedef struct fixture {
    rpp_pipeline *pipeline;
    rpp_ticker *ticker, own_ticker;
    rpp_frame_names *names;
    rpp_clock clock;
    uint64_t start_ns;
    _Atomic uint64_t now_ns, realtime_offset_ns;
    _Atomic unsigned activity, turns, asked;
    delivered windows[WINDOWS_MAX];
    _Atomic unsigned count;
    _Atomic bool held;           /* deliver does not come back */
    _Atomic bool runs_meanwhile; /* a thread begins to run just after the collector has looked */
    _Atomic uint64_t late_ns;    /* the same once; and the collector's next turn is that late */
    _Atomic(const void *) runs;  /* whom ticks find */
} fixture;

static uint64_t turned_clock(void *context)
{
    return atomic_load(&((fixture *)context)->now_ns);
}

static uint64_t turned_realtime(void *context)
{
    fixture *f = context;
    return atomic_load(&f->now_ns) + atomic_load(&f->realtime_offset_ns);
}

static void ask(void *context)
{
    atomic_fetch_add(&((fixture *)context)->asked, 1);
}

static unsigned activity(void *context)
{
    fixture *f = context;
    unsigned answer = atomic_load(&f->activity);
    atomic_fetch_add(&f->turns, 1);
    uint64_t late_ns = atomic_exchange(&f->late_ns, 0);
    if (late_ns) atomic_store(&f->activity, RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE);
    if (late_ns || atomic_load(&f->runs_meanwhile)) rpp_pipeline_stir(f->pipeline);
    atomic_fetch_add(&f->now_ns, late_ns);
    return answer;
}

/* Its CPU clock shows the time since the start. */
static rpp_finding find(void *context)
{
    fixture *f = context;
    uint64_t now = atomic_load(&f->now_ns);
    return (rpp_finding){.who = atomic_load(&f->runs), .at = {now - f->start_ns, now}};
}

static void deliver(rpp_profile *profile, void *context)
{
    fixture *f = context;
    delivered *window = &f->windows[atomic_load(&f->count)];
    window->time_ns = rpp_profile_time_ns(profile);
    window->duration_ns = rpp_profile_duration_ns(profile);
    window->rows = rpp_profile_row_count(profile);
    for (size_t i = 0; i < window->rows; i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        uint32_t depth;
        const uint32_t *stack = rpp_stack_table_get(rpp_profile_stacks(profile), row->stack, &depth);
        window->wall_ns += row->wall_ns;
        if (row->wall_ns) window->leaf = rpp_stack_table_location(rpp_profile_stacks(profile), stack[0]).frame;
    }
    rpp_profile_free(profile);
    atomic_fetch_add(&f->count, 1);
    while (atomic_load(&f->held)) sched_yield();
}

/* On the heap: it outlives a test that fails, as its thread does. NULL: a ticker of its own. */
static fixture *begin_with(rpp_ticker *ticker, bool keeps_pace)
{
    fixture *f = calloc(1, sizeof *f);
    rpp_ticker_init(&f->own_ticker, PERIOD);
    f->ticker = ticker ? ticker : &f->own_ticker;
    f->start_ns = rpp_monotonic_ns() + AHEAD;
    f->clock = (rpp_clock){turned_clock, turned_realtime, f};
    atomic_store(&f->now_ns, f->start_ns);
    atomic_store(&f->realtime_offset_ns, EPOCH);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN);
    atomic_store(&f->runs, "a thread");
    f->names = rpp_frame_names_new(2000);
    CHECK_OK(rpp_frame_names_ensure(f->names, 100));
    rpp_pipeline_options options = {.interval_ns = INTERVAL,
                                    .ticker = f->ticker,
                                    .buffer_half_bytes = 1 << 16,
                                    .limits = rpp_profile_default_limits,
                                    .keeps_pace = keeps_pace,
                                    .warns_without_samples = true,
                                    .bursts = {.on_ns = RPP_NS_PER_MS, .off_ns = RPP_NS_PER_MS},
                                    .clock = &f->clock};
    rpp_pipeline_seams seams = {.ask = ask, .activity = activity, .find = find, .deliver = deliver, .context = f};
    f->pipeline = rpp_pipeline_new(&options, &seams, f->names);
    CHECK(f->pipeline);
    rpp_stats_reset();
    rpp_pipeline_set_ticking(f->pipeline, true);
    CHECK_OK(rpp_pipeline_start(f->pipeline));
    return f;
}

static fixture *begin(void)
{
    return begin_with(NULL, false);
}

static uint64_t in_time(void)
{
    return rpp_monotonic_ns() + 20 * RPP_NS_PER_S;
}

static void finish(fixture *f)
{
    atomic_store(&f->held, false);
    CHECK_OK(rpp_pipeline_stop(f->pipeline, UNTIL(in_time())));
    rpp_pipeline_free(f->pipeline);
    rpp_frame_names_free(f->names);
    rpp_ticker_destroy(&f->own_ticker);
    free(f);
}

static void wait_for_turn(fixture *f, unsigned number)
{
    uint64_t deadline = in_time();
    while ((int)(atomic_load(&f->turns) - number) < 0) {
        if (rpp_monotonic_ns() > deadline) FAIL("the collector does not turn");
        sched_yield();
    }
}

/* One whole turn of the collector after this moment: the second one to begin shows that the first has ended. */
static void turn(fixture *f)
{
    for (int i = 0; i < 2; i++) {
        unsigned before = atomic_load(&f->turns);
        rpp_pipeline_wake(f->pipeline);
        wait_for_turn(f, before + 1);
    }
}

static void pass(fixture *f, uint64_t ns)
{
    atomic_fetch_add(&f->now_ns, ns);
}

static void push(fixture *f, uint32_t window, uint64_t wall_ns, uint32_t frame)
{
    rpp_location leaf = {frame, 0};
    rpp_sample sample = {.wall_ns = wall_ns, .thread_seq = 1, .window = window, .depth = 1};
    rpp_status status;
    do {
        status = rpp_sample_buffer_push(rpp_pipeline_buffer(f->pipeline), &sample, &leaf);
    } while (status == RPP_BUSY);
    CHECK_OK(status);
}

static void rotate(fixture *f, uint64_t boundary_ns)
{
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, boundary_ns));
    rpp_pipeline_end_rotation(f->pipeline);
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, rpp_pipeline_window(f->pipeline), UNTIL(in_time())));
}

static void wait_until_delivering(fixture *f)
{
    uint64_t deadline = in_time();
    while (!atomic_load(&f->count) && rpp_monotonic_ns() < deadline) sched_yield();
    CHECK_INT(f->count, 1);
}

static bool wants(fixture *f, unsigned work)
{
    return rpp_pipeline_work(f->pipeline) & work;
}

/* --- bursts
 * ---------------------------------------------------------------------------------------------------------- */

/* Time passes until the state is the wanted one. */
static void reach_moment(fixture *f, bool wanted)
{
    for (int i = 0; i < 1000 && rpp_pipeline_watches(f->pipeline) != wanted; i++) {
        pass(f, RPP_NS_PER_MS / 4);
        turn(f);
    }
    CHECK(rpp_pipeline_watches(f->pipeline) == wanted);
}

TEST(bursts_begin_and_end_and_are_asked_for_until_the_sampler_follows)
{
    fixture *f = begin();
    for (int i = 0; i < 100; i++) {
        pass(f, RPP_NS_PER_MS / 4);
        turn(f);
        CHECK(!rpp_pipeline_watches(f->pipeline)); /* nobody wants them */
    }
    rpp_pipeline_set_bursts(f->pipeline, true);
    atomic_store(&f->runs, NULL); /* no ticks */
    for (int round = 0; round < 4; round++) {
        bool on = round % 2 == 0;
        reach_moment(f, on);
        unsigned asked = atomic_load(&f->asked);
        turn(f);
        turn(f);
        CHECK(rpp_pipeline_watches(f->pipeline) != on || atomic_load(&f->asked) > asked);
        rpp_pipeline_note_watching(f->pipeline, on);
    }
    rpp_pipeline_set_bursts(f->pipeline, false);
    turn(f);
    CHECK(!rpp_pipeline_watches(f->pipeline));
    finish(f);
}

/* By the machine's clock. Without them it turns each 50 ms, which would take more than the time that the test has. */
TEST(bursts_wake_a_collector_that_does_not_tick)
{
    fixture *f = calloc(1, sizeof *f);
    rpp_ticker_init(&f->own_ticker, RPP_NS_PER_S);
    f->names = rpp_frame_names_new(100);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN);
    rpp_pipeline_options options = {.interval_ns = 100 * INTERVAL,
                                    .ticker = &f->own_ticker,
                                    .buffer_half_bytes = 1 << 14,
                                    .limits = rpp_profile_default_limits,
                                    .bursts = {.on_ns = RPP_NS_PER_MS, .off_ns = RPP_NS_PER_MS}};
    rpp_pipeline_seams seams = {.ask = ask, .activity = activity, .find = find, .deliver = deliver, .context = f};
    f->pipeline = rpp_pipeline_new(&options, &seams, f->names);
    CHECK_OK(rpp_pipeline_start(f->pipeline));
    rpp_pipeline_set_bursts(f->pipeline, true);
    wait_for_turn(f, 1000);
    finish(f);
}

static void wait_for_asking(fixture *f, unsigned before)
{
    uint64_t deadline = in_time();
    while (atomic_load(&f->asked) == before) {
        if (rpp_monotonic_ns() > deadline) FAIL("the collector does not ask");
        sched_yield();
    }
}

TEST(before_a_deep_sleep_the_state_is_sampled_that_the_next_thread_finds)
{
    fixture *f = begin();
    rpp_pipeline_set_bursts(f->pipeline, true);
    unsigned on = 0;
    for (int i = 0; i < 200; i++) {
        atomic_store(&f->activity, RPP_ACTIVITY_RAN);
        turn(f);
        unsigned before = atomic_load(&f->asked);
        rpp_pipeline_note_watching(f->pipeline, false);
        atomic_store(&f->activity, 0);
        turn(f);
        turn(f);
        if (!rpp_pipeline_watches(f->pipeline)) continue;
        on++;
        wait_for_asking(f, before); /* the turn that has begun may be about to ask */
    }
    CHECK(on > 50 && on < 150);
    finish(f);
}

/* --- windows --- */

TEST(windows_meet_at_their_boundaries)
{
    fixture *f = begin();
    const uint64_t lengths[] = {3 * RPP_NS_PER_S + 1, INTERVAL + 12345, INTERVAL};
    uint64_t boundary = f->start_ns;
    for (uint32_t window = 0; window < 3; window++) {
        push(f, window, 5, RPP_FRAME_UNKNOWN);
        boundary += lengths[window];
        pass(f, lengths[window] + 777); /* the rotation comes a little late */
        rotate(f, boundary);
        CHECK_INT(rpp_pipeline_boundary_ns(f->pipeline), boundary);
        pass(f, (uint64_t)-777);
    }
    CHECK_INT(f->count, 3);
    uint64_t time = f->start_ns + EPOCH;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(f->windows[i].time_ns, time);
        CHECK_INT(f->windows[i].duration_ns, lengths[i]);
        CHECK_INT(f->windows[i].wall_ns, 5);
        time += lengths[i];
    }
    finish(f);
}

TEST(the_first_window_begins_where_it_is_opened)
{
    fixture *f = begin();
    rpp_pipeline_open(f->pipeline, f->start_ns + 300);
    CHECK_INT(rpp_pipeline_boundary_ns(f->pipeline), f->start_ns + 300);
    push(f, 0, 5, RPP_FRAME_UNKNOWN);
    rotate(f, f->start_ns + 1000);
    CHECK_INT(f->windows[0].time_ns, f->start_ns + 300 + EPOCH);
    CHECK_INT(f->windows[0].duration_ns, 700);
    finish(f);
}

TEST(a_window_is_due_an_interval_after_the_last_boundary)
{
    fixture *f = begin();
    rotate(f, f->start_ns + 5);
    pass(f, 5 + INTERVAL - 1);
    turn(f);
    CHECK(!wants(f, RPP_WORK_ROTATE));
    pass(f, 1);
    turn(f);
    CHECK(wants(f, RPP_WORK_ROTATE));
    CHECK(wants(f, RPP_WORK_ROTATE)); /* until it is done */
    rotate(f, f->start_ns + 5 + INTERVAL);
    CHECK(!wants(f, RPP_WORK_ROTATE));
    finish(f);
}

TEST(at_a_steady_pace_a_late_boundary_makes_the_next_window_shorter)
{
    fixture *f = begin_with(NULL, true);
    rotate(f, f->start_ns);
    pass(f, INTERVAL);
    turn(f);
    pass(f, 7);
    rotate(f, f->start_ns + INTERVAL + 7);
    pass(f, INTERVAL - 8);
    turn(f);
    CHECK(!wants(f, RPP_WORK_ROTATE));
    pass(f, 1);
    turn(f);
    CHECK(wants(f, RPP_WORK_ROTATE));
    pass(f, 2 * INTERVAL); /* too late to be caught up with */
    rotate(f, f->start_ns + 4 * INTERVAL);
    pass(f, INTERVAL - 1);
    turn(f);
    CHECK(!wants(f, RPP_WORK_ROTATE));
    finish(f);
}

TEST(the_first_window_is_at_most_as_long_and_not_the_same_everywhere)
{
    unsigned early = 0;
    for (int i = 0; i < 20; i++) {
        fixture *f = begin();
        pass(f, INTERVAL / 10 - 1);
        turn(f);
        CHECK(!wants(f, RPP_WORK_ROTATE));
        pass(f, INTERVAL / 2);
        turn(f);
        early += wants(f, RPP_WORK_ROTATE);
        pass(f, INTERVAL);
        turn(f);
        CHECK(wants(f, RPP_WORK_ROTATE));
        finish(f);
    }
    CHECK(early > 0 && early < 20);
}

TEST(a_clock_that_was_set_moves_the_next_window)
{
    fixture *f = begin();
    const int64_t steps[] = {3600 * (int64_t)RPP_NS_PER_S, -60 * (int64_t)RPP_NS_PER_S};
    uint64_t offset = EPOCH, start;
    start = f->start_ns;
    for (uint32_t i = 0; i < 2; i++) {
        push(f, 2 * i, 1, RPP_FRAME_UNKNOWN);
        push(f, 2 * i + 1, 1, RPP_FRAME_UNKNOWN);
        atomic_fetch_add(&f->realtime_offset_ns, (uint64_t)steps[i]);
        pass(f, 2 * INTERVAL);
        rotate(f, start + INTERVAL);
        rotate(f, start + 2 * INTERVAL);
        CHECK_INT(f->windows[2 * i].time_ns, start + offset);
        CHECK_INT(f->windows[2 * i].duration_ns, INTERVAL);
        offset += (uint64_t)steps[i];
        CHECK_INT(f->windows[2 * i + 1].time_ns, start + INTERVAL + offset);
        CHECK_INT(f->windows[2 * i + 1].duration_ns, INTERVAL);
        start += 2 * INTERVAL;
    }
    finish(f);
}

TEST(a_clock_that_is_slewed_leaves_windows_without_gap)
{
    fixture *f = begin();
    for (uint32_t i = 0; i < 3; i++) {
        push(f, i, 1, RPP_FRAME_UNKNOWN);
        atomic_store(&f->realtime_offset_ns, EPOCH + (i + 1) * 300 * RPP_NS_PER_MS);
        rotate(f, f->start_ns + (i + 1) * INTERVAL);
        CHECK_INT(f->windows[i].time_ns, f->start_ns + EPOCH + i * INTERVAL);
    }
    finish(f);
}

TEST(a_window_without_samples_is_not_delivered)
{
    fixture *f = begin();
    rotate(f, f->start_ns + 100);
    CHECK_INT(f->count, 0);
    CHECK_INT(rpp_stats_get(RPP_STAT_windows_empty), 1);
    CHECK_INT(rpp_stats_get(RPP_STAT_windows_closed), 1);
    push(f, 1, 1, RPP_FRAME_UNKNOWN);
    rotate(f, f->start_ns + 300);
    CHECK_INT(f->count, 1);
    CHECK_INT(f->windows[0].time_ns, f->start_ns + EPOCH + 100);
    CHECK_INT(f->windows[0].duration_ns, 200);
    finish(f);
}

/* --- a process that does nothing
 * ------------------------------------------------------------------------------------ */

static void push_state(fixture *f, uint32_t thread, rpp_state state, uint64_t wall_ns)
{
    rpp_location leaf = {RPP_FRAME_UNKNOWN, 0};
    rpp_sample sample = {.wall_ns = wall_ns, .thread_seq = thread, .state = (uint8_t)state, .depth = 1};
    sample.window = rpp_pipeline_window(f->pipeline);
    while (rpp_sample_buffer_push(rpp_pipeline_buffer(f->pipeline), &sample, &leaf) == RPP_BUSY) continue;
}

/* What the clocks summed up of a thread that was sampled so often. */
static void push_run(fixture *f, uint32_t thread, unsigned samples, uint64_t cpu_ns)
{
    rpp_location leaf = {RPP_FRAME_UNKNOWN, 0};
    rpp_sample sampled = {
        .cpu_sampled_ns = PERIOD, .thread_seq = thread, .window = rpp_pipeline_window(f->pipeline), .depth = 1};
    rpp_sample sum = {.cpu_ns = cpu_ns, .is_total = true, .thread_seq = thread, .window = sampled.window};
    while (samples--) {
        while (rpp_sample_buffer_push(rpp_pipeline_buffer(f->pipeline), &sampled, &leaf) == RPP_BUSY) continue;
    }
    while (rpp_sample_buffer_push(rpp_pipeline_buffer(f->pipeline), &sum, &leaf) == RPP_BUSY) continue;
}

static void turns(fixture *f, int count)
{
    while (count--) turn(f);
}

#define KNOWN (INTERVAL + (INTERVAL / 2 > 5 * RPP_NS_PER_S ? INTERVAL / 2 : 5 * RPP_NS_PER_S))

/* A burst, then nothing runs until the window is over. */
static fixture *idle_after_a_burst(uint64_t burst_ns)
{
    fixture *f = begin();
    push_state(f, 1, RPP_STATE_RUNNING, burst_ns);
    turn(f);
    pass(f, burst_ns);
    atomic_store(&f->activity, 0);
    turns(f, 3);
    pass(f, KNOWN - burst_ns);
    turns(f, 2);
    return f;
}

TEST(what_is_known_of_a_window_without_safepoint_is_delivered_at_its_end)
{
    fixture *f = idle_after_a_burst(RPP_NS_PER_S);
    CHECK_INT(f->count, 1);
    CHECK_INT(f->windows[0].time_ns, f->start_ns + EPOCH);
    CHECK_INT(f->windows[0].duration_ns, KNOWN);
    CHECK_INT(f->windows[0].wall_ns, RPP_NS_PER_S);
    CHECK_INT(f->asked, 0); /* nobody was woken for it */
    pass(f, 5 * INTERVAL);
    turns(f, 3);
    CHECK_INT(f->count, 1); /* once */
    finish(f);
}

/* Samples say where, sums how much: the first part shares out those that were told. What comes later takes the same
 * way, and nothing is given twice. */
TEST(what_the_clocks_have_told_is_shared_out_in_the_first_part_and_the_rest_later)
{
    fixture *f = begin();
    push_run(f, 1, 30, 333 * RPP_NS_PER_MS);
    turn(f);
    atomic_store(&f->activity, 0);
    pass(f, KNOWN);
    turns(f, 4);
    CHECK_INT(f->count, 1);
    CHECK_INT(f->windows[0].wall_ns, 333 * RPP_NS_PER_MS);
    push_run(f, 1, 0, 8 * RPP_NS_PER_MS);        /* what was less than a period when it went to sleep */
    push_run(f, 1, 1, 15 * RPP_NS_PER_MS);       /* and what it does now */
    push_run(f, 2, 20, 200 * RPP_NS_PER_MS + 7); /* born since */
    pass(f, INTERVAL);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN);
    rotate(f, f->start_ns + KNOWN + INTERVAL);
    CHECK_INT(f->count, 2);
    CHECK_INT(f->windows[1].time_ns, f->start_ns + KNOWN + EPOCH);
    CHECK_INT(f->windows[1].wall_ns, 223 * RPP_NS_PER_MS + 7);
    finish(f);
}

TEST(a_safepoint_that_comes_soon_ends_the_window_whole)
{
    fixture *f = begin();
    push(f, 0, 5, RPP_FRAME_UNKNOWN);
    rotate(f, f->start_ns); /* the next window is of full length */
    push(f, 1, 7, RPP_FRAME_UNKNOWN);
    atomic_store(&f->activity, 0);
    pass(f, KNOWN - 1);
    turns(f, 4);
    CHECK_INT(f->count, 1);
    pass(f, 1);
    turns(f, 2);
    CHECK_INT(f->count, 2);
    finish(f);
}

TEST(what_is_learnt_later_of_that_time_is_of_that_time)
{
    const uint64_t s = RPP_NS_PER_S, slept = 3 * INTERVAL;
    fixture *f = idle_after_a_burst(s);
    pass(f, slept);
    uint64_t all = KNOWN + slept + s;
    push_state(f, 1, RPP_STATE_BLOCKED, all - 2 * s); /* it ran for a second at first, and runs for one now */
    push_state(f, 1, RPP_STATE_RUNNING, s);
    push_state(f, 2, RPP_STATE_BLOCKED, all - s / 2); /* the other was waiting for the GVL half a second */
    push_state(f, 2, RPP_STATE_WAITING, s / 2);
    push_state(f, 3, RPP_STATE_RUNNING, s); /* born since */
    pass(f, s);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN);
    rotate(f, f->start_ns + all);
    CHECK_INT(f->count, 3);
    CHECK_INT(f->windows[1].time_ns, f->start_ns + EPOCH);
    CHECK_INT(f->windows[1].duration_ns, KNOWN);
    CHECK_INT(f->windows[0].wall_ns + f->windows[1].wall_ns, 2 * KNOWN); /* of both threads, all */
    CHECK_INT(f->windows[2].time_ns, f->start_ns + KNOWN + EPOCH);
    CHECK_INT(f->windows[2].duration_ns, slept + s);
    CHECK_INT(f->windows[2].wall_ns, 2 * (slept + s) + s);
    CHECK_INT(rpp_stats_get(RPP_STAT_windows_closed) - rpp_stats_get(RPP_STAT_windows_empty), 3);

    push(f, 1, 7, RPP_FRAME_UNKNOWN); /* and the next one is as ever */
    rotate(f, f->start_ns + all + INTERVAL);
    CHECK_INT(f->windows[3].wall_ns, 7);
    CHECK_INT(f->windows[3].time_ns, f->start_ns + all + EPOCH);
    finish(f);
}

TEST(what_has_no_names_yet_waits_for_a_safepoint_also_when_nothing_runs)
{
    fixture *f = begin();
    uint32_t frame = rpp_frame_names_reserve(f->names);
    push(f, 0, 5, frame);
    push(f, 0, 7, RPP_FRAME_UNKNOWN);
    atomic_store(&f->activity, 0);
    pass(f, KNOWN);
    turns(f, 4);
    CHECK_INT(f->count, 1);
    CHECK_INT(f->windows[0].wall_ns, 7);
    CHECK_OK(rpp_frame_names_set(f->names, frame, "f", 1, "f.rb", 4, 1, false));
    pass(f, INTERVAL);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN);
    rotate(f, f->start_ns + KNOWN + INTERVAL);
    CHECK_INT(f->count, 2);
    CHECK_INT(f->windows[1].wall_ns, 5);
    CHECK_INT(f->windows[1].leaf, frame);
    finish(f);
}

/* --- no samples
 * -------------------------------------------------------------------------------------------------------- */

static _Atomic unsigned warnings, infos;

static void count_line(rpp_log_level level, const char *line, void *context)
{
    (void)line;
    (void)context;
    atomic_fetch_add(level == RPP_LOG_WARN ? &warnings : &infos, 1);
}

TEST(three_windows_without_samples_are_told_and_so_is_their_end)
{
    fixture *f = begin();
    rpp_log_set_sink(count_line, NULL);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_INT(warnings, 0);
        pass(f, INTERVAL);
        turn(f); /* it begins to listen after the first one */
        rotate(f, f->start_ns + (i + 1) * INTERVAL);
    }
    turn(f);
    CHECK_INT(warnings, 1);
    CHECK_INT(infos, 0);
    push(f, 3, 1, RPP_FRAME_UNKNOWN);
    turn(f);
    rpp_log_set_sink(NULL, NULL);
    CHECK_INT(warnings, 1);
    CHECK_INT(infos, 1);
    finish(f);
}

TEST(time_that_finds_no_memory_is_counted)
{
    fixture *f = begin();
    turn(f);
    push(f, 0, 7, RPP_FRAME_UNKNOWN);
    rpp_alloc_fail_at(1);
    turn(f);
    rpp_alloc_fail_at(0);
    CHECK_INT(rpp_stats_get(RPP_STAT_time_lost_ns), 7);
    push(f, 0, 1, RPP_FRAME_UNKNOWN);
    rotate(f, f->start_ns + 100);
    CHECK_INT(f->windows[0].wall_ns, 1);
    finish(f);
}

/* --- rotation --- */

TEST(while_a_rotation_flushes_samples_of_both_windows_come)
{
    fixture *f = begin();
    push(f, 0, 1, RPP_FRAME_UNKNOWN);
    CHECK(!rpp_pipeline_is_rotating(f->pipeline));
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    CHECK(rpp_pipeline_is_rotating(f->pipeline));
    CHECK_INT(rpp_pipeline_window(f->pipeline), 1);
    push(f, 1, 1000, RPP_FRAME_UNKNOWN); /* a thread that is flushed runs on */
    turn(f);
    push(f, 0, 2, RPP_FRAME_UNKNOWN);
    push(f, 1, 2000, RPP_FRAME_UNKNOWN);
    turn(f);
    CHECK_INT(f->count, 0);
    push(f, 0, 4, RPP_FRAME_UNKNOWN);
    rpp_pipeline_end_rotation(f->pipeline);
    CHECK(!rpp_pipeline_is_rotating(f->pipeline));
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, 1, UNTIL(in_time())));
    CHECK_INT(f->windows[0].wall_ns, 7);
    rotate(f, f->start_ns + 100);
    CHECK_INT(f->windows[1].wall_ns, 3000);
    finish(f);
}

TEST(a_second_rotation_waits_for_the_first_to_be_delivered)
{
    fixture *f = begin();
    push(f, 0, 1, RPP_FRAME_UNKNOWN);
    atomic_store(&f->held, true);
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    CHECK_INT(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 60), RPP_BUSY);
    rpp_pipeline_end_rotation(f->pipeline);
    wait_until_delivering(f);
    CHECK_INT(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 60), RPP_BUSY);
    CHECK_INT(rpp_pipeline_boundary_ns(f->pipeline), f->start_ns + 50);
    CHECK_INT(rpp_pipeline_window(f->pipeline), 1);
    atomic_store(&f->held, false);
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, 1, UNTIL(in_time())));
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 60));
    finish(f);
}

/* --- names --- */

static uint32_t unnamed_frame(fixture *f)
{
    uint32_t id = rpp_frame_names_reserve(f->names);
    CHECK(id);
    return id;
}

TEST(a_window_waits_for_the_names_of_its_frames)
{
    fixture *f = begin();
    uint32_t frame = unnamed_frame(f);
    push(f, 0, 1, frame);
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    rpp_pipeline_end_rotation(f->pipeline);
    turn(f);
    pass(f, 2900 * RPP_NS_PER_MS);
    turn(f);
    CHECK_INT(f->count, 0);
    CHECK_OK(rpp_frame_names_set(f->names, frame, "f", 1, "", 0, 0, false));
    turn(f);
    CHECK_INT(f->count, 1);
    CHECK_INT(f->windows[0].duration_ns, 50);
    finish(f);
}

TEST(but_not_for_ever)
{
    fixture *f = begin();
    for (uint32_t window = 0; window < 2; window++) {
        push(f, window, 1, unnamed_frame(f));
        CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + window * INTERVAL));
        rpp_pipeline_end_rotation(f->pipeline);
        turn(f);
        CHECK_INT(f->count, window); /* each has cancellation of its own */
        pass(f, 3000 * RPP_NS_PER_MS);
        turn(f);
        CHECK_INT(f->count, window + 1);
    }
    finish(f);
}

TEST(work_on_frames_is_asked_for_while_there_is_some)
{
    fixture *f = begin();
    turn(f);
    unsigned asked = atomic_load(&f->asked);
    turn(f);
    CHECK_INT(f->asked, asked);
    rpp_pipeline_want_frames(f->pipeline, true);
    turn(f);
    CHECK(atomic_load(&f->asked) > asked);
    CHECK(wants(f, RPP_WORK_FRAMES));
    CHECK(wants(f, RPP_WORK_FRAMES));
    asked = atomic_load(&f->asked);
    turn(f);
    CHECK(atomic_load(&f->asked) > asked);
    rpp_pipeline_want_frames(f->pipeline, false);
    CHECK(!wants(f, RPP_WORK_FRAMES));
    asked = atomic_load(&f->asked);
    turn(f);
    CHECK_INT(f->asked, asked);
    finish(f);
}

/* --- ticks and sleep --- */

TEST(a_thread_that_is_overdue_is_asked_once_for_each_tick)
{
    fixture *f = begin();
    turn(f);
    CHECK(!wants(f, RPP_WORK_TICK));
    atomic_store(&f->activity, RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE);
    pass(f, 2 * PERIOD);
    turn(f);
    CHECK(atomic_load(&f->asked) > 0);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN);
    turn(f);
    CHECK(wants(f, RPP_WORK_TICK));
    CHECK(!wants(f, RPP_WORK_TICK));
    finish(f);
}

TEST(one_that_does_not_tick_still_asks_for_the_end_of_its_window)
{
    fixture *f = begin();
    rpp_pipeline_set_ticking(f->pipeline, false);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE);
    for (int i = 0; i < 10; i++) {
        pass(f, 2 * PERIOD);
        turn(f);
        CHECK(!wants(f, RPP_WORK_TICK));
    }
    pass(f, INTERVAL);
    turn(f);
    CHECK_INT(rpp_pipeline_work(f->pipeline), RPP_WORK_ROTATE);
    rpp_pipeline_set_ticking(f->pipeline, true);
    pass(f, 2 * PERIOD);
    turn(f);
    CHECK(wants(f, RPP_WORK_TICK));
    finish(f);
}

/* One at a random place in every period, however often the collector looks. */
TEST(ticks_come_once_a_period_and_not_with_who_begins_to_run)
{
    fixture *f = begin();
    unsigned ticks = 0, first = 0;
    for (int round = 0; round < 60; round++) {
        atomic_store(&f->activity, RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE);
        for (int i = 0; i < 40; i++) {
            pass(f, PERIOD / 10);
            turn(f);
            bool tick = wants(f, RPP_WORK_TICK);
            ticks += tick;
            first += tick && i == 0;
        }
        atomic_store(&f->activity, 0);
        for (int i = 0; i < 3; i++) turn(f); /* all sleep */
        pass(f, 10 * PERIOD);
    }
    CHECK(ticks > 200 && ticks < 280);
    CHECK(first < 20);
    finish(f);
}

/* Where all slept, there is one in the first period of the thread that runs first, however late the collector wakes. */
TEST(after_a_deep_sleep_ticks_begin_when_the_thread_did)
{
    fixture *f = begin();
    for (int round = 0; round < 20; round++) {
        atomic_store(&f->activity, 0);
        for (int i = 0; i < 3; i++) turn(f);
        CHECK(!wants(f, RPP_WORK_TICK));
        atomic_store(&f->late_ns, PERIOD);
        for (int i = 0; i < 2; i++) turn(f);
        CHECK(wants(f, RPP_WORK_TICK));
        pass(f, 10 * PERIOD);
    }
    finish(f);
}

/* A call without a safepoint may be as long as many: its capture weighs all of them. */
TEST(ticks_that_nobody_took_are_taken_together)
{
    fixture *f = begin();
    turn(f);
    (void)rpp_ticker_take(f->ticker);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE);
    for (int i = 0; i < 20; i++) {
        pass(f, PERIOD);
        turn(f);
    }
    rpp_ticks ticks = rpp_ticker_take(f->ticker);
    CHECK(ticks.count >= 19 && ticks.count <= 21); /* each period has one at a random place */
    CHECK_STR(ticks.last.who, "a thread");
    CHECK(ticks.last.at.wall_ns > f->start_ns + 18 * PERIOD);
    CHECK_INT(ticks.last.at.cpu_ns, ticks.last.at.wall_ns - f->start_ns);
    CHECK_INT(rpp_ticker_take(f->ticker).count, 0);
    finish(f);
}

/* A thread that lets others run without a safepoint takes its ticks with it. */
TEST(ticks_of_one_thread_do_not_weigh_on_the_next)
{
    fixture *f = begin();
    turn(f);
    (void)rpp_ticker_take(f->ticker);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE);
    for (int i = 0; i < 10; i++) {
        if (i == 6) atomic_store(&f->runs, "another");
        pass(f, PERIOD);
        turn(f);
    }
    rpp_ticks ticks = rpp_ticker_take(f->ticker);
    CHECK(ticks.count >= 3 && ticks.count <= 5);
    CHECK_STR(ticks.last.who, "another");
    atomic_store(&f->runs, NULL);
    for (int i = 0; i < 10; i++) {
        pass(f, PERIOD);
        turn(f);
    }
    CHECK_INT(rpp_ticker_take(f->ticker).count, 0);
    finish(f);
}

/* Two sessions: the application is sampled for both while the window of one is encoded. */
TEST(while_one_encodes_its_window_another_one_ticks)
{
    fixture *f = begin(), *other = begin_with(f->ticker, false);
    atomic_store(&other->now_ns, atomic_load(&f->now_ns));
    atomic_store(&other->activity, RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE);
    push(f, 0, 1, RPP_FRAME_UNKNOWN);
    turn(f);
    turn(other);
    CHECK_INT(rpp_ticker_take(f->ticker).count, 0);
    atomic_store(&f->held, true);
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    rpp_pipeline_end_rotation(f->pipeline);
    wait_until_delivering(f);
    for (int i = 0; i < 20; i++) {
        pass(other, PERIOD);
        turn(other);
    }
    CHECK(wants(other, RPP_WORK_TICK));
    unsigned ticks = rpp_ticker_take(f->ticker).count;
    CHECK(ticks >= 18 && ticks <= 21);
    finish(other);
    finish(f);
}

TEST(nobody_is_asked_while_no_thread_runs)
{
    fixture *f = begin();
    atomic_store(&f->activity, 0);
    turn(f);
    unsigned asked = atomic_load(&f->asked);
    rpp_pipeline_want_frames(f->pipeline, true);
    pass(f, 2 * INTERVAL);
    turn(f);
    CHECK_INT(f->asked, asked);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN);
    turn(f);
    CHECK(atomic_load(&f->asked) > asked);
    CHECK(wants(f, RPP_WORK_ROTATE));
    finish(f);
}

static bool is_stirred(fixture *f)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* on its way into its sleep */
    unsigned before = atomic_load(&f->turns);
    rpp_pipeline_stir(f->pipeline);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return atomic_load(&f->turns) != before;
}

TEST(a_stir_ends_the_deep_sleep_and_nothing_else)
{
    fixture *f = begin();
    turn(f);
    CHECK(!is_stirred(f)); /* a thread runs: the next tick will look */
    atomic_store(&f->activity, 0);
    turn(f); /* two quiet ones */
    turn(f);
    uint64_t deadline = in_time();
    while (!is_stirred(f) && rpp_monotonic_ns() < deadline) continue;
    CHECK(rpp_monotonic_ns() < deadline);
    finish(f);
}

TEST(a_stir_on_the_way_into_the_deep_sleep_counts)
{
    fixture *f = begin();
    turn(f);
    atomic_store(&f->runs_meanwhile, true);
    atomic_store(&f->activity, 0);
    turns(f, 2); /* two quiet ones */
    wait_for_turn(f, atomic_load(&f->turns) + 10);
    finish(f);
}

/* --- the end --- */

TEST(stop_delivers_the_flushed_window_named_or_not)
{
    fixture *f = begin();
    push(f, 0, 7, unnamed_frame(f));
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    push(f, 1, 100, RPP_FRAME_UNKNOWN); /* of a window that nobody ended */
    rpp_pipeline_end_rotation(f->pipeline);
    CHECK_OK(rpp_pipeline_stop(f->pipeline, UNTIL(in_time())));
    CHECK_INT(f->count, 1);
    CHECK_INT(f->windows[0].wall_ns, 7);
    CHECK_INT(f->windows[0].duration_ns, 50);
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, 1, UNTIL(in_time())));
    uint64_t begun = rpp_monotonic_ns();
    CHECK_INT(rpp_pipeline_wait_delivered(f->pipeline, 2, UNTIL(in_time())), RPP_TIMEOUT);
    CHECK(rpp_monotonic_ns() - begun < 10 * RPP_NS_PER_S); /* no one will deliver it any more */
    CHECK_OK(rpp_pipeline_stop(f->pipeline, UNTIL(0)));
    finish(f);
}

TEST(stop_does_not_wait_past_its_deadline)
{
    fixture *f = begin();
    push(f, 0, 7, RPP_FRAME_UNKNOWN);
    atomic_store(&f->held, true);
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    rpp_pipeline_end_rotation(f->pipeline);
    uint64_t begin = rpp_monotonic_ns();
    CHECK_INT(rpp_pipeline_stop(f->pipeline, UNTIL(begin + 30 * RPP_NS_PER_MS)), RPP_TIMEOUT);
    CHECK(rpp_monotonic_ns() - begin >= 30 * RPP_NS_PER_MS);
    finish(f);
}

typedef struct waiting {
    rpp_pipeline *pipeline;
    rpp_cancellation cancellation;
    uint64_t took_ns;
    rpp_status status;
} waiting;

static void *wait_for_a_window(void *context)
{
    waiting *w = context;
    uint64_t begin = rpp_monotonic_ns();
    w->status = rpp_pipeline_wait_delivered(w->pipeline, 1, &w->cancellation);
    w->took_ns = rpp_monotonic_ns() - begin;
    return NULL;
}

/* At any instant: before the wait begins, as it does, and when it has. Others wait on. */
TEST(wait_delivered_ends_when_it_is_cancelled)
{
    fixture *f = begin();
    waiting other = {.pipeline = f->pipeline,
                     .cancellation.deadline_ns = UINT64_MAX}; /* all of them, also under valgrind */
    pthread_t patient, impatient;
    CHECK_INT(pthread_create(&patient, NULL, wait_for_a_window, &other), 0);
    for (unsigned i = 0; i < 1000; i++) {
        waiting w = {.pipeline = f->pipeline, .cancellation.deadline_ns = in_time()};
        CHECK_INT(pthread_create(&impatient, NULL, wait_for_a_window, &w), 0);
        for (unsigned spin = 0; spin < i * 20; spin++) atomic_thread_fence(memory_order_seq_cst);
        rpp_cancellation_cancel(&w.cancellation);
        pthread_join(impatient, NULL);
        CHECK_INT(w.status, RPP_TIMEOUT);
        CHECK(w.took_ns < 5 * RPP_NS_PER_S);
    }
    CHECK(!atomic_load(&other.cancellation.cancelled));
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    rpp_pipeline_end_rotation(f->pipeline);
    pthread_join(patient, NULL);
    CHECK_OK(other.status);
    finish(f);
}

TEST(a_stop_that_is_cancelled_can_be_called_again)
{
    fixture *f = begin();
    push(f, 0, 7, RPP_FRAME_UNKNOWN);
    atomic_store(&f->held, true);
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    rpp_pipeline_end_rotation(f->pipeline);
    rpp_cancellation cancellation = {.deadline_ns = in_time()};
    rpp_cancellation_cancel(&cancellation);
    CHECK_INT(rpp_pipeline_stop(f->pipeline, &cancellation), RPP_TIMEOUT);
    finish(f); /* stops it */
}

TEST(wait_delivered_ends_at_its_deadline)
{
    fixture *f = begin();
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, 0, UNTIL(0))); /* nothing to wait for */
    uint64_t begin = rpp_monotonic_ns();
    CHECK_INT(rpp_pipeline_wait_delivered(f->pipeline, 1, UNTIL(begin + 30 * RPP_NS_PER_MS)), RPP_TIMEOUT);
    CHECK(rpp_monotonic_ns() - begin >= 30 * RPP_NS_PER_MS);
    CHECK(rpp_monotonic_ns() - begin < 10 * RPP_NS_PER_S);
    finish(f);
}

TEST(new_survives_every_failing_allocation)
{
    rpp_ticker ticker;
    rpp_ticker_init(&ticker, PERIOD);
    rpp_pipeline_options options = {.ticker = &ticker, .buffer_half_bytes = 1000, .limits = rpp_profile_default_limits};
    rpp_pipeline_seams seams = {.ask = ask};
    rpp_pipeline *pipeline = NULL;
    size_t nth = 0;
    while (!pipeline) {
        rpp_alloc_fail_at(++nth);
        pipeline = rpp_pipeline_new(&options, &seams, NULL);
        rpp_alloc_fail_at(0);
    }
    CHECK_INT(nth, 5);
    rpp_pipeline_free(pipeline);
    rpp_pipeline_free(NULL);
    rpp_ticker_destroy(&ticker);
}

/* --- threads that take turns, as with the GVL, on the machine's clock --- */

enum { THREADS = 3, WINDOWS = 60, WINDOWS_AT_MOST = 4096 };

typedef struct world {
    rpp_pipeline *pipeline;
    rpp_ticker ticker;
    rpp_frame_names *names;
    rpp_label_set *labels;
    pthread_mutex_t gvl;
    uint64_t pushed_ns[WINDOWS_AT_MOST], random; /* by window; under gvl */
    uint32_t unnamed;                            /* under gvl */
    uint64_t got_ns[WINDOWS_AT_MOST];            /* collector, until it has ended */
    uint64_t end_ns, gaps;                       /* likewise */
    _Atomic uint32_t delivered;                  /* set by the collector */
    _Atomic bool done;
} world;

static unsigned world_activity(void *context)
{
    (void)context;
    return RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE;
}

static rpp_finding world_find(void *context)
{
    return (rpp_finding){.who = context};
}

static void world_ask(void *context)
{
    (void)context;
}

static void world_deliver(rpp_profile *profile, void *context)
{
    world *w = context;
    uint64_t start = rpp_profile_time_ns(profile), wall = 0;
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) wall += rpp_profile_rows(profile)[i].wall_ns;
    if (w->delivered && start != w->end_ns) w->gaps++;
    w->end_ns = start + rpp_profile_duration_ns(profile);
    w->got_ns[w->delivered++] = wall;
    rpp_profile_free(profile);
}

/* With the GVL. An empty window would not be delivered: it stays open. */
static void world_rotate(world *w)
{
    if (!w->pushed_ns[rpp_pipeline_window(w->pipeline)]) return;
    if (rpp_pipeline_begin_rotation(w->pipeline, rpp_monotonic_ns()) == RPP_OK) rpp_pipeline_end_rotation(w->pipeline);
}

static void world_push(world *w)
{
    uint64_t some = rpp_random_next(&w->random) >> 8;
    uint32_t window = rpp_pipeline_window(w->pipeline);
    rpp_location stack[] = {{RPP_FRAME_FIRST + some % 50, some % 7}, {RPP_FRAME_UNKNOWN, 0}};
    rpp_sample sample = {.wall_ns = some % 1000 + 1, .thread_seq = 1, .window = window, .depth = 2};
    if (some % 3 == 0) sample.labels = rpp_label_set_retain(w->labels);
    if (rpp_sample_buffer_push(rpp_pipeline_buffer(w->pipeline), &sample, stack) == RPP_OK) {
        w->pushed_ns[window] += sample.wall_ns;
    } else {
        rpp_label_set_release(sample.labels);
    }
}

static void *live(void *context)
{
    world *w = context;
    while (!atomic_load(&w->done)) {
        pthread_mutex_lock(&w->gvl);
        rpp_pipeline_stir(w->pipeline);
        world_push(w);
        unsigned work = rpp_pipeline_work(w->pipeline);
        if (work & RPP_WORK_ROTATE) world_rotate(w);
        rpp_pipeline_want_frames(w->pipeline, w->unnamed++ % 3);
        pthread_mutex_unlock(&w->gvl);
        if (rpp_sample_buffer_is_filling(rpp_pipeline_buffer(w->pipeline))) rpp_pipeline_wake(w->pipeline);
    }
    return NULL;
}

static void *look_on(void *context)
{
    world *w = context;
    for (uint32_t i = 0; !atomic_load(&w->done); i++) {
        uint32_t window = rpp_pipeline_window(w->pipeline);
        (void)!rpp_pipeline_wait_delivered(w->pipeline, window + 1, UNTIL(rpp_monotonic_ns() + RPP_NS_PER_MS));
        rpp_ticker_set_period(&w->ticker, (1 + i % 3) * RPP_NS_PER_MS);
        rpp_pipeline_is_rotating(w->pipeline);
    }
    return NULL;
}

TEST(each_window_gets_what_was_pushed_in_it)
{
    static world w;
    pthread_t threads[THREADS + 1];
    rpp_label label = {"k", "v", 1, 1};
    w = (world){.names = rpp_frame_names_new(2000), .gvl = PTHREAD_MUTEX_INITIALIZER, .random = 1};
    rpp_ticker_init(&w.ticker, RPP_NS_PER_MS);
    CHECK_OK(rpp_label_set_merge(NULL, &label, 1, &w.labels));
    CHECK_OK(rpp_frame_names_ensure(w.names, 50));
    for (int i = 0; i < 50; i++) {
        CHECK_OK(rpp_frame_names_set(w.names, rpp_frame_names_reserve(w.names), "f", 1, "", 0, 0, false));
    }
    rpp_pipeline_options options = {.interval_ns = 5 * RPP_NS_PER_MS,
                                    .ticker = &w.ticker,
                                    .buffer_half_bytes = 1 << 14,
                                    .limits = rpp_profile_default_limits};
    rpp_pipeline_seams seams = {
        .ask = world_ask, .activity = world_activity, .find = world_find, .deliver = world_deliver, .context = &w};
    w.pipeline = rpp_pipeline_new(&options, &seams, w.names);
    rpp_pipeline_set_ticking(w.pipeline, true);
    CHECK_OK(rpp_pipeline_start(w.pipeline));
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, live, &w);
    pthread_create(&threads[THREADS], NULL, look_on, &w);
    uint64_t deadline = in_time();
    while (atomic_load(&w.delivered) < WINDOWS) {
        if (rpp_monotonic_ns() > deadline) FAIL("too few windows are delivered");
        nanosleep(&(struct timespec){.tv_nsec = RPP_NS_PER_MS}, NULL);
    }
    atomic_store(&w.done, true);
    for (int i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);

    CHECK_OK(rpp_pipeline_wait_delivered(w.pipeline, rpp_pipeline_window(w.pipeline), UNTIL(in_time())));
    while (!w.pushed_ns[rpp_pipeline_window(w.pipeline)]) world_push(&w);
    world_rotate(&w);
    CHECK_OK(rpp_pipeline_stop(w.pipeline, UNTIL(in_time())));
    CHECK(w.delivered > WINDOWS);
    CHECK_INT(w.delivered, rpp_pipeline_window(w.pipeline));
    CHECK_INT(w.gaps, 0);
    for (uint32_t i = 0; i < w.delivered; i++) CHECK_INT(w.got_ns[i], w.pushed_ns[i]);
    rpp_pipeline_free(w.pipeline);
    rpp_ticker_destroy(&w.ticker);
    rpp_frame_names_free(w.names);
    rpp_label_set_release(w.labels);
    w.labels = NULL; /* a reference too many is a leak then */
}
