/* test_payload_queue.c - order, bounds, and a hand-over between threads. */
#include "delivery/payload_queue.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/stats.h"
#include "test.h"

static rpp_payload *payload_of(uint64_t sequence, uint64_t due_ns, size_t length)
{
    rpp_payload *payload = rpp_payload_new(rpp_calloc(1, length), length);
    CHECK(payload);
    payload->sequence = sequence;
    payload->due_ns = due_ns;
    return payload;
}

static uint64_t pop_sequence(rpp_payload_queue *queue, uint64_t now_ns)
{
    rpp_payload *payload = rpp_payload_queue_pop(queue, now_ns);
    uint64_t sequence = payload ? payload->sequence : 0;
    rpp_payload_free(payload);
    return sequence;
}

TEST(due_time_then_sequence)
{
    rpp_payload_queue *queue = rpp_payload_queue_new(10, 1000);
    CHECK(!rpp_payload_queue_pop(queue, 1));
    CHECK(rpp_payload_queue_due_ns(queue) == UINT64_MAX);
    rpp_payload_queue_push(queue, payload_of(3, 0, 1));
    rpp_payload_queue_push(queue, payload_of(1, 50, 1));
    rpp_payload_queue_push(queue, payload_of(2, 0, 1));
    rpp_payload_queue_push(queue, payload_of(4, 20, 1));
    CHECK_INT(pop_sequence(queue, 10), 2);
    CHECK_INT(pop_sequence(queue, 10), 3);
    CHECK(!rpp_payload_queue_pop(queue, 10));
    CHECK_INT(rpp_payload_queue_due_ns(queue), 20);
    CHECK_INT(pop_sequence(queue, 50), 4);
    CHECK_INT(pop_sequence(queue, 50), 1);
    rpp_payload_queue_free(queue);
}

TEST(the_oldest_make_room)
{
    rpp_stats_reset();
    rpp_payload_queue *queue = rpp_payload_queue_new(3, 100);
    rpp_payload_queue_push(queue, payload_of(2, 0, 30));
    rpp_payload_queue_push(queue, payload_of(1, 99, 30)); /* the oldest, though it comes last */
    rpp_payload_queue_push(queue, payload_of(3, 0, 30));
    rpp_payload_queue_push(queue, payload_of(4, 0, 10)); /* a fourth */
    CHECK_INT(rpp_stats_get(RPP_STAT_payloads_dropped_queue_full), 1);
    CHECK_INT(rpp_payload_queue_count(queue), 3);
    CHECK_INT(rpp_payload_queue_bytes(queue), 70);
    rpp_payload_queue_push(queue, payload_of(5, 0, 90)); /* needs the room of two: 2 and 3 go */
    CHECK_INT(rpp_stats_get(RPP_STAT_payloads_dropped_queue_full), 3);
    CHECK_INT(rpp_stats_get(RPP_STAT_queue_payloads), 2);
    CHECK_INT(rpp_stats_get(RPP_STAT_queue_bytes), 100);
    CHECK_INT(pop_sequence(queue, 0), 4);
    CHECK_INT(rpp_stats_get(RPP_STAT_queue_bytes), 90);
    CHECK_INT(pop_sequence(queue, 0), 5);
    CHECK_INT(rpp_stats_get(RPP_STAT_queue_payloads), 0);
    rpp_payload_queue_free(queue);
}

TEST(what_can_never_fit_is_dropped_alone)
{
    rpp_stats_reset();
    rpp_payload_queue *queue = rpp_payload_queue_new(3, 100);
    rpp_payload_queue_push(queue, payload_of(1, 0, 30));
    rpp_payload_queue_push(queue, payload_of(2, 0, 101));
    CHECK_INT(rpp_payload_queue_count(queue), 1);
    CHECK_INT(rpp_stats_get(RPP_STAT_payloads_dropped_queue_full), 1);
    CHECK_INT(pop_sequence(queue, 0), 1);
    rpp_payload_queue_free(queue);
}

