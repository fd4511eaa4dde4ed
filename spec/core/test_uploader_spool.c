/* test_uploader_spool.c - an outage, an end and a death lose nothing that a disk can keep, and nothing arrives
 * twice. */
#include "delivery/uploader.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/stats.h"
#include "test.h"
#include "uploading.h"

#define STAT(name) rpp_stats_get(RPP_STAT_##name)
#define NUMBERS    2000u

enum { WORKS = 200, IS_AWAY = 0, IS_DEAF = 1, HANGS = 2 };

/* Shared with forked processes: what the server is told to do, and what it has. */
typedef struct server {
    atomic_int answer; /* an HTTP status, or one of the above */
    atomic_uint stored[NUMBERS], tries, hanging, order[NUMBERS], stored_count;
    atomic_bool chaos;
    atomic_uint bad, bad_tries; /* the number that is answered 429 */
} server;

static server *remote;
static _Atomic uint64_t now_ns;
static atomic_bool interrupted;

static uint64_t read_clock(void *context)
{
    (void)context;
    return atomic_load(&now_ns);
}

static const rpp_clock hand_clock = {read_clock, read_clock, NULL};

typedef struct scene {
    char path[64];
    rpp_settings *settings;
    rpp_payload_queue *queue;
    rpp_spool *spool;
    rpp_backend backend;
    rpp_http_client http;
    rpp_uploader_options options;
    rpp_uploader *uploader;
} scene;

static void store(const rpp_payload *payload)
{
    unsigned position = atomic_fetch_add(&remote->stored_count, 1);
    atomic_fetch_add(&remote->stored[payload->sequence], 1);
    if (position < NUMBERS) atomic_store(&remote->order[position], (unsigned)payload->sequence);
}

static rpp_status deliver(rpp_backend *backend, const rpp_payload *payload, uint64_t deadline_ns,
                          rpp_upload_result *result)
{
    scene *s = (scene *)((char *)backend - offsetof(scene, backend));
    int answer = atomic_load(&remote->answer);
    unsigned number = atomic_fetch_add(&remote->tries, 1);
    (void)deadline_ns;
    if (atomic_load(&remote->chaos)) answer = (int[]){WORKS, WORKS, IS_AWAY, WORKS, 503, IS_DEAF, 400}[number % 7];
    if (payload->sequence == atomic_load(&remote->bad)) {
        atomic_fetch_add(&remote->bad_tries, 1);
        answer = 429;
    }
    if (answer == IS_AWAY) {
        *result = (rpp_upload_result){.attempt.end = RPP_END_NOT_SENT, .message = "could not connect"};
        return RPP_OK;
    }
    if (answer == HANGS) atomic_fetch_add(&remote->hanging, 1);
    while (answer == HANGS && !atomic_load(&interrupted)) usleep(1000);
    if (answer == HANGS) {
        *result = (rpp_upload_result){.attempt.end = RPP_END_ABORTED};
        return RPP_OK;
    }
    if (s->http.before_send) s->http.before_send(s->http.before_send_context, payload->claim);
    if (answer == WORKS || answer == IS_DEAF) store(payload);
    *result = (rpp_upload_result){.attempt = {.end = answer == IS_DEAF ? RPP_END_NO_ANSWER : RPP_END_ANSWERED,
                                              .http_status = answer,
                                              .sent_whole = true},
                                  .message = "no"};
    return RPP_OK;
}

static void interrupt(rpp_http_client *client)
{
    (void)client;
    atomic_store(&interrupted, true);
}

static void quiet(rpp_log_level level, const char *line, void *context)
{
    (void)level, (void)line, (void)context;
}

