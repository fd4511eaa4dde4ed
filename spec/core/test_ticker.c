/* test_ticker.c - one tick a period for all sessions, whichever of their collectors gives it. */
#include "profile/ticker.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/stats.h"
#include "test.h"

#define START  (1000 * RPP_NS_PER_S)
#define PERIOD (10 * RPP_NS_PER_MS)
#define STEP   (PERIOD / 10)
#define NEVER  UINT64_MAX

enum { COLLECTORS = 3 };

typedef struct fixture {
    rpp_ticker ticker;
    rpp_waker wakers[COLLECTORS];
    rpp_ticker_seat seats[COLLECTORS];
    uint64_t now_ns;
} fixture;

static void begin(fixture *f)
{
    *f = (fixture){.now_ns = START};
    rpp_ticker_init(&f->ticker, PERIOD);
    for (int i = 0; i < COLLECTORS; i++) {
        rpp_waker_init(&f->wakers[i]);
        f->seats[i].waker = &f->wakers[i];
    }
    rpp_stats_reset();
}

static void finish(fixture *f)
{
    for (int i = 0; i < COLLECTORS; i++) rpp_waker_destroy(&f->wakers[i]);
    rpp_ticker_destroy(&f->ticker);
}

static bool holds(fixture *f, int collector)
{
    return rpp_ticker_next_ns(&f->ticker, &f->seats[collector]) != NEVER;
}

/* -1: no one. */
static int holder(fixture *f)
{
    int found = -1;
    for (int i = 0; i < COLLECTORS; i++) {
        if (!holds(f, i)) continue;
        CHECK_INT(found, -1);
        found = i;
    }
    return found;
}

static bool is_due(fixture *f, int collector)
{
    return rpp_ticker_is_due(&f->ticker, &f->seats[collector], f->now_ns, 0);
}

static bool note(fixture *f, int collector, const void *who)
{
    return rpp_ticker_note(&f->ticker, &f->seats[collector], (rpp_finding){who, {f->now_ns - START, f->now_ns}});
}

/* All collectors look. Returns the number of ticks. */
static unsigned look(fixture *f)
{
    unsigned ticks = 0;
    for (int i = 0; i < COLLECTORS; i++) ticks += is_due(f, i);
    return ticks;
}

static void join(fixture *f, int collector)
{
    rpp_ticker_join(&f->ticker, &f->seats[collector]);
}

static bool was_woken(fixture *f, int collector)
{
    return atomic_exchange(&f->wakers[collector].pending, 0);
}

/* --- who ticks --- */

TEST(nobody_ticks_until_a_collector_joins)
{
    fixture f;
    begin(&f);
    CHECK_INT(holder(&f), -1);
    f.now_ns += 3 * PERIOD;
    CHECK_INT(look(&f), 0);
    join(&f, 0);
    CHECK_INT(holder(&f), 0);
    CHECK(was_woken(&f, 0));
    join(&f, 1);
    join(&f, 0);
    CHECK_INT(holder(&f), 0);
    CHECK(!was_woken(&f, 1));
    finish(&f);
}

TEST(a_busy_collector_hands_over_and_wakes_who_ticks_then)
{
    fixture f;
    begin(&f);
    join(&f, 0);
    join(&f, 1);
    rpp_ticker_hand_over(&f.ticker, &f.seats[0]);
    CHECK_INT(holder(&f), 1);
    CHECK(was_woken(&f, 1));
    rpp_ticker_come_back(&f.ticker, &f.seats[0]);
    CHECK_INT(holder(&f), 1); /* it ticks on until it is busy itself */
    rpp_ticker_hand_over(&f.ticker, &f.seats[1]);
    CHECK_INT(holder(&f), 0);
    rpp_ticker_hand_over(&f.ticker, &f.seats[0]);
    CHECK_INT(holder(&f), -1); /* both are busy */
    join(&f, 2);
    CHECK_INT(holder(&f), 2);
    rpp_ticker_leave(&f.ticker, &f.seats[2]);
    CHECK_INT(holder(&f), -1);
    rpp_ticker_come_back(&f.ticker, &f.seats[1]);
    CHECK_INT(holder(&f), 1); /* the first to come back */
    finish(&f);
}

