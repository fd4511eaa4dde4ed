/* rb_threads.c - the threads being profiled: one record each, with its ledger. */
#include "threads/rb_threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stats.h"
#include "vm/rb_probes.h"
#include "vm/rb_proc_task.h"
#include "vm/rb_thread_methods.h"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

static uint64_t cpu_clock_of(void *thread);

rpp_ledger_rules rb_rpp_rules = {.period_ns = RPP_NS_PER_S, .tick_ns = 4 * RPP_NS_PER_MS, .cpu_ns = cpu_clock_of};
rb_internal_thread_specific_key_t rb_rpp_threads_key;
static rb_ractor_local_key_t mark_of_main_ractor; /* no other Ractor has anything there */
static rb_rpp_thread *living, *unused;
static uint32_t last_seq, living_count;
static bool inherited;          /* the list is the parent's, and we are a forked child */
static rb_rpp_thread *survivor; /* then: of the thread that forked; NULL: it has none */
bool rb_rpp_threads_share;
/* The last thread that ran on this native thread. Used only if threads share native ones. */
static _Thread_local rb_rpp_thread *last_here;
/* This native thread's CPU clock when that one stopped. */
static _Thread_local uint64_t left_here_ns;

void rb_rpp_threads_init(void)
{
    const char *mn_threads = getenv("RUBY_MN_THREADS");
    rb_rpp_threads_share = mn_threads && atoi(mn_threads) > 0;
    rb_rpp_thread_methods_init();
    rb_rpp_threads_key = rb_internal_thread_specific_key_create();
    static const struct rb_ractor_local_storage_type unmanaged = {NULL, NULL};
    mark_of_main_ractor = rb_ractor_local_storage_ptr_newkey(&unmanaged);
    rb_ractor_local_storage_ptr_set(mark_of_main_ractor, &mark_of_main_ractor);
#ifdef CLOCK_MONOTONIC_COARSE
    struct timespec tick; /* the coarse clock goes as the kernel ticks */
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && !tick.tv_sec && tick.tv_nsec)
        rb_rpp_rules.tick_ns = (uint64_t)tick.tv_nsec;
#endif
}

bool rb_rpp_in_main_ractor(void)
{
    return rb_ractor_local_storage_ptr(mark_of_main_ractor) != NULL;
}

/* --- what a thread carries: nothing, its start, or its record --- */

/* A start time is no address, as it is odd: microseconds, of which the lowest bits are enough for a difference. */
#define IS_START    RB_RPP_THREAD_IS_START
#define HAS_RUN     ((uintptr_t)2)
#define START_SHIFT 2

static uintptr_t carried_by(VALUE thread)
{
    return (uintptr_t)rb_internal_thread_specific_get(thread, rb_rpp_threads_key);
}

void rb_rpp_thread_set_start(VALUE thread, uint64_t now)
{
    uintptr_t start = (uintptr_t)(now / RPP_NS_PER_US) << START_SHIFT | IS_START;
    rb_internal_thread_specific_set(thread, rb_rpp_threads_key, (void *)start);
}

uint64_t rb_rpp_thread_start_ns(VALUE thread, uint64_t now)
{
    uintptr_t carried = carried_by(thread);
    if (!(carried & IS_START)) return 0;
    uintptr_t age_us = ((uintptr_t)(now / RPP_NS_PER_US) - (carried >> START_SHIFT)) & UINTPTR_MAX >> START_SHIFT;
    return now - age_us * RPP_NS_PER_US;
}

bool rb_rpp_thread_is_unmet(VALUE thread)
{
    return (carried_by(thread) & (IS_START | HAS_RUN)) == IS_START;
}

bool rb_rpp_thread_is_first_run(VALUE thread)
{
    uintptr_t carried = carried_by(thread);
    if (!rb_rpp_thread_is_unmet(thread)) return false;
    rb_internal_thread_specific_set(thread, rb_rpp_threads_key, (void *)(carried | HAS_RUN));
    return true;
}