TEST(a_returning_payload_does_not_push_out_fresher_ones)
{
    rpp_stats_reset();
    rpp_payload_queue *queue = rpp_payload_queue_new(2, 100);
    rpp_payload_queue_push(queue, payload_of(8, 0, 1));
    rpp_payload_queue_push(queue, payload_of(9, 0, 1));
    rpp_payload_queue_push(queue, payload_of(7, 5, 1));
    CHECK_INT(rpp_stats_get(RPP_STAT_payloads_dropped_queue_full), 1);
    CHECK_INT(pop_sequence(queue, 9), 8);
    CHECK_INT(pop_sequence(queue, 9), 9);
    rpp_payload_queue_free(queue);
}

TEST(hurry_makes_all_due_in_order)
{
    rpp_payload_queue *queue = rpp_payload_queue_new(10, 100);
    for (uint64_t i = 1; i <= 5; i++) rpp_payload_queue_push(queue, payload_of(i, 1000 - 100 * i, 1));
    CHECK_INT(pop_sequence(queue, 1), 0);
    rpp_payload_queue_hurry(queue);
    CHECK_INT(rpp_payload_queue_bytes(queue), 5);
    for (uint64_t i = 1; i <= 5; i++) CHECK_INT(pop_sequence(queue, 1), i);
    rpp_payload_queue_free(queue);
}

TEST(clear_frees_all)
{
    rpp_payload_queue *queue = rpp_payload_queue_new(10, 100);
    for (uint64_t i = 1; i <= 5; i++) rpp_payload_queue_push(queue, payload_of(i, 0, 1));
    CHECK_INT(rpp_payload_queue_clear(queue), 5);
    CHECK_INT(rpp_payload_queue_count(queue), 0);
    CHECK_INT(rpp_payload_queue_bytes(queue), 0);
    CHECK_INT(rpp_stats_get(RPP_STAT_queue_payloads), 0);
    CHECK_INT(rpp_payload_queue_clear(queue), 0);
    rpp_payload_queue_free(queue);
    rpp_payload_queue_free(NULL);
}

#define LONG_AWAY (rpp_monotonic_ns() + 60 * RPP_NS_PER_S)

TEST(a_wait_ends_with_its_time)
{
    rpp_payload_queue *queue = rpp_payload_queue_new(10, 100);
    uint64_t until_ns = rpp_monotonic_ns() + 20 * RPP_NS_PER_MS;
    rpp_payload_queue_wait(queue, until_ns);
    CHECK(rpp_monotonic_ns() >= until_ns);
    rpp_payload_queue_free(queue);
}

/* Between looking (pop, a stop flag) and waiting anything may happen: it must end the wait. Hangs when broken. */
TEST(what_happens_before_the_wait_is_not_missed)
{
    rpp_payload_queue *queue = rpp_payload_queue_new(10, 100);
    uint64_t begun = rpp_monotonic_ns();
    rpp_payload_queue_wake(queue);
    CHECK(!rpp_payload_queue_pop(queue, 0));
    rpp_payload_queue_wait(queue, LONG_AWAY);
    rpp_payload_queue_push(queue, payload_of(1, 0, 1));
    rpp_payload_queue_wait(queue, LONG_AWAY);
    rpp_payload_queue_hurry(queue);
    rpp_payload_queue_wait(queue, LONG_AWAY);
    CHECK(rpp_monotonic_ns() - begun < 30 * RPP_NS_PER_S);
    uint64_t until_ns = rpp_monotonic_ns() + 10 * RPP_NS_PER_MS;
    rpp_payload_queue_wait(queue, until_ns); /* and is not noticed twice */
    CHECK(rpp_monotonic_ns() >= until_ns);
    rpp_payload_queue_free(queue);
}

/* --- between threads
 * ------------------------------------------------------------------------------------------------ */

#define PRODUCERS 3
#define EACH      2000

