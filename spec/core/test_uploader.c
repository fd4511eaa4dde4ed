/* test_uploader.c - every payload ends as exactly one thing, outages cost one try at a time, and stopping always
 * ends. */
#include "delivery/uploader.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/stats.h"
#include "test.h"
#include "uploading.h"

/* A clock that only tests turn, ahead of the machine's: nothing becomes due by waiting. */
static _Atomic uint64_t now_ns;
/* Set when the test's own thread reads the clock, which it does as soon as a flush begins to wait. */
static pthread_t test_thread;
static atomic_bool flush_waits;
static atomic_bool turned_enough;

static uint64_t read_monotonic(void *context)
{
    (void)context;
    if (pthread_equal(pthread_self(), test_thread)) atomic_store(&flush_waits, true);
    return atomic_load(&now_ns);
}

static uint64_t read_realtime(void *context)
{
    (void)context;
    return atomic_load(&now_ns);
}

static const rpp_clock hand_clock = {read_monotonic, read_realtime, NULL};

/* What the backend does with the n-th try; the last one again for all that follow. */
typedef struct script {
    rpp_attempt_end end;
    int http_status;
    uint64_t retry_after_ns;
    bool permanent, no_memory, timed_out;
    bool block; /* until the client is interrupted */
    bool sent_whole, reached, closed;
    const char *message;
} script;

#define TRIES_MAX 256

typedef struct scene {
    rpp_backend backend;
    rpp_http_client http;
    rpp_payload_queue *queue;
    rpp_uploader *uploader;
    rpp_uploader_options options;
    const script *steps;
    size_t step_count;
    uint64_t bad_sequence; /* whose every try ends like this ... */
    script bad_step;
    uint64_t bad_tries; /* ... and how many there were */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t tries; /* under the lock */
    uint64_t sequences[TRIES_MAX], deadlines[TRIES_MAX];
    bool interrupted, stuck;
    char thread_name[16];
    sigset_t mask;
    unsigned infos, warnings;
    char info[RPP_LOG_LINE_MAX], warning[RPP_LOG_LINE_MAX];
} scene;

static scene *current;

static rpp_status fake_deliver(rpp_backend *backend, const rpp_payload *payload, uint64_t deadline_ns,
                               rpp_upload_result *result)
{
    scene *s = current;
    (void)backend;
    pthread_mutex_lock(&s->lock);
    size_t n = s->tries++;
    bool is_bad = payload->sequence == s->bad_sequence;
    const script *step = is_bad ? &s->bad_step : &s->steps[n < s->step_count ? n : s->step_count - 1];
    s->bad_tries += is_bad;
    if (n < TRIES_MAX) {
        s->sequences[n] = payload->sequence;
        s->deadlines[n] = deadline_ns;
    }
#ifdef __linux__
    pthread_getname_np(pthread_self(), s->thread_name, sizeof s->thread_name);
#endif
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    pthread_cond_broadcast(&s->changed);
    while ((step->block && !s->interrupted) || s->stuck) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    if (step->no_memory) return RPP_NO_MEMORY;
    *result = (rpp_upload_result){.attempt = {.end = step->block ? RPP_END_ABORTED : step->end,
                                              .http_status = step->http_status,
                                              .permanent = step->permanent,
                                              .sent_whole = step->sent_whole,
                                              .reached = step->reached,
                                              .closed = step->closed,
                                              .retry_after_ns = step->retry_after_ns},
                                  .timed_out = step->timed_out};
    if (step->message) snprintf(result->message, sizeof result->message, "%s", step->message);
    return RPP_OK;
}

static void fake_interrupt(rpp_http_client *client)
{
    (void)client;
    pthread_mutex_lock(&current->lock);
    current->interrupted = true;
    pthread_cond_broadcast(&current->changed);
    pthread_mutex_unlock(&current->lock);
}