/* One process' chain over a spool that is there already, or new when `path` is NULL. */
static void set_up(scene *s, const char *path, const rpp_clock *clock)
{
    rpp_errors none = {0};
    char kept[sizeof s->path];
    strcpy(kept, path ? path : "/tmp/rpp-spool-XXXXXX"); /* it may be the scene's own */
    memset(s, 0, sizeof *s);
    strcpy(s->path, kept);
    if (!path) CHECK(mkdtemp(s->path));
    atomic_store(&interrupted, false);
    rpp_log_set_sink(quiet, NULL);
    s->settings = rpp_settings_new();
    CHECK_OK(rpp_settings_set_text(s->settings, "spool_directory", s->path, NULL, &none));
    s->backend = (rpp_backend){.name = "fake", .deliver = deliver};
    s->http = (rpp_http_client){.interrupt = interrupt};
    s->queue = rpp_payload_queue_new(100, 1 << 20);
    s->spool = rpp_spool_new(s->settings);
    s->options = (rpp_uploader_options){.upload_timeout_ns = 10 * RPP_NS_PER_S,
                                        .backoff = {.first_ns = RPP_NS_PER_S, .max_ns = 60 * RPP_NS_PER_S},
                                        .max_age_ns = 3300 * RPP_NS_PER_S,
                                        .clock = clock,
                                        .spool = s->spool};
    CHECK(s->queue && s->spool);
}

static void begin(scene *s)
{
    s->uploader = rpp_uploader_new(&s->options, s->queue, &s->backend, &s->http);
    CHECK(s->uploader);
    CHECK_OK(rpp_uploader_start(s->uploader));
}

/* The server and the numbers, fresh; the clock ahead of the machine's, so that nothing becomes due by waiting. */
static void reset(int answer)
{
    if (!remote) {
        remote = mmap(NULL, sizeof *remote, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CHECK(remote != MAP_FAILED);
    }
    memset(remote, 0, sizeof *remote);
    atomic_store(&remote->answer, answer);
    atomic_store(&now_ns, rpp_realtime_ns() + 100000 * RPP_NS_PER_S);
    rpp_stats_reset();
}

static void end(scene *s)
{
    rpp_uploader_free(s->uploader);
    rpp_payload_queue_free(s->queue);
    rpp_spool_free(s->spool);
    rpp_settings_free(s->settings);
    rpp_log_set_sink(NULL, NULL);
}

static void discard_spool(scene *s)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", s->path);
    CHECK_INT(system(command), 0);
}

static void push_at(scene *s, uint64_t number, uint64_t time_ns)
{
    rpp_payload *payload = rpp_payload_new(rpp_calloc(1, 100), 100);
    CHECK(payload);
    payload->sequence = number;
    payload->time_ns = time_ns;
    rpp_stats_add(RPP_STAT_payloads_created, 1);
    rpp_payload_queue_push(s->queue, payload);
}

static void push(scene *s, uint64_t number)
{
    push_at(s, number, atomic_load(&now_ns) + number);
}

static void turn_clock(scene *s, uint64_t ns)
{
    atomic_fetch_add(&now_ns, ns);
    rpp_payload_queue_wake(s->queue);
}

static uint64_t in_seconds(unsigned seconds)
{
    return atomic_load(&now_ns) + seconds * RPP_NS_PER_S;
}

static bool wait_for_stat(rpp_stat stat, uint64_t value)
{
    for (int i = 0; i < 5000 && rpp_stats_get(stat) < value; i++) usleep(1000);
    return rpp_stats_get(stat) >= value;
}

static bool wait_for_count(scene *s, size_t count)
{
    for (int i = 0; i < 5000 && rpp_payload_queue_count(s->queue) != count; i++) usleep(1000);
    return rpp_payload_queue_count(s->queue) == count;
}

static unsigned count_files(scene *s)
{
    unsigned count = 0;
    DIR *directory = opendir(s->path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) count += entry->d_name[0] != '.';
    if (directory) closedir(directory);
    return count;
}

static uint64_t ends(void)
{
    return STAT(payloads_delivered) + STAT(payloads_unconfirmed) + STAT(payloads_dropped_queue_full) +
           STAT(payloads_dropped_too_old) + STAT(payloads_dropped_rejected) + STAT(payloads_dropped_retries) +
           STAT(payloads_dropped_shutdown) + STAT(payloads_dropped_spool_full) + STAT(payloads_dropped_damaged);
}

