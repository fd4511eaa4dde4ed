/* test_sample_buffer.c - what is pushed is drained, in order, once. */
#include "sampling/sample_buffer.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "test.h"

static rpp_label_set *some_labels(void)
{
    rpp_label_set *set = NULL;
    rpp_label label = {"k", "v", 1, 1};
    CHECK_OK(rpp_label_set_merge(NULL, &label, 1, &set));
    return set;
}

/* A sample that can be told by its number: each part of it follows from it. */
static rpp_sample make_sample(uint32_t number, rpp_location locations[RPP_MAX_DEPTH + 1])
{
    rpp_sample sample = {.cpu_ns = number, .wall_ns = number * 2ull, .thread_seq = 1, .depth = number % 40};
    for (uint32_t i = 0; i < sample.depth; i++) locations[i] = (rpp_location){number, i};
    return sample;
}

typedef struct seen {
    uint32_t count, next, wrong;
} seen;

static void look(const rpp_sample *sample, const rpp_location *locations, void *context)
{
    seen *s = context;
    uint32_t number = (uint32_t)sample->cpu_ns;
    if (number != s->next || sample->wall_ns != number * 2ull || sample->depth != number % 40) s->wrong++;
    for (uint32_t i = 0; i < sample->depth; i++) {
        if (locations[i].frame != number || locations[i].line != i) s->wrong++;
    }
    rpp_label_set_release(sample->labels);
    s->next = number + 1;
    s->count++;
}

TEST(samples_come_out_in_the_order_they_went_in)
{
    rpp_location locations[RPP_MAX_DEPTH + 1];
    rpp_sample_buffer *buffer = rpp_sample_buffer_new(1 << 16);
    seen s = {0};
    for (uint32_t i = 0; i < 300; i++) {
        rpp_sample sample = make_sample(i, locations);
        CHECK_OK(rpp_sample_buffer_push(buffer, &sample, locations));
        if (i % 100 == 99) CHECK_INT(rpp_sample_buffer_drain(buffer, look, &s), 100);
    }
    CHECK_INT(rpp_sample_buffer_drain(buffer, look, &s), 0);
    CHECK_INT(s.count, 300);
    CHECK_INT(s.wrong, 0);
    rpp_sample_buffer_free(buffer);
}

TEST(a_full_half_takes_nothing_more_until_it_is_drained)
{
    size_t room = 4 * (sizeof(rpp_sample) + 2 * sizeof(rpp_location));
    rpp_location locations[3] = {{0}};
    rpp_sample sample = {.depth = 2};
    rpp_sample_buffer *buffer = rpp_sample_buffer_new(room);
    seen s = {0};
    CHECK(!rpp_sample_buffer_is_filling(buffer));
    for (int i = 0; i < 4; i++) {
        CHECK_INT(rpp_sample_buffer_is_filling(buffer), i == 3);
        CHECK_OK(rpp_sample_buffer_push(buffer, &sample, locations));
    }
    CHECK_INT(rpp_sample_buffer_push(buffer, &sample, locations), RPP_LIMIT);
    sample.depth = 0;
    CHECK_INT(rpp_sample_buffer_push(buffer, &sample, NULL), RPP_LIMIT);
    CHECK_INT(rpp_sample_buffer_drain(buffer, look, &s), 4);
    CHECK(!rpp_sample_buffer_is_filling(buffer));
    CHECK_OK(rpp_sample_buffer_push(buffer, &sample, NULL));
    rpp_sample_buffer_free(buffer);
}

TEST(the_deepest_stack_fits_and_no_deeper)
{
    static rpp_location locations[RPP_MAX_DEPTH + 2];
    rpp_sample_buffer *buffer = rpp_sample_buffer_new(1 << 16);
    rpp_sample sample = {.depth = RPP_MAX_DEPTH + 1};
    CHECK_OK(rpp_sample_buffer_push(buffer, &sample, locations));
    sample.depth++;
    CHECK_INT(rpp_sample_buffer_push(buffer, &sample, locations), RPP_INVALID);
    sample.depth = UINT32_MAX;
    CHECK_INT(rpp_sample_buffer_push(buffer, &sample, locations), RPP_INVALID);
    rpp_sample_buffer_free(buffer);
}

