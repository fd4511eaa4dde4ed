/* test_pipeline.c - windows that meet exactly, and hold what was sampled in them.
 *
 * The clock is far ahead of the machine's, so every wait of the collector is as good as endless: it makes one turn for each
 * wake, and time passes when the test says so.
 */
#include "pipeline.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "alloc.h"
#include "log.h"
#include "stats.h"
#include "test.h"

#define AHEAD       (1000000 * RPP_NS_PER_S)
#define EPOCH       (UINT64_C(1700000000) * RPP_NS_PER_S)
#define INTERVAL    (10 * RPP_NS_PER_S)
#define PERIOD      (10 * RPP_NS_PER_MS)
#define WINDOWS_MAX 8

typedef struct delivered {
    uint64_t time_ns, duration_ns, wall_ns;
    size_t rows;
    uint32_t leaf;
} delivered;

/* A pipeline, the sampler it asks, and whoever it delivers to. */
typedef struct fixture {
    rpp_pipeline *pipeline;
    rpp_frame_names *names;
    rpp_clock clock;
    uint64_t start_ns;
    _Atomic uint64_t now_ns, realtime_offset_ns;
    _Atomic unsigned activity, turns, asked;
    delivered windows[WINDOWS_MAX];
    _Atomic unsigned count;
    _Atomic bool held;           /* deliver does not come back */
    _Atomic bool runs_meanwhile; /* a thread begins to run just after the collector has looked */
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
    if (atomic_load(&f->runs_meanwhile)) rpp_pipeline_stir(f->pipeline);
    return answer;
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
        window->leaf = rpp_stack_table_location(rpp_profile_stacks(profile), stack[0]).frame;
    }
    rpp_profile_free(profile);
    atomic_fetch_add(&f->count, 1);
    while (atomic_load(&f->held)) sched_yield();
}

/* On the heap: it outlives a test that fails, as its thread does. */
static fixture *begin(void)
{
    fixture *f = calloc(1, sizeof *f);
    f->start_ns = rpp_monotonic_ns() + AHEAD;
    f->clock = (rpp_clock){turned_clock, turned_realtime, f};
    atomic_store(&f->now_ns, f->start_ns);
    atomic_store(&f->realtime_offset_ns, EPOCH);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN);
    f->names = rpp_frame_names_new(2000);
    CHECK_OK(rpp_frame_names_ensure(f->names, 100));
    rpp_pipeline_options options = {.interval_ns = INTERVAL,
                                    .period_ns = PERIOD,
                                    .buffer_half_bytes = 1 << 16,
                                    .limits = rpp_profile_default_limits,
                                    .tells_silence = true,
                                    .clock = &f->clock};
    rpp_pipeline_seams seams = {.ask = ask, .activity = activity, .deliver = deliver, .context = f};
    f->pipeline = rpp_pipeline_new(&options, &seams, f->names);
    CHECK(f->pipeline);
    rpp_stats_reset();
    CHECK_OK(rpp_pipeline_start(f->pipeline));
    return f;
}

static uint64_t in_time(void)
{
    return rpp_monotonic_ns() + 20 * RPP_NS_PER_S;
}

static void finish(fixture *f)
{
    atomic_store(&f->held, false);
    CHECK_OK(rpp_pipeline_stop(f->pipeline, in_time()));
    rpp_pipeline_free(f->pipeline);
    rpp_frame_names_free(f->names);
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
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, rpp_pipeline_window(f->pipeline), in_time()));
}

static bool wants(fixture *f, unsigned work)
{
    return rpp_pipeline_work(f->pipeline) & work;
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
    CHECK_INT(rpp_stats_get(RPP_STAT_windows_sealed), 1);
    push(f, 1, 1, RPP_FRAME_UNKNOWN);
    rotate(f, f->start_ns + 300);
    CHECK_INT(f->count, 1);
    CHECK_INT(f->windows[0].time_ns, f->start_ns + EPOCH + 100);
    CHECK_INT(f->windows[0].duration_ns, 200);
    finish(f);
}

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

