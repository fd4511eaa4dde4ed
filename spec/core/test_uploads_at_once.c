/* test_uploads_at_once.c - requests beside each other, on a clock that stands still unless the thread waits for the
 * network. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/stats.h"
#include "base/thread.h"
#include "delivery/uploader.h"
#include "test.h"
#include "uploading.h"

#define ANSWER_NS  (RPP_NS_PER_S / 2)
#define STAT(name) rpp_stats_get(RPP_STAT_##name)

struct rpp_http_exchange {
    uint64_t sequence, ends_ns; /* 0: it is free */
    bool interrupted;
};

typedef struct scene {
    rpp_backend backend;
    rpp_http_client http;
    rpp_payload_queue *queue;
    rpp_uploader *uploader;
    rpp_uploader_options options;
    rpp_attempt answers[64]; /* by sequence; all zero: 200 */
    uint64_t took_ns[64];    /* by sequence; 0: ANSWER_NS */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held; /* the network stands still */
    bool interrupted;
    rpp_http_exchange exchanges[RPP_HTTP_EXCHANGES_MAX + 1];
    unsigned at_once, most;
    unsigned begun;
    uint64_t begun_ns[64]; /* in their order */
    unsigned beside[64];   /* how many were under way then, with it */
} scene;

static scene *current;
static _Atomic uint64_t now_ns;

static uint64_t read_clock(void *context)
{
    (void)context;
    return atomic_load(&now_ns);
}

static const rpp_clock hand_clock = {read_clock, read_clock, NULL};

/* --- the network
 * ---------------------------------------------------------------------------------------------------- */

static rpp_status begin(rpp_backend *backend, rpp_flight *flight)
{
    scene *s = current;
    uint64_t sequence = flight->payload->sequence, took_ns = s->took_ns[sequence];
    (void)backend;
    pthread_mutex_lock(&s->lock);
    rpp_http_exchange *exchange = s->exchanges;
    while (exchange->sequence) exchange++;
    CHECK(exchange < s->exchanges + RPP_HTTP_EXCHANGES_MAX);
    *exchange =
        (rpp_http_exchange){.sequence = sequence, .ends_ns = atomic_load(&now_ns) + (took_ns ? took_ns : ANSWER_NS)};
    if (++s->at_once > s->most) s->most = s->at_once;
    s->begun_ns[s->begun] = atomic_load(&now_ns);
    s->beside[s->begun++] = s->at_once;
    pthread_mutex_unlock(&s->lock);
    flight->exchange = exchange;
    return RPP_OK;
}

static bool has_ended(const rpp_http_exchange *exchange)
{
    return exchange->interrupted || exchange->ends_ns <= atomic_load(&now_ns);
}

static rpp_status end(rpp_backend *backend, rpp_flight *flight)
{
    scene *s = current;
    rpp_attempt answer = s->answers[flight->payload->sequence];
    (void)backend;
    if (answer.end == RPP_END_ANSWERED && !answer.http_status) answer.http_status = 200;
    if (flight->exchange->interrupted) answer = (rpp_attempt){.end = RPP_END_ABORTED};
    flight->result = (rpp_upload_result){.attempt = answer};
    pthread_mutex_lock(&s->lock);
    flight->exchange->sequence = 0;
    s->at_once--;
    pthread_mutex_unlock(&s->lock);
    flight->exchange = NULL;
    return RPP_OK;
}

/* Goes on to the next answer, or to the time. */
static void wait_for_answer(rpp_http_client *http, uint64_t until_ns)
{
    scene *s = current;
    (void)http;
    pthread_mutex_lock(&s->lock);
    while (s->held && !s->interrupted) pthread_cond_wait(&s->changed, &s->lock);
    for (unsigned i = 0; i < RPP_HTTP_EXCHANGES_MAX; i++) {
        rpp_http_exchange *exchange = &s->exchanges[i];
        if (exchange->sequence && s->interrupted) exchange->interrupted = true;
        if (exchange->sequence && exchange->ends_ns < until_ns) until_ns = exchange->ends_ns;
    }
    if (!s->interrupted && until_ns > atomic_load(&now_ns)) atomic_store(&now_ns, until_ns);
    pthread_mutex_unlock(&s->lock);
}