static void keep_line(rpp_log_level level, const char *line, void *context)
{
    scene *s = context;
    pthread_mutex_lock(&s->lock);
    if (level == RPP_LOG_INFO) s->infos++;
    if (level == RPP_LOG_WARN) s->warnings++;
    strcpy(level == RPP_LOG_INFO ? s->info : s->warning, line);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void set_up_with(scene *s, const rpp_clock *clock, const script *steps, size_t count)
{
    memset(s, 0, sizeof *s);
    current = s;
    test_thread = pthread_self();
    atomic_store(&flush_waits, false);
    atomic_store(&now_ns, rpp_monotonic_ns() + 100000 * RPP_NS_PER_S);
    rpp_stats_reset();
    rpp_log_set_sink(keep_line, s);
    pthread_mutex_init(&s->lock, NULL);
    rpp_cond_init(&s->changed);
    s->steps = steps;
    s->step_count = count;
    s->backend = (rpp_backend){.name = "fake", .deliver = fake_deliver};
    s->http = (rpp_http_client){.interrupt = fake_interrupt};
    s->options = (rpp_uploader_options){.upload_timeout_ns = 10 * RPP_NS_PER_S,
                                        .backoff = {.first_ns = RPP_NS_PER_S, .max_ns = 60 * RPP_NS_PER_S},
                                        .clock = clock};
    s->queue = rpp_payload_queue_new(100, 1 << 20);
    CHECK(s->queue);
}

static void begin(scene *s)
{
    s->uploader = rpp_uploader_new(&s->options, s->queue, &s->backend, &s->http);
    CHECK(s->uploader);
    CHECK_OK(rpp_uploader_start(s->uploader));
}

static uint64_t in_seconds(unsigned seconds)
{
    return atomic_load(&now_ns) + seconds * RPP_NS_PER_S;
}

static void tear_down(scene *s)
{
    rpp_uploader_free(s->uploader);
    rpp_payload_queue_free(s->queue);
    rpp_log_set_sink(NULL, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

static void finish(scene *s)
{
    CHECK_OK(stop_by(s->uploader, in_seconds(5)));
    tear_down(s);
}

static void push_aged(scene *s, uint64_t sequence, uint64_t age_ns)
{
    rpp_payload *payload = rpp_payload_new(rpp_calloc(1, 10), 10);
    CHECK(payload);
    payload->sequence = sequence;
    payload->time_ns = atomic_load(&now_ns) - age_ns;
    rpp_stats_add(RPP_STAT_payloads_created, 1);
    rpp_payload_queue_push(s->queue, payload);
}

static void push(scene *s, uint64_t first, uint64_t last)
{
    for (uint64_t sequence = first; sequence <= last; sequence++) push_aged(s, sequence, RPP_NS_PER_S);
}

static void turn_clock(scene *s, uint64_t ns)
{
    atomic_fetch_add(&now_ns, ns);
    rpp_payload_queue_wake(s->queue);
}

/* Turns the clock until that much time has passed or that many tries were made. */
static bool wait_for_tries(scene *s, size_t tries)
{
    uint64_t deadline = rpp_monotonic_ns() + 5 * RPP_NS_PER_S;
    pthread_mutex_lock(&s->lock);
    while (s->tries < tries && rpp_monotonic_ns() < deadline) rpp_cond_wait_until(&s->changed, &s->lock, deadline);
    bool enough = s->tries >= tries;
    pthread_mutex_unlock(&s->lock);
    return enough;
}

static unsigned lines(scene *s, rpp_log_level level)
{
    pthread_mutex_lock(&s->lock);
    unsigned count = level == RPP_LOG_INFO ? s->infos : s->warnings;
    pthread_mutex_unlock(&s->lock);
    return count;
}

static size_t tries(scene *s)
{
    pthread_mutex_lock(&s->lock);
    size_t count = s->tries;
    pthread_mutex_unlock(&s->lock);
    return count;
}

/* For what the thread does after the try that was waited for. */
static bool wait_for_stat(rpp_stat stat, uint64_t value)
{
    for (int i = 0; i < 5000 && rpp_stats_get(stat) < value; i++) usleep(1000);
    return rpp_stats_get(stat) >= value;
}

static uint64_t endings(void)
{
    return rpp_stats_get(RPP_STAT_payloads_delivered) + rpp_stats_get(RPP_STAT_payloads_unconfirmed) +
           rpp_stats_get(RPP_STAT_payloads_dropped_queue_full) + rpp_stats_get(RPP_STAT_payloads_dropped_too_old) +
           rpp_stats_get(RPP_STAT_payloads_dropped_rejected) + rpp_stats_get(RPP_STAT_payloads_dropped_retries) +
           rpp_stats_get(RPP_STAT_payloads_dropped_shutdown);
}

#define SCRIPT(...) (const script[]){__VA_ARGS__}, sizeof((const script[]){__VA_ARGS__}) / sizeof(script)
#define OK_ANSWER                                                                                                      \
    {                                                                                                                  \
        .end = RPP_END_ANSWERED, .http_status = 200, .sent_whole = true                                                \
    }
#define REFUSED                                                                                                        \
    {                                                                                                                  \
        .end = RPP_END_NOT_SENT, .message = "could not connect"                                                        \
    }
#define STAT(name) rpp_stats_get(RPP_STAT_##name)

TEST(payloads_arrive_in_order_on_a_thread_of_its_own)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(OK_ANSWER));
    begin(&s); /* the thread has its name only when this is done */
    push(&s, 1, 5);
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), in_seconds(5)));
    CHECK_INT(s.tries, 5);
    for (size_t i = 0; i < 5; i++) CHECK_INT(s.sequences[i], i + 1);
    CHECK_INT(s.deadlines[0], in_seconds(10));
#ifdef __linux__
    CHECK_STR(s.thread_name, "rpp-uploader");
#endif
    CHECK(sigismember(&s.mask, SIGTERM) && sigismember(&s.mask, SIGINT) && sigismember(&s.mask, SIGURG));
    CHECK_INT(STAT(payloads_delivered), 5);
    CHECK_INT(STAT(uploads_ok), 5);
    CHECK_INT(STAT(bytes_sent), 50);
    CHECK_INT(STAT(last_upload_ok_at_ns), atomic_load(&now_ns));
    CHECK_INT(STAT(uploads_failed), 0);
    CHECK_INT(s.warnings + s.infos, 0);
    finish(&s);
}

