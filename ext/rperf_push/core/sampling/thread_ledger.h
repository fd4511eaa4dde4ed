/* thread_ledger.h - one thread's time: what the thread does, since when, and what time is due for a capture.
 *
 * Code that receives an event of a thread calls a verb of its ledger, and the answer says what is due. The ledger knows
 * what the thread does and decides when to read its CPU clock. Its clocks divide CPU time among states
 * (thread_clocks.h), its account makes samples of the time (time_account.h). A tick samples the stack and the labels of
 * its instant (tick_thinning.h).
 *
 * Reading a CPU clock is a system call, so it is read only where it matters. An event of `read_event_ns` or longer is
 * read at its end; time before an event is read at the event's start if it was long enough. Shorter events are chosen
 * at random before they begin; each one that is read stands for all.
 *
 * Vocabulary
 *   event     a wait off the GVL, or a GC pause.
 *   finding   an instant of another thread's choice at which the thread held the GVL, and what its CPU clock showed
 *             then. The thread may have been off its core, so its share on a core since the previous finding is what a
 *             finding weighs. Findings that come late leave out young code: late_ticks.h gives it its share.
 *
 * Threads    one at a time: the thread itself, or the thread that holds the GVL while this one does not run; `asked`:
 *            any thread. Nothing allocates. Async-signal-safe, except functions that release labels: relabelled and
 *            open.
 * Ownership  a ledger holds one reference to its labels.
 */
#ifndef RPP_THREAD_LEDGER_H
#define RPP_THREAD_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampling/label_sets.h"
#include "sampling/late_ticks.h"
#include "sampling/sample_buffer.h"
#include "sampling/thread_clocks.h"
#include "sampling/tick_thinning.h"
#include "sampling/time_account.h"

/* One short event in this many is read at both ends. */
#define RPP_LEDGER_READ_ONE_IN 16u

/* Common to all threads. */
typedef struct rpp_ledger_rules {
    _Atomic uint64_t period_ns;       /* the current sampling period */
    uint64_t tick_ns;                 /* between two kernel ticks */
    uint64_t read_run_ns;             /* a run on the GVL is read at its end if it lasted this long */
    uint64_t read_event_ns;           /* the same for an event */
    uint64_t (*cpu_ns)(void *thread); /* reads its CPU clock, if has_cpu_clock */
    rpp_late_ticks *late_ticks;       /* of all threads' findings; NULL: nothing is found */
} rpp_ledger_rules;

typedef enum rpp_due {
    RPP_DUE_NOTHING,
    RPP_DUE_CAPTURE, /* capture the current stack and take what is due */
} rpp_due;

typedef struct rpp_thread_ledger {
    const rpp_ledger_rules *rules;
    void *thread; /* for rules->cpu_ns */
    rpp_label_set *labels;
    _Atomic uint8_t doing;     /* rpp_state; BLOCKED also stands for WAITING, which is known only at the end */
    _Atomic uint64_t asked_ns; /* when it asked for the GVL; 0: it has not */
    uint64_t ticked_cpu_ns;
    rpp_thinning thinning;
    volatile bool busy;    /* in a section: a handler on the same thread must not use it */
    volatile bool pending; /* a tick came during the section */
    bool has_cpu_clock;
    bool may_have_asked; /* for the GVL, before sampling began: no event has come since */
    bool read_at_begin;  /* of the event in progress, which was chosen at random */
    uint64_t coins;      /* for the next events */
    rpp_thread_clocks clocks;
    rpp_time_account account;
    rpp_time ran_since_found;
    uint64_t on_gvl_ns;        /* CPU time since it got the GVL; RPP_ON_GVL_UNKNOWN */
    rpp_late_ticks late_ticks; /* of its own findings */
} rpp_thread_ledger;

/* --- life --- */

/* Starts or restarts the ledger: a thread begins off the GVL, without a CPU clock. Releases the labels. Zero the struct
 * before the first call. `random` is any number. */
void rpp_ledger_open(rpp_thread_ledger *ledger, const rpp_ledger_rules *rules, void *thread, uint64_t random,
                     uint64_t now_ns);
/* In a forked child: drops the parent's time and keeps the labels. Async-signal-safe. */
void rpp_ledger_discard(rpp_thread_ledger *ledger, uint64_t random, uint64_t now_ns);
/* The thread has a CPU clock from now on. Time up to `cpu_ns` does not count. */
void rpp_ledger_clocked(rpp_thread_ledger *ledger, uint64_t cpu_ns);
/* The thread has no CPU clock from now on, so its CPU time is unknown. */
void rpp_ledger_unclocked(rpp_thread_ledger *ledger);
/* Sampling begins after a pause, whose time does not count. */
void rpp_ledger_resumed(rpp_thread_ledger *ledger, bool runs, uint64_t now_ns);
/* Sets the labels. It changes a pointer and reads no clock. */
void rpp_ledger_relabelled(rpp_thread_ledger *ledger, rpp_label_set *labels);
/* Moves all of its time to the totals, or makes it due. */
void rpp_ledger_ended(rpp_thread_ledger *ledger, uint64_t now_ns);

/* --- events. Take what is due before the next verb (time_account.h). --- */