static void wake(rpp_http_client *http)
{
    (void)http;
}

static void interrupt(rpp_http_client *http)
{
    (void)http;
    pthread_mutex_lock(&current->lock);
    current->interrupted = true;
    pthread_cond_broadcast(&current->changed);
    pthread_mutex_unlock(&current->lock);
}

static void hold(scene *s, bool held)
{
    pthread_mutex_lock(&s->lock);
    s->held = held;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* --- the scene
 * ------------------------------------------------------------------------------------------------------ */

static void set_up(scene *s)
{
    memset(s, 0, sizeof *s);
    current = s;
    atomic_store(&now_ns, rpp_monotonic_ns() + 100000 * RPP_NS_PER_S);
    rpp_stats_reset();
    pthread_mutex_init(&s->lock, NULL);
    rpp_cond_init(&s->changed);
    s->backend = (rpp_backend){.name = "fake", .begin = begin, .end = end};
    s->http = (rpp_http_client){.wait = wait_for_answer, .has_ended = has_ended, .wake = wake, .interrupt = interrupt};
    s->options = (rpp_uploader_options){.upload_timeout_ns = 10 * RPP_NS_PER_S,
                                        .backoff = {.first_ns = RPP_NS_PER_S, .max_ns = 60 * RPP_NS_PER_S},
                                        .clock = &hand_clock};
    s->queue = rpp_payload_queue_new(100, 1 << 20);
    s->uploader = rpp_uploader_new(&s->options, s->queue, &s->backend, &s->http);
    CHECK(s->queue && s->uploader);
}

static void tear_down(scene *s)
{
    rpp_uploader_free(s->uploader);
    rpp_payload_queue_free(s->queue);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

static void push(scene *s, uint64_t first, uint64_t last)
{
    for (uint64_t sequence = first; sequence <= last; sequence++) {
        rpp_payload *payload = rpp_payload_new(rpp_calloc(1, 10), 10);
        CHECK(payload);
        payload->sequence = sequence;
        payload->time_ns = atomic_load(&now_ns);
        rpp_payload_queue_push(s->queue, payload);
    }
}

static unsigned begun(scene *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned count = s->begun;
    pthread_mutex_unlock(&s->lock);
    return count;
}

/* Real time is for a thread that hangs only. */
static rpp_status flush(scene *s)
{
    return flush_by(s->uploader, lost_so_far(s->uploader), atomic_load(&now_ns) + 3600 * RPP_NS_PER_S);
}

static void finish(scene *s)
{
    CHECK_OK(stop_by(s->uploader, rpp_monotonic_ns() + 60 * RPP_NS_PER_S));
    tear_down(s);
}

/* --- how long it takes
 * ---------------------------------------------------------------------------------------------- */

TEST(the_groups_of_a_profile_wait_for_one_answer)
{
    scene s;
    set_up(&s);
    uint64_t began_ns = atomic_load(&now_ns);
    push(&s, 1, 6);
    CHECK_OK(rpp_uploader_start(s.uploader));
    CHECK_OK(flush(&s));
    CHECK_INT(atomic_load(&now_ns) - began_ns, ANSWER_NS);
    CHECK_INT(STAT(payloads_delivered), 6);
    CHECK_INT(s.most, 6);
    finish(&s);
}

TEST(eight_are_under_way_at_the_most)
{
    scene s;
    set_up(&s);
    uint64_t began_ns = atomic_load(&now_ns);
    push(&s, 1, 20);
    CHECK_OK(rpp_uploader_start(s.uploader));
    CHECK_OK(flush(&s));
    CHECK_INT(atomic_load(&now_ns) - began_ns, 3 * ANSWER_NS);
    CHECK_INT(s.most, 8);
    CHECK_INT(STAT(payloads_delivered), 20);
    finish(&s);
}

TEST(an_interval_of_a_second_holds_with_six_profiles_each)
{
    scene s;
    set_up(&s);
    CHECK_OK(rpp_uploader_start(s.uploader));
    for (uint64_t second = 0; second < 9; second++) {
        hold(&s, true);
        push(&s, 1 + 6 * second, 6 + 6 * second);
        uint64_t began_ns = atomic_load(&now_ns);
        hold(&s, false);
        CHECK_OK(flush(&s));
        CHECK(atomic_load(&now_ns) - began_ns <=
              2 * ANSWER_NS); /* the first may have begun before the others were there */
        CHECK_INT(rpp_payload_queue_count(s.queue), 0);
    }
    CHECK_INT(STAT(payloads_delivered), 54);
    finish(&s);
}

/* --- when something fails
 * ------------------------------------------------------------------------------------------- */

TEST(a_server_that_is_away_costs_one_try_at_a_time)
{
    scene s;
    set_up(&s);
    for (uint64_t i = 1; i <= 20; i++) s.answers[i] = (rpp_attempt){.end = RPP_END_NOT_SENT};
    push(&s, 1, 20);
    hold(&s, true);
    CHECK_OK(rpp_uploader_start(s.uploader));
    hold(&s, false);
    while (STAT(uploads_retried) < 8) usleep(1000);
    /* All eight failed as one: the rest is the first pause, not the eighth. */
    atomic_fetch_add(&now_ns, 2 * RPP_NS_PER_S);
    rpp_payload_queue_wake(s.queue);
    while (STAT(uploads_retried) < 9) usleep(1000);
    CHECK_INT(begun(&s), 9);
    for (unsigned i = 0; i < 8; i++) CHECK_INT(s.beside[i], i + 1);
    CHECK_INT(s.beside[8], 1);
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns()));
    CHECK_INT(STAT(payloads_dropped_shutdown), 20);
    tear_down(&s);
}