TEST(the_others_wait_behind_the_one_being_retried)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED, REFUSED, REFUSED, OK_ANSWER));
    push(&s, 1, 3);
    begin(&s);
    CHECK(wait_for_tries(&s, 1));
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    push(&s, 4, 4); /* news alone are no reason to try */
    turn_clock(&s, 700 * RPP_NS_PER_MS);
    usleep(20000);
    CHECK_INT(tries(&s), 1);
    turn_clock(&s, 600 * RPP_NS_PER_MS);
    CHECK(wait_for_tries(&s, 2));
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 2));
    turn_clock(&s, 1400 * RPP_NS_PER_MS); /* the second wait is longer */
    usleep(20000);
    CHECK_INT(tries(&s), 2);
    turn_clock(&s, 1200 * RPP_NS_PER_MS);
    CHECK(wait_for_tries(&s, 3));
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 3));
    turn_clock(&s, 5 * RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_payloads_delivered, 4));
    static const uint64_t expected[] = {1, 1, 1, 1, 2, 3, 4};
    CHECK_INT(tries(&s), 7);
    for (size_t i = 0; i < 7; i++) CHECK_INT(s.sequences[i], expected[i]);
    CHECK_INT(STAT(uploads_failed_connect), 3);
    CHECK_INT(STAT(uploads_failed), 0);
    finish(&s);
}

TEST(one_line_when_it_begins_to_fail_and_one_when_it_works_again)
{
    scene s;
    char last[RPP_LAST_ERROR_MAX];
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED, REFUSED, REFUSED, REFUSED, OK_ANSWER));
    push(&s, 1, 1);
    begin(&s);
    for (unsigned failed = 1; failed <= 4; failed++) {
        CHECK(wait_for_stat(RPP_STAT_uploads_retried, failed));
        CHECK_INT(lines(&s, RPP_LOG_WARN), 1);
        turn_clock(&s, 100 * RPP_NS_PER_S);
    }
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), in_seconds(5)));
    CHECK_INT(s.warnings, 1);
    CHECK_INT(s.infos, 1);
    CHECK(strstr(s.warning, "upload to fake failed: could not connect; trying again"));
    CHECK(strstr(s.info, "uploads to fake work again, after 4 failed in "));
    CHECK(rpp_stats_last_error(last, sizeof last) > 0);
    CHECK_STR(last, "could not connect");
    finish(&s);
}

TEST(failing_and_working_by_turns_does_not_flood_the_log)
{
    static script turns[100];
    scene s;
    for (size_t i = 0; i < 100; i++) {
        turns[i] = i % 2 ? (script)OK_ANSWER : (script){.end = RPP_END_ANSWERED, .http_status = 400};
    }
    set_up_with(&s, &hand_clock, turns, 100);
    push(&s, 1, 100);
    begin(&s);
    CHECK_OK(stop_by(s.uploader, in_seconds(5)));
    CHECK_INT(s.tries, 100);
    CHECK_INT(s.warnings, 1);
    CHECK_INT(s.infos, 1);
    CHECK_INT(STAT(payloads_dropped_rejected), 50);
    CHECK_INT(STAT(payloads_delivered), 50);
    tear_down(&s);
}

TEST(every_end_is_counted_once_and_under_its_reason)
{
    static const struct {
        script step;
        rpp_stat payload, request, reason;
    } cases[] = {
        {{.end = RPP_END_ANSWERED, .http_status = 204},
         RPP_STAT_payloads_delivered,
         RPP_STAT_uploads_ok,
         RPP_STAT_uploads_ok},
        {{.end = RPP_END_STORED}, RPP_STAT_payloads_delivered, RPP_STAT_uploads_ok, RPP_STAT_uploads_ok},
        {{.end = RPP_END_ANSWERED, .http_status = 401},
         RPP_STAT_payloads_dropped_rejected,
         RPP_STAT_uploads_failed,
         RPP_STAT_uploads_failed_4xx},
        {{.end = RPP_END_ANSWERED, .http_status = 429, .permanent = true},
         RPP_STAT_payloads_dropped_rejected,
         RPP_STAT_uploads_failed,
         RPP_STAT_uploads_failed_4xx},
        {{.end = RPP_END_ANSWERED, .http_status = 501},
         RPP_STAT_payloads_dropped_rejected,
         RPP_STAT_uploads_failed,
         RPP_STAT_uploads_failed_5xx},
        {{.end = RPP_END_ANSWERED, .http_status = 301},
         RPP_STAT_payloads_dropped_rejected,
         RPP_STAT_uploads_failed,
         RPP_STAT_uploads_failed},
        {{.end = RPP_END_ANSWERED, .http_status = 504},
         RPP_STAT_payloads_unconfirmed,
         RPP_STAT_uploads_failed,
         RPP_STAT_uploads_failed_5xx},
        {{.end = RPP_END_NO_ANSWER, .timed_out = true},
         RPP_STAT_payloads_unconfirmed,
         RPP_STAT_uploads_failed,
         RPP_STAT_uploads_failed_timeout},
        {{.end = RPP_END_NO_ANSWER},
         RPP_STAT_payloads_unconfirmed,
         RPP_STAT_uploads_failed,
         RPP_STAT_uploads_failed_connect},
        {{.end = RPP_END_NOT_SENT, .permanent = true},
         RPP_STAT_payloads_dropped_rejected,
         RPP_STAT_uploads_failed,
         RPP_STAT_uploads_failed_connect},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s;
        set_up_with(&s, &hand_clock, &cases[i].step, 1);
        push(&s, 1, 1);
        begin(&s);
        CHECK(wait_for_stat(cases[i].payload, 1));
        CHECK_INT(tries(&s), 1);
        CHECK_INT(rpp_stats_get(cases[i].payload), 1);
        CHECK_INT(rpp_stats_get(cases[i].request), 1);
        CHECK_INT(rpp_stats_get(cases[i].reason), 1);
        CHECK_INT(endings(), 1);
        CHECK_INT(STAT(uploads_ok) + STAT(uploads_failed), 1);
        CHECK_INT(STAT(uploads_retried), 0);
        CHECK_OK(stop_by(s.uploader, in_seconds(5)));
        CHECK_INT(endings(), 1);
        tear_down(&s);
    }
}