/* Any thread, at any time; the first call counts. */
void rpp_ledger_asked(rpp_thread_ledger *ledger, uint64_t now_ns);
/* `contended`: its wait for the GVL counts (contention.h). */
rpp_due rpp_ledger_got(rpp_thread_ledger *ledger, uint64_t now_ns, bool contended);
rpp_due rpp_ledger_released(rpp_thread_ledger *ledger, uint64_t now_ns);
/* RPP_STATE_GC_*. Within a pause it changes the phase. */
rpp_due rpp_ledger_gc_entered(rpp_thread_ledger *ledger, rpp_state phase, uint64_t now_ns);
rpp_due rpp_ledger_gc_left(rpp_thread_ledger *ledger, uint64_t now_ns);
/* A kernel tick while the thread was on a core. In the GC or off the GVL it samples nothing. */
rpp_due rpp_ledger_ticked(rpp_thread_ledger *ledger, uint64_t now_ns);
/* An instant sampled elsewhere found the thread on a core. */
rpp_due rpp_ledger_sampled(rpp_thread_ledger *ledger, uint64_t weight_ns, uint64_t now_ns);
/* Instants sampled by the wall clock found the thread with the GVL, the last one `at` by the CPU clock and the wall
 * clock. It may have slept with the GVL, or waited for a core, so they are weighted. */
rpp_due rpp_ledger_found(rpp_thread_ledger *ledger, uint64_t weight_ns, rpp_time at, uint64_t now_ns);
/* Reads the clocks; a completed gap becomes due. */
rpp_due rpp_ledger_note_tick(rpp_thread_ledger *ledger, uint64_t now_ns);
/* The CPU time until the next tick that may be taken. */
uint64_t rpp_ledger_silent_ns(rpp_thread_ledger *ledger);
/* The same right after `ticked`, with the reading of that call. */
uint64_t rpp_ledger_silent_after_tick_ns(rpp_thread_ledger *ledger);
/* A window ends: the time of a wait in progress becomes due, the rest goes to the totals. A running thread is sampled
 * with almost no weight, in case no tick found it in the whole window. */
rpp_due rpp_ledger_bounded(rpp_thread_ledger *ledger, uint64_t boundary_ns);

/* --- taking time. Samples carry a reference to the labels; the caller sets the other fields. --- */

/* The answer of the last verb, until its time is taken. */
rpp_due rpp_ledger_pending(const rpp_thread_ledger *ledger);
/* Moves due time to the totals, if there is no stack for it and it must not go into the next window. */
void rpp_ledger_add_due(rpp_thread_ledger *ledger);
/* False: nothing is due in this state. */
static inline bool rpp_ledger_may_be_due_in(const rpp_thread_ledger *ledger, rpp_state state)
{
    return rpp_account_may_be_due_in(&ledger->account, state);
}
/* Takes the due time of a state. False: none. */
bool rpp_ledger_take_due(rpp_thread_ledger *ledger, rpp_state state, rpp_sample *sample);
/* True if the totals hold a period or more of CPU time; push them before the thread sleeps, possibly for long. */
static inline bool rpp_ledger_total_is_large(const rpp_thread_ledger *ledger)
{
    uint64_t period_ns = atomic_load_explicit(&ledger->rules->period_ns, memory_order_relaxed);
    return rpp_account_total_cpu_ns(&ledger->account) >= period_ns;
}

/* Takes the total of a state. False: none. */
bool rpp_ledger_take_total(rpp_thread_ledger *ledger, rpp_state state, rpp_sample *sample);
/* Returns a sample's time to the ledger if it could not be pushed, and releases its reference, which is never the
 * last. */
void rpp_ledger_untake(rpp_thread_ledger *ledger, const rpp_sample *sample);

/* For any thread: what this thread did a moment ago. */
static inline bool rpp_ledger_holds_gvl(const rpp_thread_ledger *ledger)
{
    return atomic_load_explicit(&ledger->doing, memory_order_relaxed) != RPP_STATE_BLOCKED;
}

static inline bool rpp_ledger_runs(const rpp_thread_ledger *ledger)
{
    return atomic_load_explicit(&ledger->doing, memory_order_relaxed) == RPP_STATE_RUNNING;
}

static inline bool rpp_ledger_is_in_gc(const rpp_thread_ledger *ledger)
{
    return rpp_ledger_holds_gvl(ledger) && !rpp_ledger_runs(ledger);
}

/* --- sections, against a handler on the same thread --- */

/* Until leave, a handler's tick is pending. Returns the argument for leave, because sections nest. */
static inline bool rpp_ledger_enter(rpp_thread_ledger *ledger)
{
    bool was_busy = ledger->busy;
    ledger->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    return was_busy;
}

/* True: a tick is pending and was not reported yet. */
static inline bool rpp_ledger_leave(rpp_thread_ledger *ledger, bool was_busy)
{
    atomic_signal_fence(memory_order_seq_cst);
    bool pending = !was_busy && ledger->pending;
    if (pending) ledger->pending = false;
    ledger->busy = was_busy;
    return pending;
}

/* In the handler: false if it must not use the ledger; the tick is then pending if it would have sampled. */
bool rpp_ledger_is_open_to_ticks(rpp_thread_ledger *ledger);
/* A tick that could not be taken at its instant: the end of the next section reports it. */
void rpp_ledger_keep_tick(rpp_thread_ledger *ledger);

#endif
