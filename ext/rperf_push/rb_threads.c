/* rb_threads.c - the threads being profiled: one record each, its clocks and what it is doing. */
#include "rb_threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/stats.h"

#if defined(__linux__)
#include <sys/syscall.h>
/* The kernel's encoding of "CPU clock of the thread with this id" (see clock_getcpuclockid in any C library). */
#define CPU_CLOCK_OF_TID(tid) ((clockid_t)((~(unsigned)(tid) << 3) | 6u))
#endif

static rb_internal_thread_specific_key_t key;
static rb_rpp_thread *living, *unused;
static uint32_t last_seq, living_count;
static bool inherited; /* the list is the parent's, and we are a forked child */
static bool share_native_threads;
/* Who ran last on this native thread. Looked at only where threads share them. */
static _Thread_local rb_rpp_thread *last_here;
/* This native thread's CPU clock when that one stopped. */
static _Thread_local uint64_t left_here_ns;

void rb_rpp_threads_init(void)
{
    const char *mn_threads = getenv("RUBY_MN_THREADS");
    share_native_threads = mn_threads && atoi(mn_threads) > 0;
    key = rb_internal_thread_specific_key_create();
}

rb_rpp_thread *rb_rpp_thread_of(VALUE thread)
{
    return rb_internal_thread_specific_get(thread, key);
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

static void adopt_self(rb_rpp_thread *t)
{
    clockid_t clock;
    if (pthread_getcpuclockid(pthread_self(), &clock) != 0) return;
    t->cpu_clock = clock;
    t->has_cpu_clock = true;
#if defined(__linux__)
    t->tid = (pid_t)syscall(SYS_gettid);
#endif
}

static void recycle(rb_rpp_thread *t)
{
    rpp_thread_clocks_reset(&t->clocks, 0, 0);
    t->next = unused;
    unused = t;
    count_living(living_count - 1);
}

/* Before the child's first thread is known, or the list is walked: only the calling thread is left. */
static void drop_inherited(void)
{
    if (!inherited) return;
    inherited = false;
    const rb_rpp_thread *survivor = rb_rpp_thread_of(rb_thread_current());
    rb_rpp_thread *t = living;
    living = NULL;
    while (t) {
        rb_rpp_thread *next = t->next;
        if (t == survivor) {
            t->next = NULL;
            t->has_timer = t->ticking = false; /* timers are not inherited, */
            adopt_self(t);                     /* and the thread has a new id */
            living = t;
        } else {
            recycle(t);
        }
        t = next;
    }
    count_living(living ? 1 : 0);
}

void rb_rpp_threads_forget_after_fork(void)
{
    inherited = true;
}

rb_rpp_thread *rb_rpp_thread_register(VALUE thread, uint64_t now_ns)
{
    drop_inherited();
    rb_rpp_thread *t = take_unused();
    if (!t) return NULL;
    t->busy = true;
    rpp_thread_clocks_reset(&t->clocks, now_ns, 0);
    t->thread = thread;
    t->seq = ++last_seq;
    t->settled = 0;
    t->phase = RB_RPP_BLOCKED;
    t->doing = RPP_STATE_RUNNING;
    t->in_ruby = t->ended = t->has_cpu_clock = false;
    atomic_store(&t->exited, false);
    atomic_store(&t->ignored, false);
    atomic_store(&t->ready_ns, 0);
    t->unheard_until_ns = 0;
    atomic_store(&t->captured_ns, now_ns);
    t->has_timer = t->ticking = false;
    t->tid = 0;
    t->next = living;
    living = t;
    rb_internal_thread_specific_set(thread, key, t);
    count_living(living_count + 1);
    t->busy = false;
    return t;
}

void rb_rpp_thread_ignore(rb_rpp_thread *t)
{
    t->ended = true;
    if (!atomic_exchange(&t->ignored, true)) rpp_stats_add(RPP_STAT_ractor_threads_ignored, 1);
}

bool rb_rpp_threads_share_native_ones(void)
{
    return share_native_threads;
}

/* Back on the same native thread, with nobody else on it in between, CPU time since then was burnt off the GVL. */
void rb_rpp_thread_find_clock(rb_rpp_thread *t)
{
    if (t->has_cpu_clock) return;
    pid_t before = t->tid;
    adopt_self(t);
    if (!share_native_threads) return;
    if (last_here != t || t->tid != before) t->clocks.cpu_mark_ns = rb_rpp_thread_cpu_ns(t);
    last_here = t;
}

void rb_rpp_thread_leave_clock(rb_rpp_thread *t)
{
    if (!share_native_threads) return;
    t->has_cpu_clock = false;
    last_here = t;
    left_here_ns = t->clocks.cpu_mark_ns;
}

uint64_t rb_rpp_thread_find_unseen_run(rb_rpp_thread *t)
{
    if (!share_native_threads || !left_here_ns) return 0;
    adopt_self(t);
    t->clocks.cpu_mark_ns = left_here_ns;
    return rb_rpp_thread_cpu_ns(t) - left_here_ns;
}

uint64_t rb_rpp_thread_cpu_ns(const rb_rpp_thread *t)
{
    return t->has_cpu_clock ? rpp_cpu_clock_ns(t->cpu_clock) : 0;
}

/* Threads that began before we did: their native id leads to their clock where the system lets it. */
static void adopt_existing(rb_rpp_thread *t)
{
    t->in_ruby = true;
    if (t->thread == rb_thread_current()) {
        rb_rpp_thread_find_clock(t);
        t->phase = RB_RPP_RUNNING;
    }
#if defined(__linux__)
    else if (!share_native_threads) {
        VALUE tid = rb_funcall(t->thread, rb_intern("native_thread_id"), 0);
        if (FIXNUM_P(tid)) {
            t->tid = (pid_t)FIX2LONG(tid);
            t->cpu_clock = CPU_CLOCK_OF_TID(t->tid);
            t->has_cpu_clock = true;
        }
    }
#endif
    t->clocks.cpu_mark_ns = rb_rpp_thread_cpu_ns(t);
}

void rb_rpp_threads_register_all(uint64_t now_ns)
{
    VALUE threads = rb_funcall(rb_cThread, rb_intern("list"), 0);
    for (long i = 0; i < RARRAY_LEN(threads); i++) {
        VALUE thread = RARRAY_AREF(threads, i);
        if (rb_rpp_thread_of(thread)) continue;
        rb_rpp_thread *t = rb_rpp_thread_register(thread, now_ns);
        if (t) adopt_existing(t);
    }
    RB_GC_GUARD(threads);
}

static rb_rpp_thread *skip_exited(rb_rpp_thread **link)
{
    while (*link && atomic_load(&(*link)->exited)) {
        rb_rpp_thread *gone = *link;
        *link = gone->next;
        recycle(gone);
    }
    return *link;
}

rb_rpp_thread *rb_rpp_threads_first(void)
{
    drop_inherited();
    return skip_exited(&living);
}

rb_rpp_thread *rb_rpp_threads_next(rb_rpp_thread *thread)
{
    return skip_exited(&thread->next);
}