TEST(a_500_ends_after_three_tries)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT({.end = RPP_END_ANSWERED, .http_status = 500}));
    push(&s, 1, 1);
    begin(&s);
    for (size_t i = 1; i <= 3; i++) {
        CHECK(wait_for_tries(&s, i));
        if (i < 3) CHECK(wait_for_stat(RPP_STAT_uploads_retried, i));
        turn_clock(&s, 100 * RPP_NS_PER_S);
    }
    CHECK(wait_for_stat(RPP_STAT_payloads_dropped_retries, 1));
    CHECK_INT(tries(&s), 3);
    CHECK_INT(STAT(uploads_failed_5xx), 3);
    finish(&s);
}

#define CLOSED                                                                                                         \
    {                                                                                                                  \
        .end = RPP_END_NO_ANSWER, .sent_whole = true, .closed = true                                                   \
    }

/* The server died: of 30 requests that met a killed Pyroscope, none was stored. */
TEST(what_met_a_closed_connection_is_sent_again_twice)
{
    static const script answers[] = {OK_ANSWER, CLOSED};
    for (size_t last = 0; last < 2; last++) {
        scene s;
        const script steps[] = {CLOSED, CLOSED, answers[last]};
        set_up_with(&s, &hand_clock, steps, 3);
        push(&s, 1, 1);
        begin(&s);
        for (size_t i = 1; i <= 2; i++) {
            CHECK(wait_for_stat(RPP_STAT_uploads_retried, i));
            turn_clock(&s, 100 * RPP_NS_PER_S);
        }
        CHECK(wait_for_stat(last ? RPP_STAT_payloads_unconfirmed : RPP_STAT_payloads_delivered, 1));
        CHECK_INT(tries(&s), 3);
        CHECK_INT(STAT(payloads_resent_after_close), 2);
        CHECK_INT(STAT(uploads_failed_connect), last ? 3 : 2);
        finish(&s);
    }
}

#define SERVER_ERROR                                                                                                   \
    {                                                                                                                  \
        .end = RPP_END_ANSWERED, .http_status = 500, .sent_whole = true                                                \
    }

TEST(a_500_at_the_end_of_an_outage_is_one_of_three_as_well)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED, REFUSED, REFUSED, REFUSED, SERVER_ERROR, SERVER_ERROR, OK_ANSWER));
    push(&s, 1, 1);
    begin(&s);
    for (size_t failed = 1; failed <= 6; failed++) {
        CHECK(wait_for_stat(RPP_STAT_uploads_retried, failed));
        turn_clock(&s, 100 * RPP_NS_PER_S);
    }
    CHECK(wait_for_stat(RPP_STAT_payloads_delivered, 1));
    CHECK_INT(tries(&s), 7);
    finish(&s);
}

TEST(a_flush_uses_up_no_more_than_one_try_after_a_500)
{
    scene s;
    set_up_with(&s, &rpp_system_clock, SCRIPT({.end = RPP_END_ANSWERED, .http_status = 500}));
    push(&s, 1, 1);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    CHECK_INT(flush_by(s.uploader, lost_so_far(s.uploader), rpp_monotonic_ns() + 2 * RPP_NS_PER_S), RPP_TIMEOUT);
    CHECK_INT(tries(&s), 2);
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns()));
    tear_down(&s);
}

TEST(out_of_memory_is_tried_again)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT({.no_memory = true}, OK_ANSWER));
    push(&s, 1, 1);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    turn_clock(&s, 2 * RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_payloads_delivered, 1));
    finish(&s);
}