TEST(retry_after_holds_for_all)
{
    scene s;
    set_up(&s);
    s.answers[1] = (rpp_attempt){.end = RPP_END_ANSWERED, .http_status = 429, .retry_after_ns = 30 * RPP_NS_PER_S};
    s.took_ns[2] = 2 * RPP_NS_PER_S; /* delivered after the refusal came: the server still wants its rest */
    push(&s, 1, 9);
    hold(&s, true);
    CHECK_OK(rpp_uploader_start(s.uploader));
    uint64_t began_ns = atomic_load(&now_ns);
    hold(&s, false);
    while (STAT(payloads_delivered) < 7) usleep(1000);
    CHECK_INT(begun(&s), 8);
    atomic_store(&now_ns, began_ns + 29 * RPP_NS_PER_S);
    rpp_payload_queue_wake(s.queue);
    usleep(20000);
    CHECK_INT(begun(&s), 8);
    memset(&s.answers[1], 0, sizeof s.answers[1]);
    atomic_store(&now_ns, began_ns + 31 * RPP_NS_PER_S);
    rpp_payload_queue_wake(s.queue);
    while (STAT(payloads_delivered) < 9) usleep(1000);
    CHECK_INT(begun(&s), 10);
    CHECK_INT(s.beside[8], 1); /* until one has succeeded */
    finish(&s);
}

/* --- the end
 * -------------------------------------------------------------------------------------------------------- */

TEST(a_stop_ends_all_that_is_under_way_at_its_deadline)
{
    scene s;
    set_up(&s);
    push(&s, 1, 12);
    hold(&s, true);
    CHECK_OK(rpp_uploader_start(s.uploader));
    while (begun(&s) < 8) usleep(1000);
    CHECK_OK(stop_by(s.uploader, rpp_monotonic_ns() + 10 * RPP_NS_PER_MS));
    CHECK_INT(STAT(payloads_dropped_shutdown), 12);
    CHECK_INT(STAT(payloads_delivered) + STAT(payloads_unconfirmed), 0);
    tear_down(&s);
}