TEST(a_collector_that_leaves_hands_over_and_is_not_woken_any_more)
{
    fixture f;
    begin(&f);
    for (int i = 0; i < COLLECTORS; i++) join(&f, i);
    int first = holder(&f);
    rpp_ticker_leave(&f.ticker, &f.seats[first]);
    int second = holder(&f);
    CHECK(second >= 0 && second != first);
    was_woken(&f, first);
    rpp_ticker_hand_over(&f.ticker, &f.seats[second]);
    CHECK_INT(holder(&f), COLLECTORS - first - second);
    rpp_ticker_leave(&f.ticker, &f.seats[second]);
    rpp_ticker_leave(&f.ticker, &f.seats[COLLECTORS - first - second]);
    rpp_ticker_leave(&f.ticker, &f.seats[first]); /* again */
    CHECK_INT(holder(&f), -1);
    rpp_ticker_come_back(&f.ticker, &f.seats[second]); /* a window was encoded after its session had left */
    CHECK_INT(holder(&f), -1);
    CHECK(!was_woken(&f, first));
    finish(&f);
}

TEST(a_forked_child_has_no_collectors_and_the_same_period)
{
    fixture f;
    begin(&f);
    join(&f, 0);
    is_due(&f, 0);
    note(&f, 0, "a thread");
    pthread_mutex_lock(&f.ticker.lock); /* by one of the parent's collectors at that moment */
    fixture child = {.ticker = f.ticker, .now_ns = f.now_ns};
    pthread_mutex_unlock(&f.ticker.lock);
    rpp_ticker_discard_after_fork(&child.ticker);
    CHECK_INT(holder(&child), -1);
    CHECK_INT(rpp_ticker_take(&child.ticker).count, 0);
    CHECK_INT(rpp_ticker_period_ns(&child.ticker), PERIOD);
    child.seats[1].waker = &f.wakers[1];
    join(&child, 1);
    CHECK_INT(holder(&child), 1);
    rpp_ticker_destroy(&child.ticker);
    finish(&f);
}

/* --- when --- */

/* However often the collectors look, and however often they hand over. */
TEST(each_period_has_one_tick_at_a_random_place)
{
    fixture f;
    begin(&f);
    join(&f, 0);
    join(&f, 1);
    unsigned ticks = 0, by_place[10] = {0};
    look(&f);
    for (int i = 0; i < 10000; i++) {
        f.now_ns += STEP;
        if (i % 7 == 0) {
            rpp_ticker_seat *seat = &f.seats[holder(&f)];
            rpp_ticker_hand_over(&f.ticker, seat);
            rpp_ticker_come_back(&f.ticker, seat);
        }
        unsigned tick = look(&f);
        ticks += tick;
        by_place[i % 10] += tick;
    }
    CHECK(ticks >= 998 && ticks <= 1001);
    for (int i = 0; i < 10; i++) CHECK(by_place[i] > 50 && by_place[i] < 150); /* 5 standard deviations */
    finish(&f);
}

TEST(a_pause_is_not_made_up_for)
{
    fixture f;
    begin(&f);
    join(&f, 0);
    look(&f);
    f.now_ns += 100 * PERIOD; /* all collectors were busy */
    unsigned ticks = 0;
    for (int i = 0; i < 10; i++) {
        ticks += look(&f);
        f.now_ns += STEP;
    }
    CHECK(ticks <= 2);
    finish(&f);
}

TEST(after_a_sleep_periods_begin_with_the_thread_that_ran_first)
{
    fixture f;
    begin(&f);
    join(&f, 0);
    for (int i = 0; i < 1000; i++) {
        f.now_ns += 7 * PERIOD;
        uint64_t began = f.now_ns - PERIOD; /* the collector woke a period late */
        CHECK(!rpp_ticker_is_due(&f.ticker, &f.seats[0], f.now_ns, began));
        uint64_t next = rpp_ticker_next_ns(&f.ticker, &f.seats[0]);
        CHECK(next >= began && next < began + PERIOD);
        CHECK(is_due(&f, 0));
    }
    finish(&f);
}

TEST(a_new_period_takes_effect_with_the_next_tick)
{
    fixture f;
    begin(&f);
    join(&f, 0);
    look(&f);
    rpp_ticker_set_period(&f.ticker, 5 * PERIOD);
    CHECK_INT(rpp_ticker_period_ns(&f.ticker), 5 * PERIOD);
    unsigned ticks = 0;
    for (int i = 0; i < 1000; i++) {
        f.now_ns += STEP;
        ticks += look(&f);
    }
    CHECK(ticks >= 19 && ticks <= 22);
    finish(&f);
}

