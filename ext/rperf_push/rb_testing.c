/* rb_testing.c - the seams of the testing build: the rate of ticks, broken promises, counts. */
#include "rb_testing.h"

#ifdef RPP_TESTING

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

static uint64_t period_ns;
static const char *to_break;
static _Atomic unsigned long readings, jobs_left;
static bool triggers_slowly;
static _Atomic unsigned long gcs_entered, gcs_left;
/* A Ractor knows its own first thread. */
static VALUE first_thread_of_main;
static pid_t pid;
static const rb_rpp_testing_observer *observer;

/* Ruby 4.0 handles SIGABRT: its report would allocate, and wait for ever where the promise is broken inside malloc. */
void rb_rpp_testing_abort(const char *broken)
{
    static const char prefix[] = "rperf-push testing build: ";
    signal(SIGABRT, SIG_DFL);
    if (write(STDERR_FILENO, prefix, sizeof prefix - 1) < 0 || write(STDERR_FILENO, broken, strlen(broken)) < 0)
        abort();
    abort();
}

void rb_rpp_testing_init(void)
{
    const char *hz = getenv("RPERF_PUSH_TESTING_HZ");
    int rate = hz ? atoi(hz) : 0;
    if (rate > 0 && rate <= 5000) period_ns = RPP_NS_PER_S / (uint64_t)rate;
    to_break = getenv("RPERF_PUSH_TESTING_BREAK");
    triggers_slowly = getenv("RPERF_PUSH_TESTING_SLOW_TRIGGER") != NULL;
    first_thread_of_main = rb_thread_main();
    pid = getpid();
}

uint64_t rb_rpp_testing_period_ns(void)
{
    return period_ns;
}

bool rb_rpp_testing_breaks(const char *promise)
{
    return to_break && strcmp(to_break, promise) == 0;
}

/* --- captures and walks --- */

static void *nothing(void *unused)
{
    return NULL;
}

void rb_rpp_testing_in_capture(bool at_safepoint)
{
    if (rb_rpp_testing_breaks("allocate")) rb_str_new_cstr("an object");
    if (rb_rpp_testing_breaks("collect")) rb_gc_start();
    if (at_safepoint && rb_rpp_testing_breaks("switch")) rb_thread_call_without_gvl(nothing, NULL, NULL, NULL);
}

void rb_rpp_testing_interrupted(void)
{
    if (rb_during_gc()) rb_rpp_testing_abort("a tick was taken in the GC\n");
}

void rb_rpp_testing_in_walk(void)
{
    const volatile char *volatile nowhere = (const char *)sizeof(VALUE);
    if (rb_rpp_testing_breaks("fault")) (void)*nowhere;
}

void rb_rpp_testing_reading_cpu_clock(void)
{
    atomic_fetch_add_explicit(&readings, 1, memory_order_relaxed);
}

unsigned long rb_rpp_testing_cpu_clock_readings(void)
{
    return atomic_load(&readings);
}

void rb_rpp_testing_observe(const rb_rpp_testing_observer *it)
{
    observer = it;
}

void rb_rpp_testing_timer_created(struct rb_rpp_thread *t)
{
    if (observer) observer->timer_created(t);
}

void rb_rpp_testing_walked(const struct rb_rpp_thread *t, const VALUE *frames, const int *lines, int depth)
{
    if (observer) observer->walked(t, frames, lines, depth);
}

/* --- the layout --- */

/* The numbers of walks are bytes, one after the other. Those of events come after them. */
#define LAYOUT_BEGIN   offsetof(rb_rpp_vm_layout, thread)
#define LAYOUT_NUMBERS (offsetof(rb_rpp_vm_layout, iseq) + sizeof((rb_rpp_vm_layout){0}.iseq) - LAYOUT_BEGIN)

size_t rb_rpp_testing_layout_numbers(void)
{
    return LAYOUT_NUMBERS;
}

const rb_rpp_vm_layout *rb_rpp_testing_layout(const rb_rpp_vm_layout *layout)
{
    static rb_rpp_vm_layout wrong;
    static const char prefix[] = "layout:";
    if (!layout || !to_break || strncmp(to_break, prefix, sizeof prefix - 1) != 0) return layout;
    size_t number = (size_t)atoi(to_break + sizeof prefix - 1);
    if (number >= LAYOUT_NUMBERS) return layout;
    wrong = *layout;
    ((unsigned char *)&wrong)[LAYOUT_BEGIN + number]++;
    return &wrong;
}

/* --- jobs --- */

/* In a forked child another thread may be the first. */
void rb_rpp_testing_in_job(bool works)
{
    if (!works) {
        atomic_fetch_add(&jobs_left, 1);
    } else if (rb_thread_main() != first_thread_of_main && getpid() == pid) {
        rb_rpp_testing_abort("a job works in another Ractor\n");
    }
}

unsigned long rb_rpp_testing_jobs_left(void)
{
    return atomic_load(&jobs_left);
}

/* As if the calling thread did not get a processor for a while. */
void rb_rpp_testing_triggering(void)
{
    if (!triggers_slowly) return;
    unsigned long before = atomic_load(&gcs_entered);
    struct timespec a_while = {0, (long)(5 * RPP_NS_PER_MS)};
    nanosleep(&a_while, NULL);
    if (atomic_load(&gcs_left) > before) rb_rpp_testing_abort("a whole GC passed while a job was being triggered\n");
}

void rb_rpp_testing_gc_entered(void)
{
    atomic_fetch_add(&gcs_entered, 1);
}

void rb_rpp_testing_gc_left(void)
{
    atomic_fetch_add(&gcs_left, 1);
}

#endif