/* What came in is what went out, and nothing was stored twice. */
static void check_balance(void)
{
    CHECK_INT(STAT(payloads_created) + STAT(payloads_unspooled), ends() + STAT(payloads_spooled));
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (atomic_load(&remote->stored[i]) > 1) FAIL("%u was stored %u times", i, atomic_load(&remote->stored[i]));
    }
}

static void finish(scene *s)
{
    check_balance();
    end(s);
    discard_spool(s);
}

/* --- while all is well
 * ---------------------------------------------------------------------------------------------- */

TEST(what_is_delivered_at_once_never_sees_the_disk)
{
    scene s;
    reset(WORKS);
    set_up(&s, NULL, &hand_clock);
    begin(&s);
    for (uint64_t i = 1; i <= 20; i++) push(&s, i);
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), in_seconds(5)));
    CHECK_INT(STAT(payloads_delivered), 20);
    CHECK_INT(STAT(payloads_spooled), 0);
    CHECK_OK(stop_by(s.uploader, in_seconds(5)));
    finish(&s);
}

/* --- an outage
 * ------------------------------------------------------------------------------------------------------ */

TEST(an_outage_of_hours)
{
    enum { SECONDS = 10, COUNT = 3 * 3600 / SECONDS };
    scene s;
    reset(IS_AWAY);
    set_up(&s, NULL, &hand_clock);
    begin(&s);
    for (uint64_t i = 1; i <= COUNT; i++) {
        push(&s, i);
        CHECK(wait_for_stat(RPP_STAT_payloads_spooled, i));
        CHECK_INT(rpp_payload_queue_count(s.queue), 0);
        turn_clock(&s, SECONDS * RPP_NS_PER_S);
    }
    CHECK_INT(STAT(payloads_delivered), 0);
    CHECK(STAT(payloads_dropped_too_old) > COUNT / 2);
    CHECK(atomic_load(&remote->tries) < COUNT / 2); /* a try in a minute */

    atomic_store(&remote->answer, WORKS);
    turn_clock(&s, 100 * RPP_NS_PER_S);
    CHECK(flush_by(s.uploader, lost_so_far(s.uploader), in_seconds(60)) != RPP_TIMEOUT);
    CHECK_INT(STAT(payloads_delivered) + STAT(payloads_dropped_too_old), COUNT);
    unsigned delivered = (unsigned)STAT(payloads_delivered);
    CHECK(delivered >= (3300 - 100) / SECONDS - 1 && delivered <= 3300 / SECONDS);
    for (unsigned i = 0; i < delivered; i++) CHECK_INT(atomic_load(&remote->order[i]), COUNT - delivered + 1 + i);
    CHECK_INT(count_files(&s), 0);
    CHECK_INT(STAT(spool_files), 0);
    CHECK_OK(stop_by(s.uploader, in_seconds(5)));
    finish(&s);
}

TEST(while_the_spool_is_sent_fresh_payloads_come_last)
{
    scene s;
    reset(IS_AWAY);
    set_up(&s, NULL, &hand_clock);
    begin(&s);
    for (uint64_t i = 1; i <= 10; i++) push(&s, i);
    CHECK(wait_for_stat(RPP_STAT_payloads_spooled, 10));
    atomic_store(&remote->answer, WORKS);
    for (uint64_t i = 11; i <= 20; i++) push(&s, i);
    turn_clock(&s, 2 * RPP_NS_PER_S);
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), in_seconds(5)));
    for (unsigned i = 0; i < 20; i++) CHECK_INT(atomic_load(&remote->order[i]), i + 1);
    CHECK_OK(stop_by(s.uploader, in_seconds(5)));
    finish(&s);
}