/* --- whom they found --- */

TEST(ticks_that_found_one_thread_are_taken_together)
{
    fixture f;
    begin(&f);
    join(&f, 0);
    for (int i = 0; i < 5; i++) {
        f.now_ns += PERIOD;
        CHECK(note(&f, 0, "a thread"));
    }
    CHECK(!note(&f, 0, NULL));
    rpp_ticks ticks = rpp_ticker_take(&f.ticker);
    CHECK_INT(ticks.count, 5);
    CHECK_STR(ticks.last.who, "a thread");
    CHECK_INT(ticks.last.at.wall_ns, f.now_ns);
    CHECK_INT(ticks.last.at.cpu_ns, 5 * PERIOD);
    CHECK_INT(rpp_ticker_take(&f.ticker).count, 0);
    CHECK_INT(rpp_stats_get(RPP_STAT_ticks), 5);
    finish(&f);
}

TEST(ticks_of_one_thread_do_not_weigh_on_the_next)
{
    fixture f;
    begin(&f);
    join(&f, 0);
    for (int i = 0; i < 5; i++) note(&f, 0, "a thread");
    for (int i = 0; i < 3; i++) note(&f, 0, "another");
    rpp_ticks ticks = rpp_ticker_take(&f.ticker);
    CHECK_INT(ticks.count, 3);
    CHECK_STR(ticks.last.who, "another");
    finish(&f);
}

/* Between the tick and its finding the collector's session may be paused, and another collector ticks. */
TEST(a_tick_of_a_collector_that_has_lost_the_ticker_does_not_count)
{
    fixture f;
    begin(&f);
    join(&f, 0);
    join(&f, 1);
    CHECK(is_due(&f, 0));
    rpp_ticker_leave(&f.ticker, &f.seats[0]);
    CHECK(!note(&f, 0, "a thread"));
    CHECK(note(&f, 1, "a thread"));
    CHECK_INT(rpp_ticker_take(&f.ticker).count, 1);
    finish(&f);
}

/* --- at the same time --- */

typedef struct collector {
    fixture *f;
    int number;
    uint64_t noted;
} collector;

enum { ROUNDS = 20000 };

/* Its period is 1 ns, so a tick is always due. It is busy now and then, and its session comes and goes. */
static void *collect(void *context)
{
    collector *c = context;
    rpp_ticker *ticker = &c->f->ticker;
    rpp_ticker_seat *seat = &c->f->seats[c->number];
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        if (i % 50 == 1) rpp_ticker_join(ticker, seat);
        if (rpp_ticker_is_due(ticker, seat, START + i * RPP_NS_PER_MS, 0)) {
            c->noted += rpp_ticker_note(ticker, seat, (rpp_finding){.who = c->f});
        }
        rpp_ticker_hand_over(ticker, seat);
        rpp_ticker_come_back(ticker, seat);
        if (i % 50 == 0) rpp_ticker_leave(ticker, seat);
    }
    return NULL;
}

TEST(no_tick_is_lost_or_counted_twice_while_collectors_hand_over)
{
    fixture f;
    begin(&f);
    rpp_ticker_set_period(&f.ticker, 1);
    join(&f, 0);
    note(&f, 0, &f); /* a first finding has a right to be lost: nobody was found before */
    rpp_ticker_leave(&f.ticker, &f.seats[0]);
    (void)rpp_ticker_take(&f.ticker);
    rpp_stats_reset();
    pthread_t threads[COLLECTORS];
    collector each[COLLECTORS];
    for (int i = 0; i < COLLECTORS; i++) {
        each[i] = (collector){.f = &f, .number = i};
        CHECK_INT(pthread_create(&threads[i], NULL, collect, &each[i]), 0);
    }
    uint64_t taken = 0, noted = 0;
    for (int i = 0; i < ROUNDS; i++) taken += rpp_ticker_take(&f.ticker).count;
    for (int i = 0; i < COLLECTORS; i++) {
        pthread_join(threads[i], NULL);
        noted += each[i].noted;
    }
    taken += rpp_ticker_take(&f.ticker).count;
    CHECK_INT(taken, noted);
    CHECK(noted > 0);
    CHECK_INT(rpp_stats_get(RPP_STAT_ticks), noted);
    CHECK_INT(holder(&f), -1);
    finish(&f);
}
