/* tick_threads.c - which quarter of a burst after a sleep do ticks find, if a thread's own timer sends them, or another
 * thread must wake up to see them? Linux only.
 *
 *   cc -O1 -D_GNU_SOURCE -pthread benchmark/tick_threads.c -o tmp/tick_threads && tmp/tick_threads
 *
 * A thread sleeps 2 to 6 ms and then works 4.8 ms, in four quarters. Beside it, as many threads as there are cores
 * spin, or nobody does. As root the row "alone" runs with real-time priority, so that other programs do not matter.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define PERIOD_NS  5025125 /* 199 Hz */
#define QUARTER_NS 1200000
#define ROUNDS     6
#define ROUND_NS   UINT64_C(4000000000)
#define SIGNAL     (SIGRTMIN + 3)

typedef enum source { WALL_CLOCK, TIMER_WAKES_THREAD, TIMER_SIGNALS_SELF, SOURCES } source;
static const char *const names[SOURCES] = {"another thread, by the wall clock", "its CPU timer wakes another thread",
                                           "its CPU timer signals the thread itself"};

typedef struct counts {
    double ticks[4], cpu_ns[4];
} counts;

static atomic_bool stop, runs, tick;
static clockid_t worker_clock;
static timer_t timer;

static uint64_t ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec at = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* The next tick of the kernel. */
static void set_timer(void)
{
    struct itimerspec soon = {.it_value = {0, 100000}};
    timer_settime(timer, 0, &soon, NULL);
}

static void make_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    timer_create(worker_clock, &event, &timer);
    set_timer();
}

static void *tick_by_wall_clock(void *unused)
{
    (void)unused;
    for (uint64_t end = ns_of(CLOCK_MONOTONIC); !stop; end += PERIOD_NS) {
        sleep_until(end + (uint64_t)(drand48() * PERIOD_NS));
        if (runs) tick = true;
    }
    return NULL;
}

static void *tick_when_told(void *unused)
{
    (void)unused;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGNAL);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    make_timer();
    while (!stop) {
        struct timespec patience = {0, 200000000};
        if (sigtimedwait(&signals, NULL, &patience) < 0) continue;
        set_timer();
        if (runs) tick = true;
    }
    timer_delete(timer);
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    tick = true;
    set_timer();
}

static void *spin(void *unused)
{
    (void)unused;
    while (!stop) continue;
    return NULL;
}

static void work(uint64_t turns, double *ticks)
{
    for (uint64_t i = 0; i < turns; i++) {
        if (!tick) continue;
        tick = false;
        ++*ticks;
    }
}

static uint64_t turns_a_quarter(void)
{
    double ignored = 0;
    uint64_t turns = 100000, took = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t began = ns_of(CLOCK_THREAD_CPUTIME_ID);
        work(turns, &ignored);
        took = ns_of(CLOCK_THREAD_CPUTIME_ID) - began;
        turns = turns * QUARTER_NS / (took ? took : 1);
    }
    return turns;
}

static void do_bursts(uint64_t turns, counts *sums)
{
    uint64_t end = ns_of(CLOCK_MONOTONIC) + ROUND_NS;
    while (ns_of(CLOCK_MONOTONIC) < end) {
        runs = false;
        tick = false; /* what came after the last safepoint finds nobody */
        sleep_until(ns_of(CLOCK_MONOTONIC) + 2000000 + (uint64_t)(drand48() * 4000000));
        runs = true;
        for (int quarter = 0; quarter < 4; quarter++) {
            uint64_t began = ns_of(CLOCK_THREAD_CPUTIME_ID);
            work(turns, &sums->ticks[quarter]);
            sums->cpu_ns[quarter] += (double)(ns_of(CLOCK_THREAD_CPUTIME_ID) - began);
        }
    }
}

static void measure(source from, int spinners, uint64_t turns, counts *sums)
{
    pthread_t ticker, spinner[64];
    stop = false;
    for (int i = 0; i < spinners; i++) pthread_create(&spinner[i], NULL, spin, NULL);
    if (from == TIMER_SIGNALS_SELF)
        make_timer();
    else
        pthread_create(&ticker, NULL, from == WALL_CLOCK ? tick_by_wall_clock : tick_when_told, NULL);
    do_bursts(turns, sums);
    stop = true;
    if (from == TIMER_SIGNALS_SELF)
        timer_delete(timer);
    else
        pthread_join(ticker, NULL);
    for (int i = 0; i < spinners; i++) pthread_join(spinner[i], NULL);
}

/* A quarter's share of the ticks over its share of CPU time. */
static void print_row(const char *where, source from, const counts *sums)
{
    double ticks = 0, cpu_ns = 0;
    for (int i = 0; i < 4; i++) ticks += sums->ticks[i], cpu_ns += sums->cpu_ns[i];
    printf("| %-14s | %-39s | %5.0f |", where, names[from], ticks);
    for (int i = 0; i < 4; i++) printf(" %4.0f |", 100 * (sums->ticks[i] / ticks) / (sums->cpu_ns[i] / cpu_ns));
    printf("\n");
    fflush(stdout);
}

static void measure_all(const char *where, int spinners)
{
    counts sums[SOURCES] = {0};
    uint64_t turns = turns_a_quarter();
    for (int round = 0; round < ROUNDS; round++) {
        for (source from = 0; from < SOURCES; from++) measure(from, spinners, turns, &sums[from]);
    }
    for (source from = 0; from < SOURCES; from++) print_row(where, from, &sums[from]);
}

int main(void)
{
    struct sched_param real_time = {.sched_priority = 1}, usual = {0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_getcpuclockid(pthread_self(), &worker_clock);
    signal(SIGNAL, on_signal);
    bool may = pthread_setschedparam(pthread_self(), SCHED_RR, &real_time) == 0;
    measure_all(may ? "alone" : "nobody spins", 0);
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual);
    measure_all("beside spinners", cores < 64 ? (int)cores : 64);
    return 0;
}