TEST(a_flush_waits_for_the_spool_and_tells_when_it_cannot_be_sent)
{
    scene s;
    reset(IS_AWAY);
    set_up(&s, NULL, NULL);
    s.options.backoff.first_ns = s.options.backoff.max_ns = 5 * RPP_NS_PER_MS;
    atomic_store(&now_ns, rpp_realtime_ns());
    begin(&s);
    push(&s, 1);
    CHECK(wait_for_stat(RPP_STAT_payloads_spooled, 1));
    CHECK_INT(flush_by(s.uploader, lost_so_far(s.uploader), rpp_monotonic_ns() + 50 * RPP_NS_PER_MS), RPP_TIMEOUT);
    atomic_store(&remote->answer, WORKS);
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), rpp_monotonic_ns() + 5 * RPP_NS_PER_S));
    CHECK_INT(STAT(payloads_delivered), 1);
    atomic_store(&remote->answer, 400);
    uint64_t lost_before = lost_so_far(s.uploader);
    push(&s, 2);
    CHECK_INT(flush_by(s.uploader, lost_before, rpp_monotonic_ns() + 5 * RPP_NS_PER_S), RPP_IO);
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + RPP_NS_PER_S));
    finish(&s);
}

/* The thread is often about to say that nothing is left, having looked before the payload came. */
TEST(a_flush_never_ends_before_what_was_pushed_is_delivered)
{
    enum { COUNT = 1500 };
    scene s;
    reset(WORKS);
    set_up(&s, NULL, NULL);
    atomic_store(&now_ns, rpp_realtime_ns());
    begin(&s);
    for (uint64_t i = 1; i <= COUNT; i++) {
        push(&s, i);
        CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), rpp_monotonic_ns() + 60 * RPP_NS_PER_S));
        CHECK_INT(STAT(payloads_delivered), i);
    }
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + RPP_NS_PER_S));
    finish(&s);
}

TEST(one_payload_that_keeps_failing_stops_no_other_in_the_spool)
{
    scene s;
    reset(IS_AWAY);
    set_up(&s, NULL, &hand_clock);
    s.options.backoff.max_alone = 5;
    atomic_store(&remote->bad, 1);
    begin(&s);
    for (uint64_t i = 1; i <= 20; i++) push(&s, i);
    CHECK(wait_for_stat(RPP_STAT_payloads_spooled, 20));
    atomic_store(&remote->answer, WORKS);
    for (uint64_t i = 21; i <= 40; i++) {
        push(&s, i);
        for (int turns = 0; turns < 100 && STAT(payloads_delivered) < i - 1; turns++) {
            turn_clock(&s, 10 * RPP_NS_PER_S);
            usleep(20000);
        }
        CHECK_INT(STAT(payloads_delivered), i - 1);
    }
    for (int turns = 0; turns < 200 && !STAT(payloads_dropped_retries); turns++) {
        turn_clock(&s, 10 * RPP_NS_PER_S);
        usleep(20000);
    }
    CHECK_INT(STAT(payloads_dropped_retries), 1);
    CHECK(atomic_load(&remote->bad_tries) >= 5 && atomic_load(&remote->bad_tries) <= 8);
    for (unsigned i = 0; i < 39; i++) CHECK_INT(atomic_load(&remote->order[i]), i + 2);
    CHECK_OK(stop_by(s.uploader, in_seconds(5)));
    CHECK_INT(count_files(&s), 0);
    finish(&s);
}

TEST(a_payload_that_keeps_failing_is_known_to_the_next_process)
{
    scene s;
    reset(WORKS);
    set_up(&s, NULL, &hand_clock);
    atomic_store(&remote->bad, 1);
    begin(&s);
    push(&s, 1);
    for (uint64_t i = 2; i <= 4; i++) {
        CHECK(wait_for_stat(RPP_STAT_uploads_retried, i - 1));
        push(&s, i);
        turn_clock(&s, 100 * RPP_NS_PER_S);
        CHECK(wait_for_stat(RPP_STAT_payloads_delivered, i - 1));
    }
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 4));
    CHECK_OK(stop_by(s.uploader, in_seconds(1)));
    end(&s);

    set_up(&s, s.path, &hand_clock);
    s.options.backoff.max_alone = 2;
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_payloads_dropped_retries, 1));
    CHECK_OK(stop_by(s.uploader, in_seconds(1)));
    finish(&s);
}