typedef struct traffic_state {
    rpp_payload_queue *queue;
    _Atomic uint64_t sequence;
    atomic_bool done;
    uint64_t got, got_bytes, returned;
} traffic_state;

static void *produce(void *context)
{
    traffic_state *traffic = context;
    for (int i = 0; i < EACH; i++) {
        uint64_t sequence = atomic_fetch_add(&traffic->sequence, 1) + 1;
        rpp_payload *payload = rpp_payload_new(rpp_calloc(1, 8), 8);
        memcpy(payload->bytes, &sequence, 8);
        payload->sequence = sequence;
        rpp_payload_queue_push(traffic->queue, payload);
        if (i % 100 == 0) rpp_payload_queue_hurry(traffic->queue);
    }
    return NULL;
}

static void *consume(void *context)
{
    traffic_state *traffic = context;
    for (;;) {
        bool done = atomic_load(&traffic->done);
        rpp_payload *payload = rpp_payload_queue_pop(traffic->queue, rpp_monotonic_ns());
        uint64_t next_due_ns = rpp_payload_queue_due_ns(traffic->queue);
        if (!payload && done && next_due_ns == UINT64_MAX) return NULL;
        if (!payload) {
            rpp_payload_queue_wait(traffic->queue, next_due_ns == UINT64_MAX ? LONG_AWAY : next_due_ns);
        } else if (payload->sequence % 5 == 0 && !payload->tries.begun++) {
            payload->due_ns = rpp_monotonic_ns() + RPP_NS_PER_MS;
            traffic->returned++;
            rpp_payload_queue_push(traffic->queue, payload);
        } else {
            uint64_t written;
            memcpy(&written, payload->bytes, 8);
            traffic->got += written == payload->sequence;
            traffic->got_bytes += payload->length;
            rpp_payload_free(payload);
        }
    }
}

static void run_traffic(traffic_state *traffic)
{
    pthread_t producers[PRODUCERS], consumer;
    pthread_create(&consumer, NULL, consume, traffic);
    for (int i = 0; i < PRODUCERS; i++) pthread_create(&producers[i], NULL, produce, traffic);
    for (int i = 0; i < PRODUCERS; i++) pthread_join(producers[i], NULL);
    atomic_store(&traffic->done, true);
    rpp_payload_queue_wake(traffic->queue);
    pthread_join(consumer, NULL);
}

TEST(every_payload_arrives_once)
{
    rpp_stats_reset();
    traffic_state traffic = {.queue = rpp_payload_queue_new(SIZE_MAX, SIZE_MAX)};
    run_traffic(&traffic);
    CHECK_INT(traffic.got, PRODUCERS * EACH);
    CHECK_INT(traffic.got_bytes, PRODUCERS * EACH * 8);
    CHECK_INT(traffic.returned, PRODUCERS * EACH / 5);
    CHECK_INT(rpp_stats_get(RPP_STAT_queue_payloads), 0);
    rpp_payload_queue_free(traffic.queue);
}

TEST(in_a_small_queue_every_payload_arrives_or_is_counted)
{
    rpp_stats_reset();
    traffic_state traffic = {.queue = rpp_payload_queue_new(7, 50)};
    run_traffic(&traffic);
    CHECK_INT(traffic.got + rpp_stats_get(RPP_STAT_payloads_dropped_queue_full), PRODUCERS * EACH);
    CHECK_INT(rpp_stats_get(RPP_STAT_queue_bytes), 0);
    rpp_payload_queue_free(traffic.queue);
}

/* --- no memory
 * ------------------------------------------------------------------------------------------------------ */

TEST(without_memory_neither_queue_nor_payload)
{
    rpp_alloc_fail_at(1);
    CHECK(!rpp_payload_queue_new(1, 1));
    uint8_t *bytes = rpp_calloc(1, 4);
    rpp_alloc_fail_at(1);
    CHECK(!rpp_payload_new(bytes, 4)); /* which frees the bytes */
    rpp_alloc_fail_at(0);
    rpp_payload_free(NULL);
}
