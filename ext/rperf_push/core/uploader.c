/* uploader.c - the background thread that brings payloads from the queue to the backend, one at a time.
 *
 * The payload that is to be tried again stays in the uploader's own hands: as long as it does, nothing else is taken from the
 * queue, so that an outage costs one try at a time. A flush counts what is in the queue and in hand, and waits for that
 * many ends: payloads end in the order in which they were sealed, so later ones do not mix in.
 *
 * With a spool it stays in hand only while it is tried, or when the disk does not take it; the rest between two tries
 * belongs to the uploader then (synced.rest_until_ns), not to the payload. A flush waits for the thread to find nothing left.
 *
 * Locks      `lock` before the queue's; neither is held while a payload is delivered.
 */
#include "uploader.h"

#include <stdbool.h>
#include <stdio.h>

#include "alloc.h"
#include "stats.h"
#include "thread.h"
#include "upload_report.h"

#define STACK_BYTES        (1024u * 1024u)
/* An interrupted client returns within milliseconds; a disk may take longer. */
#define AFTER_INTERRUPT_NS RPP_NS_PER_S
/* At the end nobody waits for a backend that is not there, but for one that has just gone, which may be a hiccup. */
#define JUST_GONE_NS       RPP_NS_PER_S
#define LAST_PAUSE_NS      (250 * RPP_NS_PER_MS)

struct rpp_uploader {
    rpp_uploader_options options;
    rpp_payload_queue *queue;
    rpp_backend *backend;
    rpp_http_client *http;
    pthread_t thread;
    bool joinable; /* start and stop */