TEST(what_is_too_old_is_dropped_untried_even_while_it_waits)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED, OK_ANSWER));
    s.options.max_age_ns = 60 * RPP_NS_PER_S;
    s.backend.rules.max_age_ns = 55 * RPP_NS_PER_S;
    push_aged(&s, 1, 56 * RPP_NS_PER_S);
    push_aged(&s, 2, 50 * RPP_NS_PER_S);
    push_aged(&s, 3, 0);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    turn_clock(&s, 6 * RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_payloads_delivered, 1));
    CHECK_INT(STAT(payloads_dropped_too_old), 2);
    CHECK_INT(tries(&s), 2);
    CHECK_INT(s.sequences[0], 2);
    CHECK_INT(s.sequences[1], 3);
    finish(&s);
}

TEST(retry_after_is_kept)
{
    scene s;
    set_up_with(&s, &hand_clock,
                SCRIPT({.end = RPP_END_ANSWERED, .http_status = 429, .retry_after_ns = 30 * RPP_NS_PER_S}, OK_ANSWER));
    push(&s, 1, 1);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    turn_clock(&s, 29 * RPP_NS_PER_S);
    usleep(20000);
    CHECK_INT(tries(&s), 1);
    turn_clock(&s, RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_payloads_delivered, 1));
    finish(&s);
}

/* --- one payload that is not taken
 * ---------------------------------------------------------------------------------- */

/* The rate limit of a server for this payload, and an uplink that is too slow for it. */
static const script bad_steps[] = {{.end = RPP_END_ANSWERED, .http_status = 429, .sent_whole = true},
                                   {.end = RPP_END_NOT_SENT, .reached = true, .timed_out = true}};

/* A try that ends behind the turn of the clock sets a rest that only the next turn ends. */
static bool turn_until_delivered(scene *s, uint64_t count)
{
    for (int i = 1; i <= 5000 && STAT(payloads_delivered) < count; i++) {
        usleep(500);
        if (i % 20 == 0) turn_clock(s, 2 * RPP_NS_PER_S);
    }
    return STAT(payloads_delivered) >= count;
}

TEST(one_payload_that_keeps_failing_does_not_stop_the_others)
{
    enum { SECONDS = 10, COUNT = 3 * 3600 / SECONDS };
    for (size_t i = 0; i < 2; i++) {
        scene s;
        set_up_with(&s, &hand_clock, SCRIPT(OK_ANSWER));
        s.options.backoff.max_alone = 10;
        s.bad_sequence = 3;
        s.bad_step = bad_steps[i];
        begin(&s);
        for (uint64_t sequence = 1; sequence <= COUNT; sequence++) {
            push(&s, sequence, sequence);
            CHECK(wait_for_tries(&s, 1));
            turn_clock(&s, SECONDS * RPP_NS_PER_S);
            CHECK(turn_until_delivered(&s, sequence < 3 ? sequence : sequence - 1));
        }
        CHECK_INT(STAT(payloads_delivered), COUNT - 1);
        CHECK_INT(STAT(payloads_dropped_retries), 1); /* it has a limit of its own */
        CHECK(s.bad_tries >= 11 && s.bad_tries <= 13);
        CHECK_OK(stop_by(s.uploader, in_seconds(5)));
        tear_down(&s);
    }
}

TEST(an_outage_is_no_payloads_fault)
{
    static script outage[41];
    scene s;
    for (size_t i = 0; i < 40; i++) outage[i] = (script){.end = RPP_END_ANSWERED, .http_status = 503};
    outage[40] = (script)OK_ANSWER;
    set_up_with(&s, &hand_clock, outage, 41);
    s.options.backoff.max_alone = 1;
    begin(&s);
    for (uint64_t failed = 1; failed <= 40; failed++) {
        push(&s, failed, failed);
        CHECK(wait_for_stat(RPP_STAT_uploads_retried, failed));
        turn_clock(&s, 100 * RPP_NS_PER_S);
    }
    CHECK(wait_for_stat(RPP_STAT_payloads_delivered, 40));
    CHECK_INT(tries(&s), 80);
    finish(&s);
}

TEST(a_500_is_tried_as_often_as_ever_but_others_come_in_between)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(OK_ANSWER));
    s.bad_sequence = 1;
    s.bad_step = (script)SERVER_ERROR;
    push(&s, 1, 3);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    turn_clock(&s, 1300 * RPP_NS_PER_MS); /* the backend has rested; the payload waits for longer */
    CHECK(wait_for_stat(RPP_STAT_payloads_delivered, 2));
    CHECK_INT(s.bad_tries, 1);
    for (size_t i = 0; i < 2; i++) {
        turn_clock(&s, 100 * RPP_NS_PER_S);
        CHECK(wait_for_tries(&s, 4 + i));
        CHECK(wait_for_stat(i ? RPP_STAT_payloads_dropped_retries : RPP_STAT_uploads_retried, i ? 1 : 2));
    }
    finish(&s);
}

