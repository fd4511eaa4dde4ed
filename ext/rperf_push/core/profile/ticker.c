/* ticker.c - the collectors' ticks: when one is due, which collector gives it, and which thread it found. */
#include "profile/ticker.h"

#include "base/clock.h"
#include "base/stats.h"

void rpp_ticker_init(rpp_ticker *t, uint64_t period_ns)
{
    *t = (rpp_ticker){.random = rpp_random_seed()};
    atomic_store(&t->period_ns, period_ns);
    pthread_mutex_init(&t->lock, NULL);
}

void rpp_ticker_destroy(rpp_ticker *t)
{
    pthread_mutex_destroy(&t->lock);
}

void rpp_ticker_discard_after_fork(rpp_ticker *t)
{
    rpp_ticker_init(t, rpp_ticker_period_ns(t));
}

void rpp_ticker_set_period(rpp_ticker *t, uint64_t period_ns)
{
    atomic_store_explicit(&t->period_ns, period_ns, memory_order_relaxed);
}

uint64_t rpp_ticker_period_ns(const rpp_ticker *t)
{
    return atomic_load_explicit(&t->period_ns, memory_order_relaxed);
}

/* --- who ticks; all under the lock --- */

static void give(rpp_ticker *t, rpp_ticker_seat *seat)
{
    t->holder = seat;
    if (seat) rpp_waker_wake(seat->waker);
}

static void give_to_any(rpp_ticker *t)
{
    rpp_ticker_seat *seat = t->seats;
    while (seat && seat->busy) seat = seat->next;
    give(t, seat);
}

static void add(rpp_ticker *t, rpp_ticker_seat *seat)
{
    seat->joined = true;
    seat->next = t->seats;
    t->seats = seat;
}

static void remove_seat(rpp_ticker *t, rpp_ticker_seat *seat)
{
    rpp_ticker_seat **link = &t->seats;
    while (*link != seat) link = &(*link)->next;
    *link = seat->next;
    seat->joined = false;
}

void rpp_ticker_join(rpp_ticker *t, rpp_ticker_seat *seat)
{
    pthread_mutex_lock(&t->lock);
    if (!seat->joined) add(t, seat);
    if (!t->holder) give_to_any(t);
    pthread_mutex_unlock(&t->lock);
}

void rpp_ticker_leave(rpp_ticker *t, rpp_ticker_seat *seat)
{
    pthread_mutex_lock(&t->lock);
    if (seat->joined) remove_seat(t, seat);
    if (t->holder == seat) give_to_any(t);
    pthread_mutex_unlock(&t->lock);
}

void rpp_ticker_hand_over(rpp_ticker *t, rpp_ticker_seat *seat)
{
    pthread_mutex_lock(&t->lock);
    seat->busy = true;
    if (t->holder == seat) give_to_any(t);
    pthread_mutex_unlock(&t->lock);
}

void rpp_ticker_come_back(rpp_ticker *t, rpp_ticker_seat *seat)
{
    pthread_mutex_lock(&t->lock);
    seat->busy = false;
    if (!t->holder) give_to_any(t);
    pthread_mutex_unlock(&t->lock);
}

/* --- when; under the lock --- */

static bool is_late(const rpp_ticker *t, uint64_t now_ns)
{
    return now_ns > t->tick_ns + rpp_ticker_period_ns(t);
}

static void plan_next(rpp_ticker *t)
{
    uint64_t period = rpp_ticker_period_ns(t);
    t->tick_ns = t->period_end_ns + rpp_random_next(&t->random) % period;
    t->period_end_ns += period;
}

static bool is_due(rpp_ticker *t, uint64_t now_ns, uint64_t anew_ns)
{
    if (anew_ns || is_late(t, now_ns)) t->period_end_ns = anew_ns ? anew_ns : now_ns;
    if (!anew_ns && now_ns < t->tick_ns) return false;
    plan_next(t);
    return !anew_ns;
}

bool rpp_ticker_is_due(rpp_ticker *t, rpp_ticker_seat *seat, uint64_t now_ns, uint64_t anew_ns)
{
    pthread_mutex_lock(&t->lock);
    bool due = t->holder == seat && is_due(t, now_ns, anew_ns);
    pthread_mutex_unlock(&t->lock);
    return due;
}

uint64_t rpp_ticker_next_ns(rpp_ticker *t, rpp_ticker_seat *seat)
{
    pthread_mutex_lock(&t->lock);
    uint64_t next = t->holder == seat ? t->tick_ns : UINT64_MAX;
    pthread_mutex_unlock(&t->lock);
    return next;
}

/* --- whom they found --- */

static void count(rpp_ticker *t, rpp_finding found)
{
    if (atomic_load(&t->found) != found.who) atomic_store(&t->count, 0);
    atomic_store(&t->found, found.who);
    atomic_store(&t->found_cpu_ns, found.at.cpu_ns);
    atomic_store(&t->found_ns, found.at.wall_ns);
    atomic_fetch_add(&t->count, 1);
    rpp_stats_add(RPP_STAT_ticks, 1);
}

bool rpp_ticker_note(rpp_ticker *t, rpp_ticker_seat *seat, rpp_finding found)
{
    pthread_mutex_lock(&t->lock);
    bool counts = found.who && t->holder == seat;
    if (counts) count(t, found);
    pthread_mutex_unlock(&t->lock);
    return counts;
}

/* A capture takes no lock, so it may get the time of one tick with the count of another. Then it has a little more or
 * less to weigh. But it never gets the count of another thread's ticks. */
rpp_ticks rpp_ticker_take(rpp_ticker *t)
{
    const void *who = atomic_load(&t->found);
    rpp_ticks ticks = {.count = atomic_exchange(&t->count, 0)};
    ticks.last.who = atomic_load(&t->found);
    if (ticks.last.who != who) ticks.count = 0;
    ticks.last.at.cpu_ns = atomic_load(&t->found_cpu_ns);
    ticks.last.at.wall_ns = atomic_load(&t->found_ns);
    return ticks;
}