TEST(with_a_spool_an_outage_of_500s_loses_nothing)
{
    enum { SECONDS = 10, COUNT = 60 };
    scene s;
    reset(500);
    set_up(&s, NULL, &hand_clock);
    s.options.backoff.max_alone = 10;
    s.options.backoff.keeps_server_errors = true;
    begin(&s);
    for (uint64_t i = 1; i <= COUNT; i++) {
        push(&s, i);
        CHECK(wait_for_stat(RPP_STAT_payloads_spooled, i));
        turn_clock(&s, SECONDS * RPP_NS_PER_S);
    }
    atomic_store(&remote->answer, WORKS);
    for (unsigned i = 0; i < 200 && STAT(payloads_delivered) < COUNT; i++) {
        turn_clock(&s, SECONDS * RPP_NS_PER_S);
        usleep(10000);
    }
    CHECK_INT(STAT(payloads_delivered), COUNT);
    CHECK_INT(STAT(payloads_dropped_retries), 0);
    CHECK_OK(stop_by(s.uploader, in_seconds(5)));
    finish(&s);
}

TEST(a_500_is_tried_three_times_in_all_whoever_tries)
{
    reset(500);
    scene s;
    set_up(&s, NULL, &hand_clock);
    begin(&s);
    push(&s, 1);
    CHECK(wait_for_stat(RPP_STAT_payloads_spooled, 1));
    CHECK_OK(stop_by(s.uploader, in_seconds(1)));
    end(&s);

    set_up(&s, s.path, &hand_clock);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 2));
    turn_clock(&s, 100 * RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_payloads_dropped_retries, 1));
    CHECK_INT(atomic_load(&remote->tries), 3);
    CHECK_OK(stop_by(s.uploader, in_seconds(1)));
    CHECK_INT(count_files(&s), 0);
    finish(&s);
}

TEST(what_was_sent_without_an_answer_leaves_the_spool)
{
    scene s;
    reset(IS_AWAY);
    set_up(&s, NULL, &hand_clock);
    begin(&s);
    push(&s, 1);
    CHECK(wait_for_stat(RPP_STAT_payloads_spooled, 1));
    atomic_store(&remote->answer, IS_DEAF);
    turn_clock(&s, 2 * RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_payloads_unconfirmed, 1));
    CHECK_OK(stop_by(s.uploader, in_seconds(1)));
    CHECK_INT(count_files(&s), 0);
    finish(&s);
}

/* --- the end
 * -------------------------------------------------------------------------------------------------------- */

TEST(what_is_left_at_the_end_is_sent_by_the_next_process)
{
    scene s;
    reset(IS_AWAY);
    set_up(&s, NULL, NULL);
    atomic_store(&now_ns, rpp_realtime_ns());
    begin(&s);
    for (uint64_t i = 1; i <= 5; i++) push(&s, i);
    CHECK(wait_for_stat(RPP_STAT_payloads_spooled, 5));
    uint64_t start = rpp_monotonic_ns();
    CHECK_OK(stop_by(s.uploader, start + 5 * RPP_NS_PER_S));
    CHECK(rpp_monotonic_ns() - start < RPP_NS_PER_S); /* it does not wait for a backend that is away */
    CHECK_INT(STAT(payloads_dropped_shutdown), 0);
    CHECK_INT(count_files(&s), 5);
    end(&s);

    atomic_store(&remote->answer, WORKS);
    set_up(&s, s.path, NULL);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_payloads_delivered, 5));
    for (unsigned i = 0; i < 5; i++) CHECK_INT(atomic_load(&remote->order[i]), i + 1);
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + RPP_NS_PER_S));
    CHECK_INT(count_files(&s), 0);
    finish(&s);
}

TEST(at_the_end_what_is_fresh_is_still_sent)
{
    scene s;
    reset(WORKS);
    set_up(&s, NULL, &hand_clock);
    for (uint64_t i = 1; i <= 5; i++) push(&s, i);
    begin(&s);
    CHECK_OK(stop_by(s.uploader, in_seconds(5)));
    CHECK_INT(STAT(payloads_delivered), 5);
    CHECK_INT(STAT(payloads_spooled), 0);
    finish(&s);
}

