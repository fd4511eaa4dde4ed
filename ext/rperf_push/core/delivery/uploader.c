/* uploader.c - the background thread that brings payloads from the queue to the backend, some at a time.
 *
 * It looks, decides and acts: payload_sources.h has the waiting payloads, next_step.h decides what it does next, and
 * next_try.h what follows a try. Each try under way has a place; the HTTP client drives them while the thread waits. A
 * flush waits until all payloads that existed at its start have ended; with a spool, until the thread finds no payload
 * left.
 *
 * Locks      `lock` before the queue's; neither is held while a payload is delivered.
 */
#include "delivery/uploader.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/thread.h"
#include "delivery/next_step.h"
#include "delivery/next_try.h"
#include "delivery/payload_sources.h"
#include "delivery/upload_report.h"

#define STACK_BYTES (1024u * 1024u)
#define PLACES      RPP_HTTP_EXCHANGES_MAX

/* A try that has begun. */
typedef struct place {
    rpp_payload *payload; /* NULL: the place is free */
    rpp_flight flight;
    uint64_t hurries;  /* their number when the payload was taken */
    uint64_t failures; /* those decided when the try began */
} place;

struct rpp_uploader {
    rpp_uploader_options options;
    rpp_payload_sources sources; /* for the thread alone, except hurry */
    rpp_backend *backend;
    rpp_http_client *http;
    pthread_t thread;
    bool joinable; /* start and stop */

    struct { /* the thread's own */
        uint64_t random;
        rpp_upload_report report;
        rpp_streak streak;
        uint64_t failures; /* tries that failed, so far */
        place places[PLACES];
        size_t under_way_bytes;
        uint64_t era; /* 1 + deliveries so far: a payload that failed in an earlier era has failed alone */
    } thread_data;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct { /* under the lock */
        uint64_t
            trying[PLACES +
                   1];    /* sequences of payloads that are in neither source; 0: none. The last: it is being stored */
        unsigned flushes; /* under way */
        uint64_t hurries; /* flushes and stops so far */
        uint64_t lost;    /* payloads so far, not delivered */
        uint64_t backoff_until_ns; /* no try before */
        uint64_t idle;             /* times the thread found nothing left */
        uint64_t stop_deadline_ns;
        bool stopping, gone; /* gone: the thread is done */
    } synced;
};

static uint64_t monotonic_ns(const rpp_uploader *self)
{
    return self->options.clock->monotonic_ns(self->options.clock->context);
}

static uint64_t realtime_ns(const rpp_uploader *self)
{
    return self->options.clock->realtime_ns(self->options.clock->context);
}

/* --- payloads that are in no source
 * --------------------------------------------------------------------------------- */

/* In one step under the lock, so that a flush finds the payload either in its source or on its way. */
static rpp_payload *take(rpp_uploader *self, unsigned at, rpp_source source, uint64_t now)
{
    if (source != RPP_SOURCE_MEMORY) return rpp_payload_sources_take(&self->sources, source, now);
    pthread_mutex_lock(&self->lock);
    rpp_payload *payload = rpp_payload_sources_take(&self->sources, source, now);
    if (payload) self->synced.trying[at] = payload->sequence;
    pthread_mutex_unlock(&self->lock);
    return payload;
}