    struct { /* the thread's own */
        uint64_t random;
        rpp_upload_report report;
        uint32_t failures;        /* tries in a row that were worth another; more than 0: the backend is away */
        bool backlog;             /* the spool gave a payload when it was last asked */
        uint64_t absent_since_ns; /* the first of the tries in a row that reached nobody; 0: the last one did */
    } thread_data;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct { /* under the lock */
        rpp_payload
            *in_hand; /* being tried, or waiting for its next try; set by the thread alone, which may look without */
        unsigned flushes;       /* under way */
        uint64_t hurries;       /* flushes and stops so far */
        uint64_t ended, lost;   /* payloads so far; lost: not delivered */
        uint64_t rest_until_ns; /* with a spool: no try before */
        uint64_t idle;          /* times the thread found nothing left */
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

/* --- the end of a payload ------------------------------------------------------------------------------------------- */

static void end_payload(rpp_uploader *self, bool delivered)
{
    if (self->options.spool) rpp_spool_remove(self->options.spool);
    pthread_mutex_lock(&self->lock);
    rpp_payload *payload = self->synced.in_hand;
    self->synced.in_hand = NULL;
    self->synced.ended++;
    if (!delivered) self->synced.lost++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    rpp_payload_free(payload);
}

/* Leaves the payload in hand to the spool. Whether that worked. */
static bool keep_on_disk(rpp_uploader *self)
{
    rpp_spool *spool = self->options.spool;
    if (!spool) return false;
    rpp_payload *payload = self->synced.in_hand;
    rpp_status status =
        rpp_spool_has_claim(spool) ? rpp_spool_give_back(spool, payload->tries) : rpp_spool_put(spool, payload);
    if (status != RPP_OK) return false;
    pthread_mutex_lock(&self->lock);
    self->synced.in_hand = NULL;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    rpp_payload_free(payload);
    return true;
}

/* The next payload in memory becomes the one in hand. Whether there is one. */
static bool take_in_hand(rpp_uploader *self)
{
    uint64_t unused;
    pthread_mutex_lock(&self->lock);
    if (!self->synced.in_hand) self->synced.in_hand = rpp_payload_queue_pop(self->queue, UINT64_MAX, &unused);
    bool taken = self->synced.in_hand != NULL;
    pthread_mutex_unlock(&self->lock);
    return taken;
}

/* What is left when nobody will send it any more. */
static void drop_the_rest(rpp_uploader *self)
{
    while (take_in_hand(self)) {
        if (keep_on_disk(self)) continue;
        rpp_stats_add(RPP_STAT_payloads_dropped_shutdown, 1);
        end_payload(self, false);
    }
}

/* --- one try -------------------------------------------------------------------------------------------------------- */

static bool is_too_old(const rpp_uploader *self, const rpp_payload *payload, uint64_t *age_ns)
{
    uint64_t now = realtime_ns(self), max = self->options.max_age_ns, limit = self->backend->limits.max_age_ns;
    if (!max || (limit && limit < max)) max = limit;
    *age_ns = now > payload->time_ns ? now - payload->time_ns : 0;
    return max && *age_ns > max;
}

static uint64_t try_deadline_ns(rpp_uploader *self)
{
    uint64_t deadline = monotonic_ns(self) + self->options.upload_timeout_ns;
    pthread_mutex_lock(&self->lock);
    bool sooner = self->synced.stopping && self->synced.stop_deadline_ns < deadline;
    if (sooner) deadline = self->synced.stop_deadline_ns;
    pthread_mutex_unlock(&self->lock);
    return deadline;
}

static void note_presence(rpp_uploader *self, rpp_attempt_end end, uint64_t now_ns)
{
    bool absent = end == RPP_END_NOT_SENT || end == RPP_END_IO_ERROR;
    if (!absent) self->thread_data.absent_since_ns = 0;
    if (absent && !self->thread_data.absent_since_ns) self->thread_data.absent_since_ns = now_ns;
}

/* Sets the next try. Whoever waits for it gets a short one, unless the backend asked for peace. */
static void wait_for_next_try(rpp_uploader *self, const rpp_delivery *delivery, uint64_t hurries, uint64_t now_ns,
                              uint64_t due_ns)
{
    bool on_disk = keep_on_disk(self);
    pthread_mutex_lock(&self->lock);
    bool few_tries = delivery->attempt.http_status == 500 && !self->synced.stopping; /* a flush must not use them up */
    bool hurried = (self->synced.flushes || self->synced.stopping) && !few_tries;
    uint64_t soon = now_ns + self->options.backoff.first_ns;
    if (hurried && !delivery->attempt.retry_after_ns && soon < due_ns) due_ns = soon;
    uint64_t absent_since_ns = self->thread_data.absent_since_ns;
    if (self->synced.stopping && absent_since_ns) {
        due_ns = now_ns - absent_since_ns < JUST_GONE_NS ? now_ns + LAST_PAUSE_NS : UINT64_MAX;
    }
    if (self->synced.hurries != hurries) due_ns = 0; /* asked for while the try was under way */
    if (self->options.spool) self->synced.rest_until_ns = due_ns;
    if (!on_disk) self->synced.in_hand->due_ns = due_ns;
    pthread_mutex_unlock(&self->lock);
}

static void try_payload(rpp_uploader *self, rpp_payload *payload, uint64_t hurries)
{
    rpp_delivery delivery = {0};
    uint64_t age_ns = 0, due_ns = 0;
    if (is_too_old(self, payload, &age_ns)) {
        rpp_upload_report_too_old(payload, age_ns);
        end_payload(self, false);
        return;
    }

    payload->tries.begun++;
    if (self->backend->deliver(self->backend, payload, try_deadline_ns(self), &delivery) != RPP_OK) {
        delivery = (rpp_delivery){.attempt.end = RPP_END_IO_ERROR, .message = "out of memory"};
    }
    if (delivery.attempt.end == RPP_END_ANSWERED && delivery.attempt.http_status == 500) payload->tries.server_errors++;
    uint64_t now = monotonic_ns(self);
    note_presence(self, delivery.attempt.end, now);
    rpp_verdict verdict = rpp_backoff_decide(&self->options.backoff, &delivery.attempt, payload->tries, now,
                                             &self->thread_data.random, &due_ns);
    if (verdict == RPP_VERDICT_ABORTED && self->options.spool) verdict = RPP_VERDICT_RETRY; /* by whoever comes next */
    self->thread_data.failures = verdict == RPP_VERDICT_RETRY ? self->thread_data.failures + 1 : 0;
    if (self->thread_data.failures >
        payload->tries.begun) { /* an outage that outlasts payloads gets no more tries for it */
        uint64_t later_ns = rpp_backoff_due_ns(&self->options.backoff, self->thread_data.failures,
                                               delivery.attempt.retry_after_ns, now, &self->thread_data.random);
        if (later_ns > due_ns) due_ns = later_ns;
    }
    rpp_upload_report_try(&self->thread_data.report, payload, &delivery, verdict, now, realtime_ns(self));
    if (verdict == RPP_VERDICT_RETRY) {
        wait_for_next_try(self, &delivery, hurries, now, due_ns);
    } else {
        end_payload(self, verdict == RPP_VERDICT_DELIVERED);
    }
}

/* --- the spool ------------------------------------------------------------------------------------------------------ */

static void put_queue_on_disk(rpp_uploader *self)
{
    while (take_in_hand(self)) {
        if (keep_on_disk(self)) continue;
        pthread_mutex_lock(&self->lock);
        self->synced.in_hand->due_ns = self->synced.rest_until_ns;
        pthread_mutex_unlock(&self->lock);
        return;
    }
}

static void take_from_spool(rpp_uploader *self, uint64_t now)
{
    rpp_spool *spool = self->options.spool;
    if (!rpp_spool_may_hold(spool, now)) return;
    rpp_payload *payload = rpp_spool_take(spool, now);
    self->thread_data.backlog = payload != NULL;
    pthread_mutex_lock(&self->lock);
    self->synced.in_hand = payload;
    pthread_mutex_unlock(&self->lock);
}

/* What may not be sent yet goes to disk, and what lies there comes before what is fresh. At the end only what came fresh is
 * still tried. */
static void serve_spool(rpp_uploader *self)
{
    uint64_t now = monotonic_ns(self);
    if (self->synced.in_hand) return;
    pthread_mutex_lock(&self->lock);
    bool stopping = self->synced.stopping, resting = now < self->synced.rest_until_ns;
    pthread_mutex_unlock(&self->lock);
    if (stopping) {
        if (self->thread_data.failures) put_queue_on_disk(self);
        return;
    }
    if (resting || self->thread_data.backlog) put_queue_on_disk(self);
    if (!self->synced.in_hand && !resting) take_from_spool(self, now);
}

static bool keep_overflow(rpp_payload *payload, void *spool)
{
    return rpp_spool_put(spool, payload) == RPP_OK;
}

static void tell_spool(void *spool)
{
    rpp_spool_sending(spool);
}

/* --- the thread ----------------------------------------------------------------------------------------------------- */

typedef struct next_step {
    rpp_payload *payload; /* to try now, or NULL ... */
    uint64_t hurries;     /* asked for when it was taken */
    uint64_t wait_ns;     /* ... then wait until then */
    bool done;            /* or stop */
} next_step;

/* Under the lock: nothing is in hand or in the queue. */
static void note_idle(rpp_uploader *self, uint64_t now, uint64_t *wait_ns)
{
    if (rpp_spool_may_hold(self->options.spool, now)) {
        *wait_ns = now;
        return;
    }
    *wait_ns = rpp_spool_next_look_ns(self->options.spool);
    self->synced.idle++;
    pthread_cond_broadcast(&self->changed);
}

static next_step choose_step(rpp_uploader *self)
{
    uint64_t now = monotonic_ns(self);
    next_step step = {.wait_ns = UINT64_MAX};
    pthread_mutex_lock(&self->lock);
    if (self->synced.stopping && now >= self->synced.stop_deadline_ns) {
        step.done = true;
        goto done;
    }
    bool resting = now < self->synced.rest_until_ns && !self->synced.stopping;
    if (resting) step.wait_ns = self->synced.rest_until_ns;
    if (!self->synced.in_hand && !resting) {
        self->synced.in_hand = rpp_payload_queue_pop(self->queue, now, &step.wait_ns);
    }
    rpp_payload *payload = self->synced.in_hand;
    if (payload && payload->due_ns <= now) {
        step.payload = payload;
        step.hurries = self->synced.hurries;
    } else if (payload) {
        step.wait_ns = payload->due_ns;
    } else if (self->options.spool && !self->synced.stopping && step.wait_ns == UINT64_MAX) {
        note_idle(self, now, &step.wait_ns);
    }
    if (self->synced.stopping && !step.payload && step.wait_ns > self->synced.stop_deadline_ns) step.done = true;
done:
    pthread_mutex_unlock(&self->lock);
    return step;
}

/* The only place where this thread waits without a payload on its way: a debugger's backtrace explains itself. */
static void wait_for_work(rpp_uploader *self, uint64_t until_ns)
{
    rpp_payload_queue_wait(self->queue, until_ns);
}

static void *run(void *context)
{
    rpp_uploader *self = context;
    for (;;) {
        if (self->options.spool) serve_spool(self);
        next_step step = choose_step(self);
        if (step.done) break;
        if (step.payload) {
            try_payload(self, step.payload, step.hurries);
        } else {
            wait_for_work(self, step.wait_ns);
        }
    }
    drop_the_rest(self);
    pthread_mutex_lock(&self->lock);
    self->synced.gone = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* --- flush and stop: other threads ---------------------------------------------------------------------------------- */

/* Under the lock. */
static void hurry(rpp_uploader *self)
{
    self->synced.hurries++;
    self->synced.rest_until_ns = 0;
    if (self->synced.in_hand) self->synced.in_hand->due_ns = 0;
    rpp_payload_queue_hurry(self->queue); /* wakes the thread, too */
}

/* Under the lock. Returns whether that many had ended in time, those included that a full queue dropped. */
static bool wait_for_ends(rpp_uploader *self, uint64_t target, uint64_t dropped_before, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t dropped = rpp_stats_get(RPP_STAT_payloads_dropped_queue_full) - dropped_before;
        if (self->synced.ended + dropped >= target) return true;
        if (self->synced.gone || monotonic_ns(self) >= deadline_ns) return false;
        rpp_cond_wait_until(&self->changed, &self->lock, deadline_ns);
    }
}

/* Under the lock. Returns whether the thread found nothing left, neither in memory nor in the spool. */
static bool wait_until_idle(rpp_uploader *self, uint64_t deadline_ns)
{
    uint64_t before = self->synced.idle;
    while (self->synced.idle == before) {
        if (self->synced.gone || monotonic_ns(self) >= deadline_ns) return false;
        rpp_cond_wait_until(&self->changed, &self->lock, deadline_ns);
    }
    return true;
}

/* Under the lock. */
static uint64_t lost_so_far(const rpp_uploader *self)
{
    return self->synced.lost + rpp_stats_get(RPP_STAT_payloads_dropped_queue_full);
}

uint64_t rpp_uploader_lost(rpp_uploader *self)
{
    pthread_mutex_lock(&self->lock);
    uint64_t lost = lost_so_far(self);
    pthread_mutex_unlock(&self->lock);
    return lost;
}

rpp_status rpp_uploader_flush(rpp_uploader *self, uint64_t lost_before, uint64_t deadline_ns)
{
    pthread_mutex_lock(&self->lock);
    uint64_t dropped_before = rpp_stats_get(RPP_STAT_payloads_dropped_queue_full);
    uint64_t waiting = rpp_payload_queue_count(self->queue) + (self->synced.in_hand ? 1 : 0);
    self->synced.flushes++;
    hurry(self);
    bool ended = self->options.spool ? wait_until_idle(self, deadline_ns)
                                     : wait_for_ends(self, self->synced.ended + waiting, dropped_before, deadline_ns);
    self->synced.flushes--;
    bool in_time = ended || self->synced.gone;
    bool lost = !ended || lost_so_far(self) != lost_before;
    pthread_mutex_unlock(&self->lock);
    if (!in_time) return RPP_TIMEOUT;
    return lost ? RPP_IO : RPP_OK;
}

/* Under the lock. */
static void wait_until_gone(rpp_uploader *self, uint64_t deadline_ns)
{
    while (!self->synced.gone && rpp_monotonic_ns() < deadline_ns) {
        rpp_cond_wait_until(&self->changed, &self->lock, deadline_ns);
    }
}

rpp_status rpp_uploader_stop(rpp_uploader *self, uint64_t deadline_ns)
{
    if (!self->joinable) {
        drop_the_rest(self);
        return RPP_OK;
    }
    pthread_mutex_lock(&self->lock);
    self->synced.stopping = true;
    self->synced.stop_deadline_ns = deadline_ns;
    hurry(self);
    wait_until_gone(self, deadline_ns);
    if (!self->synced.gone) {
        if (self->http) self->http->interrupt(self->http);
        rpp_payload_queue_wake(self->queue);
        wait_until_gone(self, rpp_monotonic_ns() + AFTER_INTERRUPT_NS);
    }
    bool gone = self->synced.gone;
    pthread_mutex_unlock(&self->lock);
    if (!gone) return RPP_TIMEOUT;
    pthread_join(self->thread, NULL);
    self->joinable = false;
    drop_the_rest(self); /* what was pushed since */
    return RPP_OK;
}

/* --- birth and death ------------------------------------------------------------------------------------------------ */

rpp_uploader *rpp_uploader_new(const rpp_uploader_options *options, rpp_payload_queue *queue, rpp_backend *backend,
                               rpp_http_client *http)
{
    rpp_uploader *self = rpp_calloc(1, sizeof *self);
    if (!self) return NULL;
    self->options = *options;
    if (!self->options.clock) self->options.clock = &rpp_system_clock;
    self->queue = queue;
    self->backend = backend;
    self->http = http;
    self->thread_data.random = rpp_random_seed();
    self->thread_data.report.backend_name = backend->name;
    pthread_mutex_init(&self->lock, NULL);
    rpp_cond_init(&self->changed);
    if (!options->spool) return self;
    rpp_payload_queue_set_overflow(queue, keep_overflow, options->spool);
    if (http) {
        http->before_send = tell_spool;
        http->before_send_context = options->spool;
    }
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
    if (self->options.spool) rpp_payload_queue_set_overflow(self->queue, NULL, NULL);
    rpp_payload_free(self->synced.in_hand);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    rpp_free(self);
}

void rpp_uploader_forget_after_fork(rpp_uploader *self)
{
    if (self) rpp_spool_forget_after_fork(self->options.spool);
}