TEST(what_a_stop_interrupts_stays)
{
    for (int spooled = 0; spooled < 2; spooled++) {
        scene s;
        reset(spooled ? IS_AWAY : HANGS);
        set_up(&s, NULL, NULL);
        s.options.backoff.first_ns = s.options.backoff.max_ns = RPP_NS_PER_MS;
        atomic_store(&now_ns, rpp_realtime_ns());
        begin(&s);
        push(&s, 1);
        if (spooled) CHECK(wait_for_stat(RPP_STAT_payloads_spooled, 1));
        atomic_store(&remote->answer, HANGS);
        while (!atomic_load(&remote->hanging)) usleep(1000);
        push(&s, 2);
        CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + 30 * RPP_NS_PER_MS));
        CHECK_INT(STAT(payloads_dropped_shutdown), 0);
        CHECK_INT(count_files(&s), 2);
        check_balance();
        end(&s);
        discard_spool(&s);
    }
}

TEST(without_a_start_the_rest_is_kept_as_well)
{
    scene s;
    reset(WORKS);
    set_up(&s, NULL, &hand_clock);
    push(&s, 1);
    s.uploader = rpp_uploader_new(&s.options, s.queue, &s.backend, &s.http);
    CHECK_OK(stop_by(s.uploader, in_seconds(1)));
    CHECK_INT(count_files(&s), 1);
    finish(&s);
}

/* --- death
 * ---------------------------------------------------------------------------------------------------------- */

/* A process that meets an outage of its own making and is killed in it, having closed 20 payloads. */
static void live_and_die(const char *path, uint64_t first)
{
    int pipes[2];
    char byte;
    CHECK_INT(pipe(pipes), 0);
    pid_t child = fork();
    if (!child) {
        scene s;
        if (setjmp(test_failed)) _exit(1);
        rpp_stats_reset();
        set_up(&s, path, NULL);
        begin(&s);
        for (uint64_t i = 0; i < 20; i++) push(&s, first + i);
        if (!wait_for_stat(RPP_STAT_payloads_spooled, 20)) _exit(1);
        if (write(pipes[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(pipes[1]);
    CHECK_INT(read(pipes[0], &byte, 1), 1);
    close(pipes[0]);
    CHECK_INT(kill(child, SIGKILL), 0);
    CHECK_INT(waitpid(child, NULL, 0), child);
}

TEST(what_killed_processes_had_arrives_once)
{
    scene s;
    reset(IS_AWAY);
    atomic_store(&now_ns, rpp_realtime_ns());
    set_up(&s, NULL, NULL);
    live_and_die(s.path, 1);
    live_and_die(s.path, 101);
    atomic_store(&remote->answer, WORKS);
    begin(&s);
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), rpp_monotonic_ns() + 10 * RPP_NS_PER_S));
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + RPP_NS_PER_S));
    CHECK_INT(STAT(payloads_delivered), 40);
    CHECK_INT(STAT(payloads_unspooled), 40);
    CHECK_INT(STAT(payloads_unconfirmed), 0);
    for (unsigned i = 0; i < 20; i++) {
        CHECK_INT(atomic_load(&remote->stored[1 + i]), 1);
        CHECK_INT(atomic_load(&remote->stored[101 + i]), 1);
    }
    end(&s);
    discard_spool(&s);
}

/* --- when the disk does not help
 * ------------------------------------------------------------------------------------ */

TEST(what_the_disk_does_not_take_waits_in_memory)
{
    scene s;
    struct rlimit before, none;
    reset(IS_AWAY);
    set_up(&s, NULL, &hand_clock);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 50;
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &none), 0);
    begin(&s);
    for (uint64_t i = 1; i <= 5; i++) push(&s, i);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    turn_clock(&s, 2 * RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 2));
    CHECK(wait_for_stat(RPP_STAT_spool_errors, 2));
    CHECK(wait_for_count(&s, 5)); /* the error is counted before the payload is back in the queue */
    CHECK_INT(STAT(payloads_spooled), 0);
    atomic_store(&remote->answer, WORKS);
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), in_seconds(5)));
    CHECK_INT(STAT(payloads_delivered), 5);

    atomic_store(&remote->answer, IS_AWAY); /* and with room again it goes to disk */
    push(&s, 6);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 3));
    CHECK(wait_for_stat(RPP_STAT_spool_errors, 3));
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    turn_clock(&s, 2 * RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_payloads_spooled, 1));
    CHECK_OK(stop_by(s.uploader, in_seconds(0)));
    finish(&s);
}