TEST(while_a_rotation_settles_samples_of_both_windows_come)
{
    fixture *f = begin();
    push(f, 0, 1, RPP_FRAME_UNKNOWN);
    CHECK(!rpp_pipeline_is_rotating(f->pipeline));
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    CHECK(rpp_pipeline_is_rotating(f->pipeline));
    CHECK_INT(rpp_pipeline_window(f->pipeline), 1);
    push(f, 1, 1000, RPP_FRAME_UNKNOWN); /* a thread that is settled runs on */
    turn(f);
    push(f, 0, 2, RPP_FRAME_UNKNOWN);
    push(f, 1, 2000, RPP_FRAME_UNKNOWN);
    turn(f);
    CHECK_INT(f->count, 0);
    push(f, 0, 4, RPP_FRAME_UNKNOWN);
    rpp_pipeline_end_rotation(f->pipeline);
    CHECK(!rpp_pipeline_is_rotating(f->pipeline));
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, 1, in_time()));
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
    uint64_t deadline = in_time();
    while (!atomic_load(&f->count) && rpp_monotonic_ns() < deadline) sched_yield();
    CHECK_INT(f->count, 1); /* being delivered */
    CHECK_INT(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 60), RPP_BUSY);
    CHECK_INT(rpp_pipeline_boundary_ns(f->pipeline), f->start_ns + 50);
    CHECK_INT(rpp_pipeline_window(f->pipeline), 1);
    atomic_store(&f->held, false);
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, 1, in_time()));
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
        CHECK_INT(f->count, window); /* each has patience of its own */
        pass(f, 3000 * RPP_NS_PER_MS);
        turn(f);
        CHECK_INT(f->count, window + 1);
    }
    finish(f);
}

TEST(names_are_asked_for_while_frames_wait_for_them)
{
    fixture *f = begin();
    turn(f);
    unsigned asked = atomic_load(&f->asked);
    turn(f);
    CHECK_INT(f->asked, asked);
    rpp_pipeline_set_unnamed(f->pipeline, 3);
    CHECK_INT(rpp_stats_get(RPP_STAT_frames_unresolved), 3);
    turn(f);
    CHECK(atomic_load(&f->asked) > asked);
    CHECK(wants(f, RPP_WORK_NAMES));
    CHECK(wants(f, RPP_WORK_NAMES));
    rpp_pipeline_set_unnamed(f->pipeline, 0);
    CHECK(!wants(f, RPP_WORK_NAMES));
    finish(f);
}

/* --- ticks and sleep --- */

TEST(a_thread_that_is_overdue_is_asked_once_for_each_tick)
{
    fixture *f = begin();
    turn(f);
    CHECK(!wants(f, RPP_WORK_TICK));
    atomic_store(&f->activity, RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE);
    turn(f);
    CHECK(atomic_load(&f->asked) > 0);
    atomic_store(&f->activity, RPP_ACTIVITY_RAN);
    turn(f);
    CHECK(wants(f, RPP_WORK_TICK));
    CHECK(!wants(f, RPP_WORK_TICK));
    finish(f);
}

TEST(nobody_is_asked_while_no_thread_runs)
{
    fixture *f = begin();
    atomic_store(&f->activity, 0);
    turn(f);
    unsigned asked = atomic_load(&f->asked);
    rpp_pipeline_set_unnamed(f->pipeline, 1);
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
    turn(f);
    wait_for_turn(f, atomic_load(&f->turns) + 10);
    finish(f);
}

/* --- the end --- */

TEST(stop_delivers_the_settled_window_named_or_not)
{
    fixture *f = begin();
    push(f, 0, 7, unnamed_frame(f));
    CHECK_OK(rpp_pipeline_begin_rotation(f->pipeline, f->start_ns + 50));
    push(f, 1, 100, RPP_FRAME_UNKNOWN); /* of a window that nobody ended */
    rpp_pipeline_end_rotation(f->pipeline);
    CHECK_OK(rpp_pipeline_stop(f->pipeline, in_time()));
    CHECK_INT(f->count, 1);
    CHECK_INT(f->windows[0].wall_ns, 7);
    CHECK_INT(f->windows[0].duration_ns, 50);
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, 1, in_time()));
    uint64_t begun = rpp_monotonic_ns();
    CHECK_INT(rpp_pipeline_wait_delivered(f->pipeline, 2, in_time()), RPP_TIMEOUT);
    CHECK(rpp_monotonic_ns() - begun < 10 * RPP_NS_PER_S); /* no one will deliver it any more */
    CHECK_OK(rpp_pipeline_stop(f->pipeline, 0));
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
    CHECK_INT(rpp_pipeline_stop(f->pipeline, begin + 30 * RPP_NS_PER_MS), RPP_TIMEOUT);
    CHECK(rpp_monotonic_ns() - begin >= 30 * RPP_NS_PER_MS);
    finish(f);
}

