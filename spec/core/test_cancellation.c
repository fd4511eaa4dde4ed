/* test_cancellation.c - a wait ends when it is cancelled: before it begins, or wherever it is. */
#include "base/cancellation.h"

#include "base/clock.h"
#include "test.h"

typedef struct place {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned visits; /* under the lock */
} place;

static void set_up(place *p)
{
    pthread_mutex_init(&p->lock, NULL);
    rpp_cond_init(&p->changed);
    p->visits = 0;
}

static void tear_down(place *p)
{
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
}

static uint64_t in_time(void)
{
    return rpp_monotonic_ns() + 20 * RPP_NS_PER_S;
}

TEST(it_is_over_at_its_deadline_or_when_it_is_cancelled)
{
    rpp_cancellation cancellation = {.deadline_ns = 10};
    CHECK(!rpp_cancellation_is_over(&cancellation, 9));
    CHECK(rpp_cancellation_is_over(&cancellation, 10));
    rpp_cancellation_cancel(&cancellation);
    CHECK(rpp_cancellation_is_over(&cancellation, 0));
}

/* Whoever looked before and goes to wait only now has not seen it. */
TEST(a_wait_that_is_cancelled_already_does_not_begin)
{
    place p;
    set_up(&p);
    rpp_cancellation cancellation = {.deadline_ns = in_time()};
    rpp_cancellation_cancel(&cancellation);
    pthread_mutex_lock(&p.lock);
    uint64_t began = rpp_monotonic_ns();
    rpp_cancellation_wait(&cancellation, &p.changed, &p.lock, cancellation.deadline_ns);
    CHECK(rpp_monotonic_ns() - began < 10 * RPP_NS_PER_S);
    pthread_mutex_unlock(&p.lock);
    tear_down(&p);
}

typedef struct visitor {
    place *places[2];
    rpp_cancellation cancellation;
    uint64_t took_ns;
} visitor;

/* Is woken at the first place, and waits on at the second. */
static void *visit(void *context)
{
    visitor *v = context;
    uint64_t began = rpp_monotonic_ns();
    for (unsigned i = 0; i < 2; i++) {
        place *p = v->places[i];
        pthread_mutex_lock(&p->lock);
        p->visits++;
        if (!rpp_cancellation_is_over(&v->cancellation, rpp_monotonic_ns())) {
            rpp_cancellation_wait(&v->cancellation, &p->changed, &p->lock, v->cancellation.deadline_ns);
        }
        pthread_mutex_unlock(&p->lock);
    }
    v->took_ns = rpp_monotonic_ns() - began;
    return NULL;
}

static void await_visit(place *p)
{
    for (bool visited = false; !visited;) {
        pthread_mutex_lock(&p->lock);
        visited = p->visits > 0; /* and has let go of the lock: it waits */
        pthread_mutex_unlock(&p->lock);
    }
}

TEST(a_wait_that_has_moved_on_is_cancelled_where_it_is)
{
    place first, second;
    set_up(&first);
    set_up(&second);
    visitor v = {.places = {&first, &second}, .cancellation.deadline_ns = in_time()};
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, visit, &v), 0);
    await_visit(&first);
    pthread_mutex_lock(&first.lock);
    pthread_cond_broadcast(&first.changed);
    pthread_mutex_unlock(&first.lock);
    await_visit(&second);
    rpp_cancellation_cancel(&v.cancellation);
    pthread_join(thread, NULL);
    CHECK(v.took_ns < 10 * RPP_NS_PER_S);
    tear_down(&first);
    tear_down(&second);
}