/* Not a sum of steps: a fork sets the statistics to zero. */
static void count_living(uint32_t count)
{
    living_count = count;
    rpp_stats_set(RPP_STAT_threads_known, count);
}

static rb_rpp_thread *take_unused(void)
{
    if (!unused) return rpp_calloc(1, sizeof(rb_rpp_thread));
    rb_rpp_thread *t = unused;
    unused = t->next;
    return t;
}

/* What the clock showed until `since_ns` does not count. */
static void clock_at(rb_rpp_thread *t, clockid_t clock, uint64_t since_ns)
{
    t->cpu_clock = clock;
    rpp_ledger_clocked(&t->ledger, since_ns);
}

static void adopt_self(rb_rpp_thread *t, uint64_t since_ns)
{
    clockid_t clock;
    if (pthread_getcpuclockid(pthread_self(), &clock) != 0) return;
    clock_at(t, clock, since_ns);
#if defined(__linux__)
    t->tid = (pid_t)syscall(SYS_gettid);
#endif
}

static void recycle(rb_rpp_thread *t)
{
    rpp_ledger_relabelled(&t->ledger, NULL);
    t->next = unused;
    unused = t;
    count_living(living_count - 1);
}

static void add_to_living(rb_rpp_thread *t)
{
    t->previous = NULL;
    t->next = living;
    if (living) living->previous = t;
    living = t;
}

static void remove_from_living(rb_rpp_thread *t)
{
    if (t->next) t->next->previous = t->previous;
    *(t->previous ? &t->previous->next : &living) = t->next;
    recycle(t);
}

/* Call it before the child registers its first thread or walks the list. This may be on a thread that the child has
 * started. */
static void drop_inherited(void)
{
    if (!inherited) return;
    inherited = false;
    rb_rpp_thread *t = living;
    living = NULL;
    while (t) {
        rb_rpp_thread *next = t->next;
        if (t == survivor) {
            add_to_living(t);
        } else {
            recycle(t);
        }
        t = next;
    }
    count_living(living ? 1 : 0);
}

void rb_rpp_threads_discard_after_fork(void)
{
    inherited = true;
    survivor = ruby_native_thread_p() ? rb_rpp_thread_of(rb_thread_current()) : NULL;
    if (!survivor) return;
    rpp_ledger_discard(&survivor->ledger, rpp_random_seed(), rpp_monotonic_ns());
    survivor->has_timer = survivor->ticking = survivor->waits = false; /* timers are not inherited, */
    adopt_self(survivor, rpp_thread_cpu_ns());                         /* and the thread has a new id */
}

static uint64_t random_seed(void)
{
    static uint64_t state;
    if (!state) state = rpp_random_seed() | 1;
    return rpp_random_next(&state);
}

rb_rpp_thread *rb_rpp_thread_register(VALUE thread, uint64_t now_ns)
{
    drop_inherited();
    rb_rpp_thread *t = take_unused();
    if (!t) return NULL;
    rpp_ledger_open(&t->ledger, &rb_rpp_rules, t, random_seed(), now_ns);
    t->thread = thread;
    t->seq = ++last_seq;
    t->in_ruby = t->interrupted = t->refused = t->in_job = false;
    atomic_store(&t->ended, false);
    atomic_store(&t->looked_at_ns, now_ns);
    t->has_timer = t->ticking = t->waits = false;
    t->tid = 0;
    rpp_call_thread_begin(&t->calls, true, false, now_ns);
    add_to_living(t);
    rb_internal_thread_specific_set(thread, rb_rpp_threads_key, t);
    count_living(living_count + 1);
    return t;
}

void rb_rpp_thread_discard(rb_rpp_thread *t)
{
    rb_internal_thread_specific_set(t->thread, rb_rpp_threads_key, NULL);
    atomic_store(&t->ended, true);
    drop_inherited();
    remove_from_living(t);
}

/* A thread's first clock shows the CPU time since its start. If a thread returns to the same native thread, and no
 * other thread used it in between, the CPU time since then was used off the GVL. */