static void *let_go_soon(void *context)
{
    scene *s = context;
    usleep(50000);
    pthread_mutex_lock(&s->lock);
    s->stuck = false;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

TEST(at_the_end_one_that_fails_leaves_time_for_the_others)
{
    scene s;
    set_up_with(&s, NULL, SCRIPT(OK_ANSWER));
    s.options.backoff.first_ns = s.options.backoff.max_ns = 500 * RPP_NS_PER_MS;
    s.bad_sequence = 1;
    s.bad_step = bad_steps[1];
    s.stuck = true;
    push(&s, 1, 7);
    begin(&s);
    CHECK(wait_for_tries(&s, 1));
    uint64_t end_ns = rpp_monotonic_ns() + 5 * RPP_NS_PER_S;
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, let_go_soon, &s), 0);
    CHECK_OK(stop_by(s.uploader, end_ns));
    pthread_join(thread, NULL);
    CHECK_INT(STAT(payloads_delivered), 6);
    CHECK_INT(STAT(payloads_dropped_shutdown), 1);
    for (size_t i = 1; i < 7; i++) CHECK_INT(s.sequences[i], i + 1);
    CHECK_INT(s.sequences[7], 1);
    CHECK(s.deadlines[1] < end_ns - 100 * RPP_NS_PER_MS); /* half of what is left, as others wait ... */
    CHECK_INT(s.deadlines[7], end_ns);                    /* ... and all of it, as none does */
    tear_down(&s);
}

/* --- flush
 * ---------------------------------------------------------------------------------------------------------- */

TEST(flush_of_nothing_is_done)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(OK_ANSWER));
    begin(&s);
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), in_seconds(5)));
    finish(&s);
}

TEST(a_flush_tells_what_was_lost_since_its_caller_looked)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT({.end = RPP_END_ANSWERED, .http_status = 400}, OK_ANSWER));
    begin(&s);
    uint64_t before = lost_so_far(s.uploader);
    push(&s, 1, 1);
    CHECK(wait_for_stat(RPP_STAT_payloads_dropped_rejected, 1));
    CHECK_INT(flush_by(s.uploader, before, in_seconds(5)), RPP_IO);
    push(&s, 2, 2);
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), in_seconds(5)));
    finish(&s);
}

TEST(flush_hurries_a_retry)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED, OK_ANSWER));
    push(&s, 1, 2);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    CHECK_OK(flush_by(s.uploader, lost_so_far(s.uploader), in_seconds(5))); /* the clock stands still */
    CHECK_INT(STAT(payloads_delivered), 2);
    finish(&s);
}

TEST(flush_gives_up_at_its_deadline)
{
    scene s;
    set_up_with(&s, NULL, SCRIPT(REFUSED));
    s.options.backoff.first_ns = s.options.backoff.max_ns = 3600 * RPP_NS_PER_S;
    push(&s, 1, 1);
    begin(&s);
    uint64_t start = rpp_monotonic_ns();
    CHECK_INT(flush_by(s.uploader, lost_so_far(s.uploader), start + 50 * RPP_NS_PER_MS), RPP_TIMEOUT);
    CHECK(rpp_monotonic_ns() - start >= 50 * RPP_NS_PER_MS);
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + 20 * RPP_NS_PER_MS));
    CHECK_INT(STAT(payloads_dropped_shutdown), 1);
    tear_down(&s);
}

static void *overflow_during_flush(void *context)
{
    scene *s = context;
    while (!atomic_load(&flush_waits)) usleep(100);
    push(s, 4, 5);
    fake_interrupt(&s->http); /* lets go of the one that is being tried */
    return NULL;
}

TEST(a_flush_tells_of_losses_and_does_not_wait_for_what_a_full_queue_drops)
{
    scene s;
    pthread_t thread;
    /* While the clock stands still, the new ones do not end by themselves. */
    set_up_with(&s, &hand_clock, SCRIPT({.block = true}, REFUSED, OK_ANSWER));
    rpp_payload_queue_free(s.queue);
    s.queue = rpp_payload_queue_new(2, 1 << 20);
    push(&s, 1, 1);
    begin(&s);
    CHECK(wait_for_tries(&s, 1));
    push(&s, 2, 3);
    uint64_t lost_before = lost_so_far(s.uploader);
    CHECK_INT(pthread_create(&thread, NULL, overflow_during_flush, &s), 0);
    CHECK_INT(flush_by(s.uploader, lost_before, in_seconds(5)), RPP_IO);
    pthread_join(thread, NULL);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1)); /* else the stop would hurry too early */
    CHECK_OK(stop_by(s.uploader, in_seconds(5)));
    CHECK_INT(STAT(payloads_dropped_queue_full), 2);
    CHECK_INT(STAT(payloads_dropped_shutdown), 1);
    CHECK_INT(STAT(payloads_delivered), 2);
    tear_down(&s);
}

