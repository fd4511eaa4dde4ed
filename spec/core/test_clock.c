/* test_clock.c - clocks, monotonic waits and jitter. */
#include "base/clock.h"

#include "test.h"

TEST(monotonic_time_goes_on)
{
    uint64_t before = rpp_monotonic_ns();
    CHECK(before > 0);
    CHECK(rpp_system_clock.monotonic_ns(rpp_system_clock.context) >= before);
}

TEST(what_a_reading_takes_is_known)
{
    uint64_t reading = rpp_monotonic_reading_ns();
    CHECK(reading > 0);
    CHECK(reading < 100 * RPP_NS_PER_US); /* under valgrind, too */
}

TEST(real_time_is_of_this_century)
{
    CHECK(rpp_realtime_ns() > UINT64_C(1700000000) * RPP_NS_PER_S);
    CHECK(rpp_system_clock.realtime_ns(rpp_system_clock.context) > UINT64_C(1700000000) * RPP_NS_PER_S);
}

TEST(cpu_time_grows_with_work)
{
    uint64_t before = rpp_thread_cpu_ns();
    volatile unsigned rounds = 0;
    while (rounds < 1000000) rounds++;
    CHECK(rpp_thread_cpu_ns() > before);
    CHECK(rpp_cpu_clock_ns(CLOCK_THREAD_CPUTIME_ID) > before);
}

TEST(a_clock_that_is_gone_reads_zero)
{
    CHECK_INT(rpp_cpu_clock_ns((clockid_t)12345), 0);
}

static void wait_once(uint64_t deadline_ns)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond;
    rpp_cond_init(&cond);
    pthread_mutex_lock(&lock);
    while (rpp_monotonic_ns() < deadline_ns) rpp_cond_wait_until(&cond, &lock, deadline_ns);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&cond);
}

TEST(a_wait_ends_at_its_deadline)
{
    uint64_t start = rpp_monotonic_ns();
    wait_once(start + 5 * RPP_NS_PER_MS);
    uint64_t waited = rpp_monotonic_ns() - start;
    CHECK(waited >= 5 * RPP_NS_PER_MS);
    CHECK(waited < 5 * RPP_NS_PER_S);
}

TEST(a_deadline_in_the_past_is_no_wait)
{
    wait_once(1);
    wait_once(0);
}

typedef struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int done;
} waiting;

static void *finish(void *context)
{
    waiting *w = context;
    pthread_mutex_lock(&w->lock);
    w->done = 1;
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

TEST(a_deadline_of_never_waits_for_the_signal)
{
    waiting w = {.lock = PTHREAD_MUTEX_INITIALIZER};
    rpp_cond_init(&w.cond);
    pthread_t thread;
    pthread_mutex_lock(&w.lock);
    pthread_create(&thread, NULL, finish, &w);
    while (!w.done) rpp_cond_wait_until(&w.cond, &w.lock, UINT64_MAX);
    pthread_mutex_unlock(&w.lock);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&w.cond);
}

TEST(random_numbers_do_not_repeat_soon_and_follow_their_seed)
{
    uint64_t a = 42, b = 42, previous = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = rpp_random_next(&a);
        CHECK(x == rpp_random_next(&b));
        CHECK(x != previous);
        previous = x;
    }
}

TEST(seeds_differ_and_are_never_zero)
{
    uint64_t one = rpp_random_seed(), other = rpp_random_seed();
    CHECK(one && other && one != other);
}

TEST(a_lock_that_is_not_let_go_is_waited_for_so_long_only)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    CHECK(rpp_mutex_lock_within(&lock, 0));
    uint64_t start = rpp_monotonic_ns();
    CHECK(!rpp_mutex_lock_within(&lock, 20 * RPP_NS_PER_MS));
    CHECK(rpp_monotonic_ns() - start >= 19 * RPP_NS_PER_MS);
    pthread_mutex_unlock(&lock);
    CHECK(rpp_mutex_lock_within(&lock, 20 * RPP_NS_PER_MS));
    pthread_mutex_unlock(&lock);
}
