/* test_waker.c - a wake is never lost, and a sleep has an end. */
#include "base/waker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "test.h"

#define FOREVER UINT64_MAX

TEST(a_wake_before_the_wait_ends_it)
{
    rpp_waker waker;
    rpp_waker_init(&waker);
    rpp_waker_wake(&waker);
    rpp_waker_wait(&waker, FOREVER);
    rpp_waker_destroy(&waker);
}

TEST(wakes_do_not_add_up)
{
    rpp_waker waker;
    rpp_waker_init(&waker);
    for (int i = 0; i < 3; i++) rpp_waker_wake(&waker);
    rpp_waker_wait(&waker, FOREVER);
    uint64_t begin = rpp_monotonic_ns();
    rpp_waker_wait(&waker, begin + 20 * RPP_NS_PER_MS);
    CHECK(rpp_monotonic_ns() - begin >= 15 * RPP_NS_PER_MS);
    rpp_waker_destroy(&waker);
}

TEST(a_wait_ends_at_its_deadline)
{
    rpp_waker waker;
    rpp_waker_init(&waker);
    uint64_t begin = rpp_monotonic_ns();
    rpp_waker_wait(&waker, begin + 30 * RPP_NS_PER_MS);
    CHECK(rpp_monotonic_ns() - begin >= 30 * RPP_NS_PER_MS);
    rpp_waker_wait(&waker, begin); /* a deadline in the past is no wait */
    rpp_waker_wait(&waker, 0);
    rpp_waker_destroy(&waker);
}

static void *wake_later(void *waker)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    rpp_waker_wake(waker);
    return NULL;
}

TEST(a_wake_ends_a_wait_without_deadline)
{
    pthread_t thread;
    rpp_waker waker;
    rpp_waker_init(&waker);
    pthread_create(&thread, NULL, wake_later, &waker);
    rpp_waker_wait(&waker, FOREVER);
    pthread_join(thread, NULL);
    rpp_waker_destroy(&waker);
}

static rpp_waker from_handler;

static void on_signal(int number)
{
    (void)number;
    rpp_waker_wake(&from_handler);
}

TEST(a_signal_handler_may_wake_and_errno_stays)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    rpp_waker_init(&from_handler);
    sigaction(SIGUSR1, &action, &before);
    errno = ERANGE;
    raise(SIGUSR1);
    int after = errno;
    sigaction(SIGUSR1, &before, NULL);
    CHECK_INT(after, ERANGE);
    rpp_waker_wait(&from_handler, FOREVER);
    rpp_waker_destroy(&from_handler);
}

/* What is written before a wake is seen after the wait; a lost wake hangs the test. */
typedef struct ping_pong {
    rpp_waker to[2];
    uint32_t turns[2]; /* ordered by the wakers alone: the thread sanitizer judges */
    _Atomic uint32_t turn;
} ping_pong;

enum { TURNS = 20000 };

static void play(ping_pong *game, uint32_t side)
{
    for (uint32_t turn = side; turn < TURNS; turn += 2) {
        while (atomic_load_explicit(&game->turn, memory_order_acquire) != turn)
            rpp_waker_wait(&game->to[side], FOREVER);
        game->turns[0]++;
        game->turns[1]--;
        atomic_store_explicit(&game->turn, turn + 1, memory_order_release);
        rpp_waker_wake(&game->to[!side]);
    }
}

static void *play_second(void *game)
{
    play(game, 1);
    return NULL;
}

TEST(no_wake_is_lost)
{
    ping_pong game = {.turns = {0, TURNS}};
    pthread_t second;
    for (int i = 0; i < 2; i++) rpp_waker_init(&game.to[i]);
    pthread_create(&second, NULL, play_second, &game);
    play(&game, 0);
    pthread_join(second, NULL);
    CHECK_INT(game.turns[0], TURNS);
    CHECK_INT(game.turns[1], 0);
    for (int i = 0; i < 2; i++) rpp_waker_destroy(&game.to[i]);
}