TEST(without_a_disk_the_end_counts_what_is_left)
{
    scene s;
    reset(IS_AWAY);
    set_up(&s, "/dev/null/spool", NULL);
    atomic_store(&now_ns, rpp_realtime_ns());
    begin(&s);
    for (uint64_t i = 1; i <= 3; i++) push(&s, i);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + 20 * RPP_NS_PER_MS));
    CHECK_INT(STAT(payloads_dropped_shutdown), 3);
    check_balance();
    end(&s);
}

TEST(what_a_full_queue_drops_goes_to_the_spool)
{
    scene s;
    reset(HANGS);
    set_up(&s, NULL, NULL);
    rpp_payload_queue_free(s.queue);
    s.queue = rpp_payload_queue_new(3, 1 << 20);
    atomic_store(&now_ns, rpp_realtime_ns());
    begin(&s);
    push(&s, 1);
    while (!atomic_load(&remote->tries)) usleep(1000);
    for (uint64_t i = 2; i <= 10; i++) push(&s, i);
    CHECK_INT(STAT(payloads_spooled), 6);
    CHECK_INT(STAT(payloads_dropped_queue_full), 0);
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + 20 * RPP_NS_PER_MS));
    CHECK_INT(count_files(&s), 10);
    finish(&s);
}

/* --- all at once
 * ---------------------------------------------------------------------------------------------------- */

typedef struct producer {
    scene *s;
    uint64_t first, last;
} producer;

static void *produce(void *context)
{
    producer *self = context;
    for (uint64_t number = self->first; number <= self->last; number++) {
        push(self->s, number);
        if (number % 7 == 0) usleep(300);
        if (number % 50) continue;
        rpp_status status =
            flush_by(self->s->uploader, lost_so_far(self->s->uploader), rpp_monotonic_ns() + 5 * RPP_NS_PER_MS);
        (void)status;
    }
    return NULL;
}

TEST(faults_producers_and_stops_of_three_chains_over_one_spool_lose_no_count)
{
    enum { CHAINS = 3, EACH = 300 };
    scene scenes[CHAINS];
    producer producers[CHAINS];
    pthread_t threads[CHAINS];
    reset(WORKS);
    atomic_store(&remote->chaos, true);
    atomic_store(&now_ns, rpp_realtime_ns());
    for (unsigned i = 0; i < CHAINS; i++) {
        set_up(&scenes[i], i ? scenes[0].path : NULL, NULL);
        scenes[i].options.backoff = (rpp_retry_policy){.first_ns = 50 * RPP_NS_PER_US, .max_ns = RPP_NS_PER_MS};
        begin(&scenes[i]);
        producers[i] = (producer){&scenes[i], 1 + i * EACH, (i + 1) * EACH};
        CHECK_INT(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    for (unsigned i = 0; i < CHAINS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_OK(stop_by(scenes[i].uploader, rpp_monotonic_ns() + 600 * RPP_NS_PER_S));
        if (i < CHAINS - 1) end(&scenes[i]);
    }
    CHECK_INT(STAT(payloads_created), CHAINS * EACH);
    CHECK_INT(STAT(spool_errors), 0);
    CHECK_INT(STAT(payloads_spooled) - STAT(payloads_unspooled), count_files(&scenes[0]));
    CHECK_INT(STAT(payloads_delivered) + STAT(payloads_unconfirmed), atomic_load(&remote->stored_count));
    check_balance();
    end(&scenes[CHAINS - 1]);
    discard_spool(&scenes[0]);
}
