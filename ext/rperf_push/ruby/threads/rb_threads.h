/* rb_threads.h - the profiled threads: one record each, with its ledger.
 *
 * Vocabulary
 *   in_ruby  between THREAD_BEGIN and THREAD_END. Only then does the thread have a stack that may be walked.
 *
 * Threads    a record is changed by its own thread, or by the thread that holds the GVL while the record's thread does
 *            not. The list is changed and walked under the GVL. Other threads use only the atomic fields.
 * Ownership  records are reused and never freed, so that a late signal always finds a record.
 */
#ifndef RB_THREADS_H
#define RB_THREADS_H

#include "vm/rb_compat.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/calls/call_states.h"
#include "core/sampling/thread_ledger.h"

/* The places for sessions (rb_subscribers.h). A session receives samples through its subscriber. */
typedef enum rb_rpp_subscriber {
    RB_RPP_CONTINUOUS,
    RB_RPP_ON_DEMAND,                  /* RperfPush.start */
    RB_RPP_RECORDED,                   /* `rperf-push record` */
    RB_RPP_SIDE,                       /* the first of four for SideSession in Ruby, which looks in from within */
    RB_RPP_ATTACHED = RB_RPP_SIDE + 4, /* the first of four for peers of the control socket */
    RB_RPP_SUBSCRIBERS = RB_RPP_ATTACHED + 4
} rb_rpp_subscriber;

typedef struct rb_rpp_thread {
    struct rb_rpp_thread *next, *previous; /* in the list of living threads; NULL: none */
    VALUE thread;                          /* may be used until `ended` */
    uint32_t seq;                          /* 1-based, in order of first sight */
    uint32_t windows[RB_RPP_SUBSCRIBERS];  /* the windows its time belongs to */
    uint32_t boundaries;                   /* the thread is flushed up to this number of them (rb_rotation.h) */
    bool in_ruby;
    bool interrupted; /* its signal handler captures, at any instruction */
    bool refused;     /* the VM or a table was not in a state for the last capture */
    _Atomic bool ended;
    _Atomic uint64_t looked_at_ns; /* the last tick, or the start */
    _Atomic uint64_t resumed_ns;   /* when it began to run */
    _Atomic uint64_t asked_turn;   /* how it asked for the GVL (rb_hooks.c) */
    clockid_t cpu_clock;           /* if the ledger has one */
    pid_t tid;                     /* the kernel's; 0: unknown */
    rpp_thread_ledger ledger;
    rpp_call_thread calls; /* while calls are traced, and */
    bool could_run;        /* whether its status was "run" shortly before */
#if RB_RPP_HAVE_THREAD_TIMERS
    timer_t timer;
#endif
    bool has_timer;
    volatile bool in_job;  /* our job runs on this thread, and takes its pending tick at the end */
    volatile bool ticking; /* the timer is set, or waits (below) */
    volatile bool waits;   /* the timer is set, or created, when the thread runs again */
} rb_rpp_thread;

/* All ledgers use the same rules. */
extern rpp_ledger_rules rb_rpp_rules;

/* The sampling period in force. */
static inline uint64_t rb_rpp_period_ns(void)
{
    return atomic_load_explicit(&rb_rpp_rules.period_ns, memory_order_relaxed);
}

/* Creates the key that finds a record. Call it once per process, in the main Ractor. */
void rb_rpp_threads_init(void);
/* True if the calling thread belongs to the main Ractor, the only one that is profiled and runs our jobs. Any Ruby
 * thread. */
bool rb_rpp_in_main_ractor(void);

/* What a thread object carries: nothing, a record's address, or its start, which is odd. Use it through the
 * functions. */
extern rb_internal_thread_specific_key_t rb_rpp_threads_key;
#define RB_RPP_THREAD_IS_START ((uintptr_t)1)

/* Returns NULL if the thread has no record. Any context. */
static inline rb_rpp_thread *rb_rpp_thread_of(VALUE thread)
{
    void *carried = rb_internal_thread_specific_get(thread, rb_rpp_threads_key);
    return (uintptr_t)carried & RB_RPP_THREAD_IS_START ? NULL : (rb_rpp_thread *)carried;
}

/* Creates a record and opens its ledger. Uses plain malloc. Returns NULL if out of memory. */
rb_rpp_thread *rb_rpp_thread_register(VALUE thread, uint64_t now_ns);
/* Creates a record for each living thread of this Ractor that has none, and tells of it. In a method or job: it
 * allocates. */
void rb_rpp_threads_register_all(uint64_t now_ns, void (*registered)(rb_rpp_thread *thread));
/* Stores the start time in a thread that has no record yet. */
void rb_rpp_thread_set_start(VALUE thread, uint64_t now_ns);
/* Returns 0 if the thread carries no start time. */
uint64_t rb_rpp_thread_start_ns(VALUE thread, uint64_t now_ns);
/* True if the thread carries its start and has not run. */
bool rb_rpp_thread_is_unmet(VALUE thread);
/* True if the calling thread is about to run for the first time and still carries its start. If THREAD_BEGIN does not
 * follow, the thread belongs to another Ractor and is not profiled. */
bool rb_rpp_thread_is_first_run(VALUE thread);
/* On the thread, after its last Ruby code. The record is free from now on: it does not wait for a walk, which may never
 * come. */
void rb_rpp_thread_discard(rb_rpp_thread *thread);

extern bool rb_rpp_threads_share; /* use it through the function */

/* True with RUBY_MN_THREADS: a thread moves between native threads. */
static inline bool rb_rpp_threads_share_native_ones(void)
{
    return rb_rpp_threads_share;
}

void rb_rpp_thread_search_clock(rb_rpp_thread *thread);
/* Finds the CPU clock of the calling thread if it is unknown or has changed. */
static inline void rb_rpp_thread_find_clock(rb_rpp_thread *thread)
{
    if (!thread->ledger.has_cpu_clock) rb_rpp_thread_search_clock(thread);
}

/* With shared native threads, call it before the calling thread lets others run. Read its clock first. */
void rb_rpp_thread_leave_clock(rb_rpp_thread *thread);
/* With shared native threads, the VM sometimes reports that a thread ran only when it stops. This finds the thread's
 * clock then, and returns the CPU time that it used. */
uint64_t rb_rpp_thread_find_unseen_run(rb_rpp_thread *thread);
/* Returns 0 if the clock is unknown or the thread has ended. */
uint64_t rb_rpp_thread_cpu_ns(rb_rpp_thread *thread);

/* What we know of a thread without the GVL. The fields are read one after the other, so they may not fit together. */
typedef struct rb_rpp_glimpse {
    uint32_t seq;
    pid_t tid;                     /* 0: unknown */
    uint64_t ready_ns, resumed_ns; /* 0: it is not ready; 0: unknown */
    clockid_t cpu_clock;
    bool has_cpu_clock;
} rb_rpp_glimpse;

/* Reads at most `most` threads and returns their number. Any thread of ours. */
size_t rb_rpp_threads_glimpse(rb_rpp_glimpse *into, size_t most);

/* Walk the list. The walk removes threads that ended without having run. */
rb_rpp_thread *rb_rpp_threads_first(void);
rb_rpp_thread *rb_rpp_threads_next(rb_rpp_thread *thread);
/* In a forked child, on the thread that forked, any context: only that thread remains. The next call that reads the
 * list updates it. */
void rb_rpp_threads_discard_after_fork(void);

#endif