static void *fail_during_flush(void *context)
{
    scene *s = context;
    while (!atomic_load(&flush_waits)) usleep(100);
    pthread_mutex_lock(&s->lock);
    s->stuck = false;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

TEST(a_flush_hurries_what_fails_meanwhile_and_tells_what_stayed_unconfirmed)
{
    scene s;
    pthread_t thread;
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED, {.end = RPP_END_NO_ANSWER}));
    s.stuck = true;
    push(&s, 1, 1);
    begin(&s);
    CHECK(wait_for_tries(&s, 1));
    uint64_t lost_before = lost_so_far(s.uploader);
    CHECK_INT(pthread_create(&thread, NULL, fail_during_flush, &s), 0);
    CHECK_INT(flush_by(s.uploader, lost_before, in_seconds(5)), RPP_IO); /* the clock stands still */
    pthread_join(thread, NULL);
    CHECK_INT(tries(&s), 2);
    CHECK_INT(STAT(payloads_unconfirmed), 1);
    finish(&s);
}

/* --- stop
 * ----------------------------------------------------------------------------------------------------------- */

TEST(stop_sends_what_is_left)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED, OK_ANSWER));
    push(&s, 1, 3);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    CHECK_OK(stop_by(s.uploader, in_seconds(3)));
    CHECK_INT(STAT(payloads_delivered), 3);
    CHECK_INT(s.deadlines[3], in_seconds(3)); /* no try goes past the end */
    CHECK_INT(endings(), 3);
    tear_down(&s);
}

TEST(stop_drops_what_is_left_at_the_deadline)
{
    scene s;
    set_up_with(&s, NULL, SCRIPT(REFUSED));
    push(&s, 1, 4);
    begin(&s);
    uint64_t start = rpp_monotonic_ns();
    CHECK_OK(stop_by(s.uploader, start + 50 * RPP_NS_PER_MS));
    CHECK(rpp_monotonic_ns() - start < RPP_NS_PER_S);
    CHECK_INT(STAT(payloads_dropped_shutdown), 4);
    CHECK_INT(endings(), 4);
    CHECK_INT(rpp_payload_queue_count(s.queue), 0);
    tear_down(&s);
}

/* Turns the clock as far as the pause after a try that found nobody. */
static void *turn_with_each_try(void *context)
{
    scene *s = context;
    for (uint64_t seen = 0; !atomic_load(&turned_enough); usleep(500)) {
        if (STAT(uploads_retried) == seen) continue;
        seen = STAT(uploads_retried);
        turn_clock(s, 250 * RPP_NS_PER_MS);
    }
    return NULL;
}

static rpp_status stop_turning(scene *s)
{
    pthread_t thread;
    atomic_store(&turned_enough, false);
    CHECK_INT(pthread_create(&thread, NULL, turn_with_each_try, s), 0);
    rpp_status status = stop_by(s->uploader, in_seconds(60));
    atomic_store(&turned_enough, true);
    pthread_join(thread, NULL);
    return status;
}

TEST(stop_gives_a_backend_that_has_just_gone_a_second)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED));
    push(&s, 1, 4);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    CHECK_OK(stop_turning(&s));
    CHECK(tries(&s) >= 4 && tries(&s) <= 6);
    CHECK_INT(STAT(payloads_dropped_shutdown), 4);
    CHECK_INT(endings(), 4);
    tear_down(&s);
}

TEST(stop_sends_all_when_it_is_back_within_the_second)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED, REFUSED, REFUSED, OK_ANSWER));
    push(&s, 1, 4);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    CHECK_OK(stop_turning(&s));
    CHECK_INT(STAT(payloads_delivered), 4);
    tear_down(&s);
}

TEST(stop_tries_once_what_has_been_away_for_longer)
{
    static const script absences[] = {REFUSED, {.end = RPP_END_IO_ERROR, .message = "disk full"}};
    for (size_t i = 0; i < 2; i++) {
        scene s;
        set_up_with(&s, &hand_clock, &absences[i], 1);
        push(&s, 1, 4);
        begin(&s);
        CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
        turn_clock(&s, 100 * RPP_NS_PER_S);
        CHECK(wait_for_stat(RPP_STAT_uploads_retried, 2));
        CHECK_OK(stop_turning(&s));
        CHECK_INT(tries(&s), 3);
        CHECK_INT(STAT(payloads_dropped_shutdown), 4);
        tear_down(&s);
    }
}

TEST(stop_counts_the_second_anew_once_the_backend_was_there)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(REFUSED, REFUSED, OK_ANSWER, REFUSED, REFUSED, OK_ANSWER));
    push(&s, 1, 2);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    turn_clock(&s, 100 * RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 2));
    turn_clock(&s, 100 * RPP_NS_PER_S);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 3));
    CHECK_OK(stop_turning(&s));
    CHECK_INT(STAT(payloads_delivered), 2);
    tear_down(&s);
}

TEST(stop_does_not_wait_for_what_may_come_after_its_deadline_only)
{
    scene s;
    set_up_with(&s, NULL, SCRIPT({.end = RPP_END_ANSWERED, .http_status = 429, .retry_after_ns = 120 * RPP_NS_PER_S}));
    push(&s, 1, 2);
    begin(&s);
    CHECK(wait_for_stat(RPP_STAT_uploads_retried, 1));
    uint64_t start = rpp_monotonic_ns();
    CHECK_OK(stop_by(s.uploader, start + 60 * RPP_NS_PER_S));
    CHECK(rpp_monotonic_ns() - start < 20 * RPP_NS_PER_S);
    CHECK_INT(tries(&s), 2);
    CHECK_INT(STAT(payloads_dropped_shutdown), 2);
    tear_down(&s);
}

