/* payload_queue.c - one list in the order in which payloads become due, a lock, and a condition to wait on. */
#include "delivery/payload_queue.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/stats.h"

struct rpp_payload_queue {
    size_t max_count, max_bytes;
    rpp_payload_overflow overflow;
    void *overflow_context;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct { /* under the lock */
        rpp_payload *first;
        size_t count, bytes;
        uint64_t news; /* number of pushes, wakes and hurries */
        void (*wake)(void *context);
        void *wake_context;
        uint64_t seen; /* the number at the last wait, so that none between pop and wait is missed */
    } synced;
};

rpp_payload_queue *rpp_payload_queue_new(size_t max_count, size_t max_bytes)
{
    rpp_payload_queue *queue = rpp_calloc(1, sizeof *queue);
    if (!queue) return NULL;
    queue->max_count = max_count;
    queue->max_bytes = max_bytes;
    pthread_mutex_init(&queue->lock, NULL);
    rpp_cond_init(&queue->changed);
    return queue;
}

void rpp_payload_queue_set_waker(rpp_payload_queue *queue, void (*wake)(void *context), void *context)
{
    pthread_mutex_lock(&queue->lock);
    queue->synced.wake = wake;
    queue->synced.wake_context = context;
    pthread_mutex_unlock(&queue->lock);
}

void rpp_payload_queue_free(rpp_payload_queue *queue)
{
    if (!queue) return;
    rpp_payload_queue_clear(queue);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    rpp_free(queue);
}

/* --- the list: the lock is held
 * ------------------------------------------------------------------------------------- */

/* Under the lock: otherwise two threads could store their values in the wrong order. */
static void show_gauges(const rpp_payload_queue *queue)
{
    rpp_stats_set(RPP_STAT_queue_payloads, queue->synced.count);
    rpp_stats_set(RPP_STAT_queue_bytes, queue->synced.bytes);
}

static void tell_news(rpp_payload_queue *queue)
{
    queue->synced.news++;
    pthread_cond_broadcast(&queue->changed);
    if (queue->synced.wake) queue->synced.wake(queue->synced.wake_context);
}

static bool comes_before(const rpp_payload *a, const rpp_payload *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->sequence < b->sequence;
}

static void insert(rpp_payload_queue *queue, rpp_payload *payload)
{
    rpp_payload **link = &queue->synced.first;
    while (*link && !comes_before(payload, *link)) link = &(*link)->next;
    payload->next = *link;
    *link = payload;
    queue->synced.count++;
    queue->synced.bytes += payload->length;
}

static rpp_payload *unlink_at(rpp_payload_queue *queue, rpp_payload **link)
{
    rpp_payload *payload = *link;
    *link = payload->next;
    payload->next = NULL;
    queue->synced.count--;
    queue->synced.bytes -= payload->length;
    return payload;
}

static rpp_payload **oldest(rpp_payload_queue *queue)
{
    rpp_payload **found = &queue->synced.first;
    for (rpp_payload **link = found; *link; link = &(*link)->next) {
        if ((*link)->sequence < (*found)->sequence) found = link;
    }
    return found;
}

static bool has_room(const rpp_payload_queue *queue, const rpp_payload *payload)
{
    return queue->synced.count < queue->max_count && payload->length <= queue->max_bytes - queue->synced.bytes;
}

/* Makes room and inserts the payload. Returns the list of payloads that had to go. This may be the new one itself, if
 * it can never fit, or if it comes back and is older than all others. */
static rpp_payload *insert_or_drop(rpp_payload_queue *queue, rpp_payload *payload)
{
    rpp_payload *dropped = NULL;
    bool fits_at_all = queue->max_count > 0 && payload->length <= queue->max_bytes;
    while (fits_at_all && !has_room(queue, payload)) {
        rpp_payload **link = oldest(queue);
        if (payload->sequence < (*link)->sequence) break;
        rpp_payload *victim = unlink_at(queue, link);
        victim->next = dropped;
        dropped = victim;
    }
    if (fits_at_all && has_room(queue, payload)) {
        insert(queue, payload);
    } else {
        payload->next = dropped;
        dropped = payload;
    }
    return dropped;
}

/* --- wake and wait
 * -------------------------------------------------------------------------------------------------- */

static void wait_for_news(rpp_payload_queue *queue, uint64_t until_ns)
{
    uint64_t seen = queue->synced.seen;
    while (queue->synced.news == seen && rpp_monotonic_ns() < until_ns) {
        rpp_cond_wait_until(&queue->changed, &queue->lock, until_ns);
    }
    queue->synced.seen = queue->synced.news;
}