TEST(wait_delivered_ends_at_its_deadline)
{
    fixture *f = begin();
    CHECK_OK(rpp_pipeline_wait_delivered(f->pipeline, 0, 0)); /* nothing to wait for */
    uint64_t begin = rpp_monotonic_ns();
    CHECK_INT(rpp_pipeline_wait_delivered(f->pipeline, 1, begin + 30 * RPP_NS_PER_MS), RPP_TIMEOUT);
    CHECK(rpp_monotonic_ns() - begin >= 30 * RPP_NS_PER_MS);
    CHECK(rpp_monotonic_ns() - begin < 10 * RPP_NS_PER_S);
    finish(f);
}

TEST(new_survives_every_failing_allocation)
{
    rpp_pipeline_options options = {.buffer_half_bytes = 1000, .limits = rpp_profile_default_limits};
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
}

/* --- threads that take turns, as with the GVL, on the machine's clock --- */

enum { THREADS = 3, RUN_MS = 400 };

typedef struct world {
    rpp_pipeline *pipeline;
    rpp_frame_names *names;
    rpp_label_set *labels;
    pthread_mutex_t gvl;
    uint64_t pushed_ns[4096], random; /* by window; under gvl */
    uint32_t unnamed;                 /* under gvl */
    uint64_t got_ns[4096];            /* collector, until it has ended */
    uint64_t end_ns, gaps;            /* likewise */
    uint32_t delivered;               /* likewise */
    _Atomic bool done;
} world;

static unsigned world_activity(void *context)
{
    (void)context;
    return RPP_ACTIVITY_RAN | RPP_ACTIVITY_OVERDUE;
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
        rpp_pipeline_set_unnamed(w->pipeline, w->unnamed++ % 3);
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
        (void)!rpp_pipeline_wait_delivered(w->pipeline, window + 1, rpp_monotonic_ns() + RPP_NS_PER_MS);
        rpp_pipeline_set_period(w->pipeline, (1 + i % 3) * RPP_NS_PER_MS);
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
    CHECK_OK(rpp_label_set_merge(NULL, &label, 1, &w.labels));
    CHECK_OK(rpp_frame_names_ensure(w.names, 50));
    for (int i = 0; i < 50; i++) {
        CHECK_OK(rpp_frame_names_set(w.names, rpp_frame_names_reserve(w.names), "f", 1, "", 0, 0, false));
    }
    rpp_pipeline_options options = {.interval_ns = 5 * RPP_NS_PER_MS,
                                    .period_ns = RPP_NS_PER_MS,
                                    .buffer_half_bytes = 1 << 14,
                                    .limits = rpp_profile_default_limits};
    rpp_pipeline_seams seams = {.ask = world_ask, .activity = world_activity, .deliver = world_deliver, .context = &w};
    w.pipeline = rpp_pipeline_new(&options, &seams, w.names);
    CHECK_OK(rpp_pipeline_start(w.pipeline));
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, live, &w);
    pthread_create(&threads[THREADS], NULL, look_on, &w);
    nanosleep(&(struct timespec){.tv_nsec = RUN_MS * 1000000}, NULL);
    atomic_store(&w.done, true);
    for (int i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);

    CHECK_OK(rpp_pipeline_wait_delivered(w.pipeline, rpp_pipeline_window(w.pipeline), in_time()));
    while (!w.pushed_ns[rpp_pipeline_window(w.pipeline)]) world_push(&w);
    world_rotate(&w);
    CHECK_OK(rpp_pipeline_stop(w.pipeline, in_time()));
    CHECK(w.delivered > 3);
    CHECK_INT(w.delivered, rpp_pipeline_window(w.pipeline));
    CHECK_INT(w.gaps, 0);
    for (uint32_t i = 0; i < w.delivered; i++) CHECK_INT(w.got_ns[i], w.pushed_ns[i]);
    rpp_pipeline_free(w.pipeline);
    rpp_frame_names_free(w.names);
    rpp_label_set_release(w.labels);
    w.labels = NULL; /* a reference too many is a leak then */
}