TEST(stop_interrupts_what_hangs_and_tells_whether_it_was_sent)
{
    for (int sent = 0; sent < 2; sent++) {
        const script step = {.block = true, .sent_whole = sent == 1};
        scene s;
        set_up_with(&s, NULL, &step, 1);
        push(&s, 1, 2);
        begin(&s);
        CHECK(wait_for_tries(&s, 1));
        uint64_t start = rpp_monotonic_ns();
        CHECK_OK(stop_by(s.uploader, start + 50 * RPP_NS_PER_MS));
        CHECK(rpp_monotonic_ns() - start < RPP_NS_PER_S);
        CHECK_INT(STAT(payloads_unconfirmed), sent);
        CHECK_INT(STAT(payloads_dropped_shutdown), 2 - sent);
        CHECK_INT(endings(), 2);
        CHECK_INT(s.warnings, sent); /* who stops tells what is dropped */
        tear_down(&s);
    }
}

TEST(a_thread_that_does_not_end_is_left_alone)
{
    scene s;
    set_up_with(&s, NULL, SCRIPT(OK_ANSWER));
    s.stuck = true;
    push(&s, 1, 1);
    begin(&s);
    CHECK(wait_for_tries(&s, 1));
    CHECK_INT(stop_by(s.uploader, rpp_monotonic_ns() + 10 * RPP_NS_PER_MS), RPP_TIMEOUT);
    pthread_mutex_lock(&s.lock);
    s.stuck = false;
    pthread_cond_broadcast(&s.changed);
    pthread_mutex_unlock(&s.lock);
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + 5 * RPP_NS_PER_S));
    CHECK_INT(endings(), 1);
    tear_down(&s);
}

TEST(stop_without_start_counts_what_was_there)
{
    scene s;
    set_up_with(&s, &hand_clock, SCRIPT(OK_ANSWER));
    push(&s, 1, 2);
    s.uploader = rpp_uploader_new(&s.options, s.queue, &s.backend, &s.http);
    CHECK_OK(stop_by(s.uploader, in_seconds(1)));
    CHECK_INT(STAT(payloads_dropped_shutdown), 2);
    tear_down(&s);
}

TEST(backends_without_a_client_stop_as_well)
{
    scene s;
    set_up_with(&s, NULL, SCRIPT({.end = RPP_END_IO_ERROR, .message = "disk full"}));
    push(&s, 1, 1);
    s.uploader = rpp_uploader_new(&s.options, s.queue, &s.backend, NULL);
    CHECK_OK(rpp_uploader_start(s.uploader));
    CHECK(wait_for_tries(&s, 1));
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + 20 * RPP_NS_PER_MS));
    CHECK_INT(STAT(payloads_dropped_shutdown), 1);
    tear_down(&s);
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
    for (uint64_t sequence = self->first; sequence <= self->last; sequence++) {
        push_aged(self->s, sequence, 0);
        if (sequence % 7 == 0) usleep(100);
    }
    return NULL;
}

static void *flush_often(void *context)
{
    scene *s = context;
    for (int i = 0; i < 50; i++) {
        rpp_status status = flush_by(s->uploader, lost_so_far(s->uploader), rpp_monotonic_ns() + 5 * RPP_NS_PER_MS);
        (void)status;
    }
    return NULL;
}

TEST(producers_flushes_and_a_stop_at_once_lose_no_count)
{
    static const script mixed[] = {OK_ANSWER,
                                   REFUSED,
                                   {.end = RPP_END_NO_ANSWER},
                                   OK_ANSWER,
                                   {.end = RPP_END_ANSWERED, .http_status = 503},
                                   {.end = RPP_END_ANSWERED, .http_status = 400},
                                   OK_ANSWER};
    static script many[300];
    for (size_t i = 0; i < 300; i++) many[i] = mixed[i % 7];
    scene s;
    pthread_t threads[3];
    set_up_with(&s, NULL, many, 300);
    s.options.backoff = (rpp_retry_policy){.first_ns = 100 * RPP_NS_PER_US, .max_ns = RPP_NS_PER_MS};
    begin(&s);
    atomic_store(&now_ns, rpp_realtime_ns());
    producer producers[2] = {{&s, 1, 400}, {&s, 401, 800}};
    CHECK_INT(pthread_create(&threads[0], NULL, produce, &producers[0]), 0);
    CHECK_INT(pthread_create(&threads[1], NULL, produce, &producers[1]), 0);
    CHECK_INT(pthread_create(&threads[2], NULL, flush_often, &s), 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + 2 * RPP_NS_PER_S));
    CHECK_INT(endings(), 800);
    CHECK_INT(STAT(payloads_created), 800);
    tear_down(&s);
}
