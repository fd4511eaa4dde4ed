/* rb_threads.h - the threads being profiled: one record each, its clocks and what it is doing.
 *
 * Vocabulary
 *   phase    what the hooks last said of the thread.
 *   in_ruby  between THREAD_BEGIN and THREAD_END: only then is there a stack that may be walked.
 *   busy     the thread's own hook is changing the record: a signal handler on the same thread keeps out.
 *
 * Threads    a record is changed by its own thread, or by whoever holds the GVL while that thread does not. The list is
 *            changed and walked under the GVL. What is atomic, others write or read.
 * Ownership  records are never given back to malloc but used again, so that a late signal finds a record, not a hole.
 */
#ifndef RB_THREADS_H
#define RB_THREADS_H

#include "rb_compat.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/thread_clocks.h"

/* Who gets samples: see rb_capture.h. */
typedef enum rb_rpp_outlet { RB_RPP_CONTINUOUS, RB_RPP_ON_DEMAND, RB_RPP_OUTLETS } rb_rpp_outlet;

typedef enum rb_rpp_phase { RB_RPP_RUNNING, RB_RPP_BLOCKED } rb_rpp_phase;

typedef struct rb_rpp_thread {
    struct rb_rpp_thread *next;
    VALUE thread;                     /* may be used until `ended` */
    uint32_t seq;                     /* 1-based, in order of first sight */
    uint32_t windows[RB_RPP_OUTLETS]; /* the windows its clocks belong to */
    uint32_t settled;                 /* how often its clocks were closed */
    uint32_t boundaries;              /* of those there were (rb_rotation.h), it is late for none */
    rb_rpp_phase phase;
    rpp_state doing; /* while it holds the GVL: running, or what the GC does on it */
    bool in_ruby, ended;
    volatile bool busy;
    _Atomic bool exited, ignored;
    _Atomic uint64_t ready_ns;    /* when it asked for the GVL; 0: it has not */
    uint64_t unheard_until_ns;    /* it may have asked before then, when nobody listened; 0: it has been heard since */
    _Atomic uint64_t captured_ns; /* last capture while running, or its birth */
    _Atomic uint64_t resumed_ns;  /* when it began to run */
    clockid_t cpu_clock;
    bool has_cpu_clock;
    pid_t tid; /* of the kernel; 0: not known */
    rpp_thread_clocks clocks;
#if RB_RPP_HAVE_THREAD_TIMERS
    timer_t timer;
    uint64_t random;
#endif
    bool has_timer;
    volatile bool ticking; /* the timer is set, or owed */
    volatile bool owed;    /* its tick came when the thread did not run: it is set when the thread runs again */
    uint64_t due_ns;       /* of the clocks' ran_ns: when the next capture is due */
} rb_rpp_thread;

/* Creates the key that finds a record; once a process. */
void rb_rpp_threads_init(void);

/* NULL when the thread has none. Any context. */
rb_rpp_thread *rb_rpp_thread_of(VALUE thread);
/* A record for the thread, its clocks starting now. Plain malloc; NULL when out of memory. */
rb_rpp_thread *rb_rpp_thread_register(VALUE thread, uint64_t now_ns);
/* Records of all living threads of this Ractor that have none yet. In a method only: allocates. */
void rb_rpp_threads_register_all(uint64_t now_ns);
/* The thread is another Ractor's, for which THREAD_BEGIN and THREAD_END do not come: whatever it does is not profiled. It may
 * say so itself meanwhile. */
void rb_rpp_thread_ignore(rb_rpp_thread *thread);
/* RUBY_MN_THREADS: a thread runs on one native thread now and on another one later. */
bool rb_rpp_threads_share_native_ones(void);
/* Finds the CPU clock of the calling thread, where it is not known yet or not the same any more. */
void rb_rpp_thread_find_clock(rb_rpp_thread *thread);
/* The calling thread is about to let others run. Its clock must have been read. */
void rb_rpp_thread_leave_clock(rb_rpp_thread *thread);
/* Where native threads are shared, the VM sometimes lets a thread run and says so only when it stops: finds its clock, and
 * for how long it burnt CPU. */
uint64_t rb_rpp_thread_find_unseen_run(rb_rpp_thread *thread);
/* 0 when the clock is not known, or the thread is gone. */
uint64_t rb_rpp_thread_cpu_ns(const rb_rpp_thread *thread);

/* The list; exited records are taken out on the way. */
rb_rpp_thread *rb_rpp_threads_first(void);
rb_rpp_thread *rb_rpp_threads_next(rb_rpp_thread *thread);
/* In a forked child, any context: only the calling thread is left. It takes effect with the next call that looks at the list. */
void rb_rpp_threads_forget_after_fork(void);

#endif
