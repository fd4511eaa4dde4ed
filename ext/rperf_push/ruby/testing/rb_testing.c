/* rb_testing.c - what the testing build does at the probes: the rate of ticks, broken promises, counts. */
#include "testing/rb_testing.h"

#ifdef RPP_TESTING

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "vm/rb_probes.h"

static const char *to_break;
static _Atomic unsigned long readings, jobs_left;
static bool triggers_slowly;
static _Atomic unsigned long gcs_entered, gcs_left;
/* A Ractor knows its own first thread. */
static VALUE first_thread_of_main;
static pid_t pid;

/* Ruby 4.0 handles SIGABRT: its report would allocate, and wait for ever where the promise is broken inside malloc. */
void rb_rpp_testing_abort(const char *broken)
{
    static const char prefix[] = "rperf-push testing build: ";
    signal(SIGABRT, SIG_DFL);
    if (write(STDERR_FILENO, prefix, sizeof prefix - 1) < 0 || write(STDERR_FILENO, broken, strlen(broken)) < 0)
        abort();
    abort();
}

static bool breaks(const char *promise)
{
    return to_break && strcmp(to_break, promise) == 0;
}

/* --- captures and walks --- */

static void *nothing(void *unused)
{
    return NULL;
}

static void capture_ends(bool at_safepoint)
{
    if (breaks("allocate")) rb_str_new_cstr("an object");
    if (breaks("collect")) rb_gc_start();
    if (at_safepoint && breaks("switch")) rb_thread_call_without_gvl(nothing, NULL, NULL, NULL);
}

/* Moving objects, the GC moves what the walk reads. */
static void walk_begins(bool in_handler)
{
    if (in_handler && rb_during_gc()) rb_rpp_testing_abort("a tick was taken in the GC\n");
}

static void in_walk(void)
{
    const volatile char *volatile nowhere = (const char *)sizeof(VALUE);
    if (breaks("fault")) (void)*nowhere;
}

static void reads_cpu_clock(void)
{
    atomic_fetch_add_explicit(&readings, 1, memory_order_relaxed);
}

unsigned long rb_rpp_testing_cpu_clock_readings(void)
{
    return atomic_load(&readings);
}

/* --- the layout --- */

/* The numbers of walks are bytes, one after the other. Those of events come after them. */
#define LAYOUT_BEGIN   offsetof(rb_rpp_vm_layout, thread)
#define LAYOUT_NUMBERS (offsetof(rb_rpp_vm_layout, iseq) + sizeof((rb_rpp_vm_layout){0}.iseq) - LAYOUT_BEGIN)

size_t rb_rpp_testing_layout_numbers(void)
{
    return LAYOUT_NUMBERS;
}

static const rb_rpp_vm_layout *layout_to_verify(const rb_rpp_vm_layout *layout)
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
static void job_begins(bool works)
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
static void triggers_job(void)
{
    if (!triggers_slowly) return;
    unsigned long before = atomic_load(&gcs_entered);
    struct timespec a_while = {0, (long)(5 * RPP_NS_PER_MS)};
    nanosleep(&a_while, NULL);
    if (atomic_load(&gcs_left) > before) rb_rpp_testing_abort("a whole GC passed while a job was being triggered\n");
}

static void gc_entered(void)
{
    atomic_fetch_add(&gcs_entered, 1);
}

static void gc_left(void)
{
    atomic_fetch_add(&gcs_left, 1);
}

/* --- all of them --- */

static uint64_t wanted_period_ns(void)
{
    const char *hz = getenv("RPERF_PUSH_TESTING_HZ");
    int rate = hz ? atoi(hz) : 0;
    return rate > 0 && rate <= 5000 ? RPP_NS_PER_S / (uint64_t)rate : 0;
}

void rb_rpp_testing_init(void)
{
    to_break = getenv("RPERF_PUSH_TESTING_BREAK");
    triggers_slowly = getenv("RPERF_PUSH_TESTING_SLOW_TRIGGER") != NULL;
    first_thread_of_main = rb_thread_main();
    pid = getpid();
    rb_rpp_probed = (rb_rpp_probes){.period_ns = wanted_period_ns(),
                                    .breaks = breaks,
                                    .layout = layout_to_verify,
                                    .walk_begins = walk_begins,
                                    .in_walk = in_walk,
                                    .capture_ends = capture_ends,
                                    .reads_cpu_clock = reads_cpu_clock,
                                    .job_begins = job_begins,
                                    .triggers_job = triggers_job,
                                    .gc_entered = gc_entered,
                                    .gc_left = gc_left};
    rb_rpp_testing_heap_init();
}

#endif
