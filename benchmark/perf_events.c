/* perf_events.c - what a CPU timer and perf's task clock, as sources of ticks, cost a thread, and which ticks arrive.
 * Linux only.
 *
 *   cc -O1 -D_GNU_SOURCE -pthread benchmark/perf_events.c -o tmp/perf_events && tmp/perf_events
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define SWITCHES  10000
#define PERIOD_NS 10000000

typedef enum source { NONE, CPU_TIMER, TASK_CLOCK, SOURCES } source;
static const char *const names[SOURCES] = {"no ticks", "CPU timer", "perf's task clock"};

typedef struct ticks {
    source kind;
    int descriptor;
    timer_t timer;
} ticks;

static volatile unsigned long signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

static uint64_t ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void must(int result, const char *what)
{
    if (result >= 0) return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

/* Without privileges an event may not look into the kernel (perf_event_paranoid 2). */
static void open_task_clock(ticks *t, uint64_t period_ns)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .sample_period = period_ns,
                                         .wakeup_events = 1,
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
    t->descriptor = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    must(t->descriptor, "perf_event_open");
    must(fcntl(t->descriptor, F_SETSIG, SIGURG), "F_SETSIG");
    must(fcntl(t->descriptor, F_SETOWN_EX, &owner), "F_SETOWN_EX");
    must(fcntl(t->descriptor, F_SETFL, O_ASYNC | O_NONBLOCK), "O_ASYNC");
    must(ioctl(t->descriptor, PERF_EVENT_IOC_ENABLE, 0), "PERF_EVENT_IOC_ENABLE");
}

static void open_timer(ticks *t, uint64_t period_ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    struct itimerspec often = {{0, (long)period_ns}, {0, (long)period_ns}};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    must(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &t->timer), "timer_create");
    must(timer_settime(t->timer, 0, &often, NULL), "timer_settime");
}

static void begin(ticks *t, source kind, uint64_t period_ns)
{
    t->kind = kind;
    if (kind == TASK_CLOCK) open_task_clock(t, period_ns);
    if (kind == CPU_TIMER) open_timer(t, period_ns);
}

static void end(ticks *t)
{
    if (t->kind == TASK_CLOCK) close(t->descriptor);
    if (t->kind == CPU_TIMER) timer_delete(t->timer);
}

/* --- what a switch of threads costs --- */

static int there[2], back[2];

static void pass_on(int from, int to)
{
    char byte;
    must((int)read(from, &byte, 1), "read");
    must((int)write(to, &byte, 1), "write");
}

static void *answer(void *chosen)
{
    ticks own;
    begin(&own, *(source *)chosen, PERIOD_NS);
    for (int i = 0; i < SWITCHES; i++) pass_on(there[0], back[1]);
    end(&own);
    return NULL;
}

static double ns_a_switch(source kind)
{
    pthread_t other;
    ticks own;
    char byte = 'x';
    must(-pthread_create(&other, NULL, answer, &kind), "pthread_create");
    begin(&own, kind, PERIOD_NS);
    uint64_t before = ns_of(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < SWITCHES; i++) {
        must((int)write(there[1], &byte, 1), "write");
        must((int)read(back[0], &byte, 1), "read");
    }
    uint64_t took = ns_of(CLOCK_PROCESS_CPUTIME_ID) - before;
    pthread_join(other, NULL);
    end(&own);
    return (double)took / SWITCHES / 2;
}

/* --- which ticks arrive --- */

/* At 1 ms, in a second of CPU time that is mostly spent in system calls. */
static unsigned long ticks_in_system_calls(source kind)
{
    ticks own;
    signals = 0;
    begin(&own, kind, 1000000);
    uint64_t until = ns_of(CLOCK_THREAD_CPUTIME_ID) + 1000000000;
    while (ns_of(CLOCK_THREAD_CPUTIME_ID) < until) continue;
    end(&own);
    return signals;
}

static double us_to_begin_and_end(source kind)
{
    enum { TIMES = 300 };
    uint64_t before = ns_of(CLOCK_MONOTONIC);
    for (int i = 0; i < TIMES; i++) {
        ticks own;
        begin(&own, kind, PERIOD_NS);
        end(&own);
    }
    return (double)(ns_of(CLOCK_MONOTONIC) - before) / 1e3 / TIMES;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    must(sigaction(SIGURG, &action, NULL), "sigaction");
    must(pipe(there), "pipe");
    must(pipe(back), "pipe");
    printf("| | CPU us a switch of threads | ticks in a second of system calls | us to begin and end |\n| --- | ---: | "
           "---: | ---: |\n");
    for (source kind = NONE; kind < SOURCES; kind++) {
        double best = 1e9;
        for (int round = 0; round < 3; round++) {
            double ns = ns_a_switch(kind);
            if (ns < best) best = ns;
        }
        printf("| %s | %.2f | %lu | %.1f |\n", names[kind], best / 1e3, ticks_in_system_calls(kind),
               us_to_begin_and_end(kind));
    }
    return 0;
}