TEST(label_sets_go_to_the_visitor_or_with_the_buffer)
{
    rpp_label_set *labels = some_labels();
    rpp_sample_buffer *buffer = rpp_sample_buffer_new(1 << 12);
    seen s = {0};
    for (uint32_t i = 0; i < 2; i++) {
        rpp_sample sample = {.labels = rpp_label_set_retain(labels)};
        CHECK_OK(rpp_sample_buffer_push(buffer, &sample, NULL));
        if (i == 0) CHECK_INT(rpp_sample_buffer_drain(buffer, look, &s), 1);
    }
    rpp_sample_buffer_free(buffer);
    CHECK_INT(rpp_label_set_count(labels), 1);
    rpp_label_set_release(labels);
    rpp_sample_buffer_free(NULL);
}

static void push_again(const rpp_sample *sample, const rpp_location *locations, void *context)
{
    if (rpp_sample_buffer_push(context, sample, locations) != RPP_OK) abort();
}

TEST(producers_go_on_while_the_collector_reads)
{
    rpp_sample_buffer *buffer = rpp_sample_buffer_new(1 << 12);
    rpp_sample sample = {0};
    seen s = {0};
    CHECK_OK(rpp_sample_buffer_push(buffer, &sample, NULL));
    CHECK_INT(rpp_sample_buffer_drain(buffer, push_again, buffer), 1);
    CHECK_INT(rpp_sample_buffer_drain(buffer, look, &s), 1);
    rpp_sample_buffer_free(buffer);
}

TEST(new_survives_every_failing_allocation)
{
    rpp_sample_buffer *buffer = NULL;
    size_t nth = 0;
    while (!buffer) {
        rpp_alloc_fail_at(++nth);
        buffer = rpp_sample_buffer_new(1000);
        rpp_alloc_fail_at(0);
    }
    CHECK_INT(nth, 4);
    rpp_sample_buffer_free(buffer);
}

/* --- two producers that take turns, as threads with the GVL do, and a collector that takes none --- */

typedef struct traffic {
    rpp_sample_buffer *buffer;
    pthread_mutex_t turn;
    rpp_label_set *labels;
    uint32_t next, total; /* under turn */
    uint32_t busy, full;  /* under turn */
    atomic_bool done;
} traffic;

static void *produce(void *context)
{
    traffic *t = context;
    rpp_location locations[RPP_MAX_DEPTH + 1];
    for (bool more = true; more;) {
        pthread_mutex_lock(&t->turn);
        more = t->next < t->total;
        if (more) {
            rpp_sample sample = make_sample(t->next, locations);
            sample.labels = rpp_label_set_retain(t->labels);
            rpp_status status = rpp_sample_buffer_push(t->buffer, &sample, locations);
            if (status == RPP_OK) {
                t->next++;
            } else {
                rpp_label_set_release(sample.labels);
            }
            t->busy += status == RPP_BUSY;
            t->full += status == RPP_LIMIT;
        }
        pthread_mutex_unlock(&t->turn);
        if (rpp_sample_buffer_is_filling(t->buffer)) sched_yield();
    }
    return NULL;
}

typedef struct collecting {
    traffic *traffic;
    seen seen;
} collecting;

static void *collect(void *context)
{
    collecting *c = context;
    bool done = false;
    while (!done) {
        done = atomic_load(&c->traffic->done);
        rpp_sample_buffer_drain(c->traffic->buffer, look, &c->seen);
        sched_yield(); /* valgrind runs one thread at a time, and is not fair */
    }
    return NULL;
}

TEST(nothing_is_lost_or_seen_twice_between_threads)
{
    traffic t = {.buffer = rpp_sample_buffer_new(1 << 13), .turn = PTHREAD_MUTEX_INITIALIZER, .total = 50000};
    t.labels = some_labels();
    collecting c = {.traffic = &t};
    pthread_t producers[2], collector;
    pthread_create(&collector, NULL, collect, &c);
    for (int i = 0; i < 2; i++) pthread_create(&producers[i], NULL, produce, &t);
    for (int i = 0; i < 2; i++) pthread_join(producers[i], NULL);
    atomic_store(&t.done, true);
    pthread_join(collector, NULL);
    CHECK_INT(c.seen.count, t.total);
    CHECK_INT(c.seen.wrong, 0);
    rpp_label_set_release(t.labels);
    rpp_sample_buffer_free(t.buffer);
}