/* --- the interface
 * -------------------------------------------------------------------------------------------------- */

void rpp_payload_queue_set_overflow(rpp_payload_queue *queue, rpp_payload_overflow overflow, void *context)
{
    queue->overflow = overflow;
    queue->overflow_context = context;
}

/* Counts payloads that the overflow does not keep. */
static void drop_list(rpp_payload_queue *queue, rpp_payload *payload)
{
    for (rpp_payload *next; payload; payload = next) {
        next = payload->next;
        payload->next = NULL;
        if (queue->overflow && queue->overflow(payload, queue->overflow_context)) {
            rpp_payload_queue_wake(queue);
        } else {
            rpp_stats_add(RPP_STAT_payloads_dropped_queue_full, 1);
        }
        rpp_payload_free(payload);
    }
}

static size_t free_list(rpp_payload *payload)
{
    size_t count = 0;
    for (rpp_payload *next; payload; payload = next, count++) {
        next = payload->next;
        rpp_payload_free(payload);
    }
    return count;
}

void rpp_payload_queue_push(rpp_payload_queue *queue, rpp_payload *payload)
{
    pthread_mutex_lock(&queue->lock);
    rpp_payload *dropped = insert_or_drop(queue, payload);
    show_gauges(queue);
    tell_news(queue);
    pthread_mutex_unlock(&queue->lock);

    drop_list(queue, dropped);
}

uint64_t rpp_payload_queue_due_ns(rpp_payload_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint64_t due_ns = queue->synced.first ? queue->synced.first->due_ns : UINT64_MAX;
    pthread_mutex_unlock(&queue->lock);
    return due_ns;
}

rpp_payload *rpp_payload_queue_pop(rpp_payload_queue *queue, uint64_t now_ns)
{
    rpp_payload *payload = NULL;
    pthread_mutex_lock(&queue->lock);
    rpp_payload **first = &queue->synced.first;
    if (*first && (*first)->due_ns <= now_ns) {
        payload = unlink_at(queue, first);
        show_gauges(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    return payload;
}

void rpp_payload_queue_wait(rpp_payload_queue *queue, uint64_t until_ns)
{
    pthread_mutex_lock(&queue->lock);
    wait_for_news(queue, until_ns);
    pthread_mutex_unlock(&queue->lock);
}

void rpp_payload_queue_wake(rpp_payload_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    tell_news(queue);
    pthread_mutex_unlock(&queue->lock);
}

/* Empties the list and returns it. Under the lock. */
static rpp_payload *take_all(rpp_payload_queue *queue)
{
    rpp_payload *all = queue->synced.first;
    queue->synced.first = NULL;
    queue->synced.count = queue->synced.bytes = 0;
    return all;
}

void rpp_payload_queue_hurry(rpp_payload_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    rpp_payload *rest = take_all(queue);
    for (rpp_payload *next; rest; rest = next) { /* with equal due times the order is that of the sequence */
        next = rest->next;
        if (rest->due_ns) rest->due_ns = 1;
        insert(queue, rest);
    }
    tell_news(queue);
    pthread_mutex_unlock(&queue->lock);
}

size_t rpp_payload_queue_clear(rpp_payload_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    rpp_payload *all = take_all(queue);
    show_gauges(queue);
    pthread_mutex_unlock(&queue->lock);
    return free_list(all);
}

size_t rpp_payload_queue_count(rpp_payload_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t count = queue->synced.count;
    pthread_mutex_unlock(&queue->lock);
    return count;
}

uint64_t rpp_payload_queue_oldest(rpp_payload_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    const rpp_payload *found = queue->synced.first ? *oldest(queue) : NULL;
    uint64_t sequence = found ? found->sequence : UINT64_MAX;
    pthread_mutex_unlock(&queue->lock);
    return sequence;
}

uint64_t rpp_payload_queue_newest(rpp_payload_queue *queue)
{
    uint64_t sequence = 0;
    pthread_mutex_lock(&queue->lock);
    for (const rpp_payload *payload = queue->synced.first; payload; payload = payload->next) {
        if (payload->sequence > sequence) sequence = payload->sequence;
    }
    pthread_mutex_unlock(&queue->lock);
    return sequence;
}

size_t rpp_payload_queue_bytes(rpp_payload_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t bytes = queue->synced.bytes;
    pthread_mutex_unlock(&queue->lock);
    return bytes;
}

size_t rpp_payload_queue_max_bytes(const rpp_payload_queue *queue)
{
    return queue->max_bytes;
}