void rb_rpp_thread_search_clock(rb_rpp_thread *t)
{
    pid_t before = t->tid;
    bool same = !rb_rpp_threads_share || last_here == t;
    adopt_self(t, t->ledger.clocks.cpu_known_ns);
    if (!rb_rpp_threads_share) return;
    if (!same || t->tid != before) rpp_ledger_clocked(&t->ledger, rb_rpp_thread_cpu_ns(t));
    last_here = t;
}

void rb_rpp_thread_leave_clock(rb_rpp_thread *t)
{
    rpp_ledger_unclocked(&t->ledger);
    last_here = t;
    left_here_ns = t->ledger.clocks.cpu_known_ns;
}

uint64_t rb_rpp_thread_find_unseen_run(rb_rpp_thread *t)
{
    if (!rb_rpp_threads_share || !left_here_ns) return 0;
    adopt_self(t, left_here_ns);
    return rb_rpp_thread_cpu_ns(t) - left_here_ns;
}

static uint64_t cpu_clock_of(void *thread)
{
    RB_RPP_PROBE(reads_cpu_clock);
    return rpp_cpu_clock_ns(((rb_rpp_thread *)thread)->cpu_clock);
}

uint64_t rb_rpp_thread_cpu_ns(rb_rpp_thread *t)
{
    return t->ledger.has_cpu_clock ? cpu_clock_of(t) : 0;
}

/* Threads that began before we did: their native id leads to their clock where the system lets it. */
static void adopt_existing(rb_rpp_thread *t)
{
    t->in_ruby = true;
    if (t->thread == rb_thread_current()) {
        rb_rpp_thread_find_clock(t);
    }
#if defined(__linux__)
    else if (!rb_rpp_threads_share) {
        t->tid = rb_rpp_thread_native_id(t->thread);
        if (t->tid) clock_at(t, RB_RPP_CPU_CLOCK_OF_TASK(t->tid), 0);
    }
#endif
    if (t->ledger.has_cpu_clock) rpp_ledger_clocked(&t->ledger, rb_rpp_thread_cpu_ns(t));
}

void rb_rpp_threads_register_all(uint64_t now_ns, void (*registered)(rb_rpp_thread *thread))
{
    VALUE threads = rb_rpp_thread_list();
    for (long i = 0; i < RARRAY_LEN(threads); i++) {
        VALUE thread = RARRAY_AREF(threads, i);
        if (rb_rpp_thread_of(thread)) continue;
        rb_rpp_thread *t = rb_rpp_thread_register(thread, now_ns);
        if (!t) continue;
        adopt_existing(t);
        registered(t);
    }
    RB_GC_GUARD(threads);
}

/* Records are never freed, so a list that changes meanwhile leads to another record, or to the end of the unused
 * ones. */
size_t rb_rpp_threads_glimpse(rb_rpp_glimpse *into, size_t most)
{
    size_t count = 0, looked = 0;
    const rb_rpp_thread *volatile first = inherited ? survivor : living;
    for (const rb_rpp_thread *t = first; t && count < most && looked < 8 * most; t = t->next, looked++) {
        if (atomic_load(&t->ended)) continue;
        into[count++] = (rb_rpp_glimpse){.seq = t->seq,
                                         .tid = t->tid,
                                         .ready_ns = atomic_load(&t->ledger.asked_ns),
                                         .resumed_ns = atomic_load(&t->resumed_ns),
                                         .cpu_clock = t->cpu_clock,
                                         .has_cpu_clock = t->ledger.has_cpu_clock};
    }
    return count;
}

static rb_rpp_thread *skip_ended(rb_rpp_thread *t)
{
    while (t && atomic_load(&t->ended)) {
        rb_rpp_thread *gone = t;
        t = gone->next;
        remove_from_living(gone);
    }
    return t;
}

rb_rpp_thread *rb_rpp_threads_first(void)
{
    drop_inherited();
    return skip_ended(living);
}

rb_rpp_thread *rb_rpp_threads_next(rb_rpp_thread *thread)
{
    return skip_ended(thread->next);
}