/* The payload is in a source again, or has ended. */
static void let_go(rpp_uploader *self, unsigned at, bool lost)
{
    pthread_mutex_lock(&self->lock);
    self->synced.trying[at] = 0;
    if (lost) self->synced.lost++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void end_payload(rpp_uploader *self, unsigned at, rpp_payload *payload, bool delivered)
{
    rpp_payload_sources_end(&self->sources, payload);
    let_go(self, at, !delivered);
}

static void put_back(rpp_uploader *self, unsigned at, rpp_payload *payload)
{
    rpp_payload_sources_put_back(&self->sources, payload);
    let_go(self, at, false);
}

/* Drops and counts the remaining payloads when no thread will send them. */
static void drop_what_is_left(rpp_uploader *self)
{
    for (rpp_payload *payload; (payload = take(self, PLACES, RPP_SOURCE_MEMORY, UINT64_MAX));) {
        if (rpp_payload_sources_store(&self->sources, payload)) {
            let_go(self, PLACES, false);
            continue;
        }
        rpp_stats_add(RPP_STAT_payloads_dropped_shutdown, 1);
        end_payload(self, PLACES, payload, false);
    }
}

static unsigned count_under_way(const rpp_uploader *self)
{
    unsigned count = 0;
    for (unsigned at = 0; at < PLACES; at++) count += self->thread_data.places[at].payload != NULL;
    return count;
}

static unsigned free_place(const rpp_uploader *self)
{
    unsigned at = 0;
    while (at < PLACES && self->thread_data.places[at].payload) at++;
    return at;
}

/* --- one try
 * -------------------------------------------------------------------------------------------------------- */

static bool is_too_old(const rpp_uploader *self, const rpp_payload *payload, uint64_t *age_ns)
{
    uint64_t now = realtime_ns(self), max = self->options.max_age_ns, limit = self->backend->rules.max_age_ns;
    if (!max || (limit && limit < max)) max = limit;
    *age_ns = now > payload->time_ns ? now - payload->time_ns : 0;
    return max && *age_ns > max;
}

static uint64_t try_deadline_ns(rpp_uploader *self)
{
    bool alone = !self->backend->begin || self->thread_data.streak.failures > 0;
    size_t room = alone ? 0 : PLACES - 1 - count_under_way(self);
    bool others_wait = rpp_payload_queue_count(self->sources.queue) > room;
    pthread_mutex_lock(&self->lock);
    uint64_t stop_deadline_ns = self->synced.stopping ? self->synced.stop_deadline_ns : UINT64_MAX;
    pthread_mutex_unlock(&self->lock);
    return rpp_try_deadline_ns(monotonic_ns(self), self->options.upload_timeout_ns, stop_deadline_ns, others_wait);
}

static void count_try(rpp_uploader *self, rpp_payload *payload, const rpp_attempt *attempt)
{
    if (rpp_attempt_is_server_error(attempt)) payload->tries.server_errors++;
    if (attempt->closed) payload->tries.closed++;
    if (!rpp_may_be_its_own_fault(attempt)) return;
    uint64_t era = self->thread_data.era;
    if (payload->failed_in && payload->failed_in != era) payload->tries.alone++;
    payload->failed_in = era;
}

/* Afterwards `hurries` of the place is the current number. */
static rpp_next_try decide(rpp_uploader *self, place *tried, const rpp_attempt *attempt, uint64_t now)
{
    rpp_payload *payload = tried->payload;
    bool stale = self->thread_data.streak.failures && tried->failures != self->thread_data.failures;
    pthread_mutex_lock(&self->lock);
    const rpp_situation situation = {.now_ns = now,
                                     .tries = payload->tries,
                                     .streak = self->thread_data.streak,
                                     .stale = stale,
                                     .backoff_until_ns = self->synced.backoff_until_ns,
                                     .flushing = self->synced.flushes > 0,
                                     .stopping = self->synced.stopping,
                                     .hurried = self->synced.hurries != tried->hurries,
                                     .has_spool = self->options.spool != NULL};
    rpp_next_try next = rpp_next_try_after(&self->options.backoff, attempt, &situation, &self->thread_data.random);
    self->synced.backoff_until_ns = next.backoff_until_ns;
    payload->due_ns = next.due_ns;
    tried->hurries = self->synced.hurries;
    pthread_mutex_unlock(&self->lock);
    self->thread_data.streak = next.streak;
    if (next.verdict == RPP_VERDICT_RETRY) self->thread_data.failures++;
    if (next.verdict == RPP_VERDICT_DELIVERED && !stale) self->thread_data.era++;
    return next;
}

/* Under the lock. */
static void hurry(rpp_uploader *self)
{
    self->synced.backoff_until_ns = 0;
    rpp_payload_sources_hurry(&self->sources);
}

/* A flush or a stop that came between the decision and the return of the payload did not find it in a source. */
static void hurry_what_was_put_back(rpp_uploader *self, uint64_t hurries)
{
    pthread_mutex_lock(&self->lock);
    if (self->synced.hurries != hurries) hurry(self);
    pthread_mutex_unlock(&self->lock);
}

static void out_of_memory(rpp_upload_result *result)
{
    *result = (rpp_upload_result){.attempt.end = RPP_END_IO_ERROR, .message = "out of memory"};
}

static void end_try(rpp_uploader *self, unsigned at)
{
    place *tried = &self->thread_data.places[at];
    rpp_payload *payload = tried->payload;
    rpp_upload_result *result = &tried->flight.result;
    uint64_t now = monotonic_ns(self);
    count_try(self, payload, &result->attempt);
    rpp_next_try next = decide(self, tried, &result->attempt, now);
    rpp_upload_report_try(&self->thread_data.report, payload, result, next.verdict, now, realtime_ns(self));
    self->thread_data.under_way_bytes -= payload->length;
    tried->payload = NULL;
    if (next.verdict == RPP_VERDICT_RETRY) {
        put_back(self, at, payload);
        hurry_what_was_put_back(self, tried->hurries);
    } else {
        end_payload(self, at, payload, next.verdict == RPP_VERDICT_DELIVERED);
    }
}

static void begin_try(rpp_uploader *self, unsigned at, rpp_payload *payload, uint64_t hurries)
{
    place *tried = &self->thread_data.places[at];
    rpp_flight *flight = &tried->flight;
    uint64_t age_ns = 0;
    if (is_too_old(self, payload, &age_ns)) {
        rpp_upload_report_too_old(&self->thread_data.report, payload, age_ns);
        end_payload(self, at, payload, false);
        return;
    }

    self->sources.disk_refuses = false;
    payload->tries.begun++;
    uint64_t deadline_ns = try_deadline_ns(self);
    tried->payload = payload;
    tried->hurries = hurries;
    tried->failures = self->thread_data.failures;
    self->thread_data.under_way_bytes += payload->length;
    *flight = (rpp_flight){.payload = payload, .deadline_ns = deadline_ns};
    rpp_status status = self->backend->begin
                            ? self->backend->begin(self->backend, flight)
                            : self->backend->deliver(self->backend, payload, deadline_ns, &flight->result);
    if (status != RPP_OK) out_of_memory(&flight->result);
    if (status != RPP_OK || !flight->exchange) end_try(self, at);
}

/* A backend may go on with another exchange. */
static void end_finished(rpp_uploader *self)
{
    for (unsigned at = 0; at < PLACES; at++) {
        rpp_flight *flight = &self->thread_data.places[at].flight;
        if (!self->thread_data.places[at].payload || !self->http->has_ended(flight->exchange)) continue;
        if (self->backend->end(self->backend, flight) != RPP_OK) {
            out_of_memory(&flight->result);
            flight->exchange = NULL;
        }
        if (!flight->exchange) end_try(self, at);
    }
}

/* --- the thread
 * ----------------------------------------------------------------------------------------------------- */

static void look(rpp_uploader *self, rpp_prospect *prospect, uint64_t *hurries)
{
    *prospect = (rpp_prospect){.now_ns = monotonic_ns(self), .failing = self->thread_data.streak.failures > 0};
    pthread_mutex_lock(&self->lock);
    prospect->backoff_until_ns = self->synced.backoff_until_ns;
    prospect->stop_deadline_ns = self->synced.stop_deadline_ns;
    prospect->stopping = self->synced.stopping;
    *hurries = self->synced.hurries;
    pthread_mutex_unlock(&self->lock);
    unsigned under_way = count_under_way(self);
    /* What waits has the queue's room; as much again as half of it may be under way. */
    bool enough = under_way == PLACES ||
                  self->thread_data.under_way_bytes >= rpp_payload_queue_max_bytes(self->sources.queue) / 2;
    prospect->under_way = under_way > 0;
    prospect->full = under_way && (enough || prospect->failing);
    rpp_payload_sources_inspect(&self->sources, prospect);
}

static void try_first(rpp_uploader *self, rpp_source source, uint64_t now, uint64_t hurries)
{
    unsigned at = free_place(self);
    rpp_payload *payload = take(self, at, source, now);
    if (payload) begin_try(self, at, payload, hurries);
}

static void store_first(rpp_uploader *self)
{
    rpp_payload *payload = take(self, PLACES, RPP_SOURCE_MEMORY, UINT64_MAX);
    if (payload) put_back(self, PLACES, payload);
}

/* Not if a flush came after the thread looked: it waits for payloads that the thread may not have seen. */
static void tell_idle(rpp_uploader *self, uint64_t hurries)
{
    pthread_mutex_lock(&self->lock);
    if (self->synced.hurries == hurries) self->synced.idle++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

/* The name explains a debugger's backtrace. While requests are under way, the queue's news wake their client. */
static void wait_for_work(rpp_uploader *self, const rpp_step *step, uint64_t hurries)
{
    if (step->idle) tell_idle(self, hurries);
    if (!count_under_way(self)) {
        rpp_payload_queue_wait(self->sources.queue, step->wait_ns);
        return;
    }
    self->http->wait(self->http, step->wait_ns);
    end_finished(self);
}

static void *run(void *context)
{
    rpp_uploader *self = context;
    for (rpp_step step = {.kind = RPP_STEP_WAIT}; step.kind != RPP_STEP_END;) {
        rpp_prospect prospect;
        uint64_t hurries;
        look(self, &prospect, &hurries);
        step = rpp_next_step(&prospect);
        switch (step.kind) {
        case RPP_STEP_TRY: try_first(self, step.source, prospect.now_ns, hurries); break;
        case RPP_STEP_STORE: store_first(self); break;
        case RPP_STEP_WAIT: wait_for_work(self, &step, hurries); break;
        case RPP_STEP_END: break;
        }
    }
    drop_what_is_left(self);
    pthread_mutex_lock(&self->lock);
    self->synced.gone = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* --- flush and stop: other threads
 * ---------------------------------------------------------------------------------- */

/* Waits for a change, under the lock. False: the deadline has passed, or the wait was cancelled. */
static bool wait_for_change(rpp_uploader *self, rpp_cancellation *cancellation)
{
    if (self->synced.gone || rpp_cancellation_is_over(cancellation, monotonic_ns(self))) return false;
    rpp_cancellation_wait(cancellation, &self->changed, &self->lock, cancellation->deadline_ns);
    return true;
}

/* Under the lock. */
static uint64_t lost_so_far(const rpp_uploader *self)
{
    return self->synced.lost + rpp_stats_get(RPP_STAT_payloads_dropped_queue_full);
}

rpp_flush rpp_uploader_begin_flush(rpp_uploader *self)
{
    pthread_mutex_lock(&self->lock);
    rpp_flush flush = {.lost_before = lost_so_far(self)};
    pthread_mutex_unlock(&self->lock);
    return flush;
}

/* Under the lock. The flush begins to wait, for the payloads that exist now. */
static void flush_waits(rpp_uploader *self, rpp_flush *flush)
{
    if (flush->waits) return;
    uint64_t newest = rpp_payload_queue_newest(self->sources.queue);
    flush->waits = true;
    flush->newest = newest;
    for (unsigned at = 0; at <= PLACES; at++) {
        if (self->synced.trying[at] > flush->newest) flush->newest = self->synced.trying[at];
    }
    flush->idle_before = self->synced.idle;
    self->synced.hurries++;
    hurry(self);
}

/* Under the lock. With a spool, the thread must find no payload, neither in memory nor on disk. Without a spool, all
 * payloads that existed at the start must have ended, including those that a full queue dropped. */
static bool is_flushed(rpp_uploader *self, const rpp_flush *flush)
{
    if (self->options.spool) return self->synced.idle != flush->idle_before;
    bool being_tried = false;
    for (unsigned at = 0; at <= PLACES; at++) {
        being_tried |= self->synced.trying[at] && self->synced.trying[at] <= flush->newest;
    }
    return !being_tried && rpp_payload_queue_oldest(self->sources.queue) > flush->newest;
}

rpp_status rpp_uploader_flush(rpp_uploader *self, rpp_flush *flush, rpp_cancellation *cancellation)
{
    pthread_mutex_lock(&self->lock);
    self->synced.flushes++;
    flush_waits(self, flush);
    while (!is_flushed(self, flush) && wait_for_change(self, cancellation)) continue;
    self->synced.flushes--;
    bool ended = is_flushed(self, flush), in_time = ended || self->synced.gone;
    bool lost = !ended || lost_so_far(self) != flush->lost_before;
    pthread_mutex_unlock(&self->lock);
    if (!in_time) return RPP_TIMEOUT;
    return lost ? RPP_IO : RPP_OK;
}

/* Under the lock. The deadline of the latest call counts, whether it is later or earlier than the previous one. */
static void tell_to_stop(rpp_uploader *self, uint64_t deadline_ns)
{
    self->synced.stop_deadline_ns = deadline_ns;
    if (!self->synced.stopping) {
        self->synced.hurries++;
        hurry(self);
    }
    self->synced.stopping = true;
    rpp_payload_queue_wake(self->sources.queue);
}

/* Under the lock. */
static void wait_until_gone(rpp_uploader *self, rpp_cancellation *cancellation, uint64_t until_ns)
{
    if (until_ns > cancellation->deadline_ns) until_ns = cancellation->deadline_ns;
    while (!self->synced.gone && rpp_monotonic_ns() < until_ns &&
           !rpp_cancellation_is_over(cancellation, rpp_monotonic_ns())) {
        rpp_cancellation_wait(cancellation, &self->changed, &self->lock, until_ns);
    }
}

rpp_status rpp_uploader_stop(rpp_uploader *self, uint64_t deadline_ns, rpp_cancellation *cancellation)
{
    if (!self->joinable) {
        drop_what_is_left(self);
        return RPP_OK;
    }
    pthread_mutex_lock(&self->lock);
    tell_to_stop(self, deadline_ns);
    wait_until_gone(self, cancellation, deadline_ns);
    if (!self->synced.gone && rpp_monotonic_ns() >= deadline_ns) {
        if (self->http) self->http->interrupt(self->http);
        rpp_payload_queue_wake(self->sources.queue);
        wait_until_gone(self, cancellation, UINT64_MAX);
    }
    bool gone = self->synced.gone;
    pthread_mutex_unlock(&self->lock);
    if (!gone) return RPP_TIMEOUT;
    pthread_join(self->thread, NULL);
    self->joinable = false;
    drop_what_is_left(self); /* payloads that were pushed meanwhile */
    return RPP_OK;
}

/* --- start and end
 * ------------------------------------------------------------------------------------------------ */

static void wake(void *http)
{
    rpp_http_client *client = http;
    client->wake(client);
}

rpp_uploader *rpp_uploader_new(const rpp_uploader_options *options, rpp_payload_queue *queue, rpp_backend *backend,
                               rpp_http_client *http)
{
    rpp_uploader *self = rpp_calloc(1, sizeof *self);
    if (!self) return NULL;
    self->options = *options;
    if (!self->options.clock) self->options.clock = &rpp_system_clock;
    self->sources = (rpp_payload_sources){.queue = queue, .spool = options->spool};
    self->backend = backend;
    self->http = http;
    self->thread_data.random = rpp_random_seed();
    self->thread_data.era = 1;
    self->thread_data.report.backend_name = backend->name;
    pthread_mutex_init(&self->lock, NULL);
    rpp_cond_init(&self->changed);
    rpp_payload_sources_join(&self->sources, http);
    if (backend->begin) rpp_payload_queue_set_waker(queue, wake, http);
    return self;
}

rpp_status rpp_uploader_start(rpp_uploader *self)
{
    rpp_status status = rpp_thread_start(&self->thread, "rpp-uploader", STACK_BYTES, run, self);
    self->joinable = status == RPP_OK;
    return status;
}

void rpp_uploader_free(rpp_uploader *self)
{
    if (!self) return;
    rpp_payload_queue_set_waker(self->sources.queue, NULL, NULL);
    rpp_payload_sources_part(&self->sources);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    rpp_free(self);
}

void rpp_uploader_discard_after_fork(rpp_uploader *self)
{
    if (self) rpp_spool_discard_after_fork(self->options.spool);
}
