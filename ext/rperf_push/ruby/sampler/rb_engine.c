/* rb_engine.c - ticks: where they come from, and what each of them captures. */
#include "sampler/rb_engine.h"

#include <stdatomic.h>

#include "captures/rb_rotation.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "sampler/rb_hooks.h"
#include "threads/rb_overhead.h"
#include "threads/rb_timers.h"
#include "vm/rb_probes.h"
#include "vm/rb_proc_task.h"

/* A thread that has run this many periods without a capture may be asleep with the GVL. */
#define OVERDUE_PERIODS 4u

static _Atomic bool by_signal;
static _Atomic bool signal_lost;  /* the program has changed its handler: see recover_timers */
static rpp_late_ticks late_ticks; /* of what the collector's ticks find */

/* --- ticks --- */

/* A tick of another thread, or of a time before the thread let others run, says nothing of what it does now. */
static bool have_found(const rpp_ticks *ticks, const rb_rpp_thread *t)
{
    return ticks->last.who == t && ticks->last.at.wall_ns >= atomic_load_explicit(&t->resumed_ns, memory_order_relaxed);
}

static rpp_due take_ticks(rb_rpp_thread *t, const rpp_ticks *ticks, uint64_t now)
{
    if (t->has_timer) return rpp_ledger_note_tick(&t->ledger, now); /* it may have slept while it held the GVL */
    if (!have_found(ticks, t)) return RPP_DUE_NOTHING;
    return rpp_ledger_found(&t->ledger, ticks->count * rb_rpp_period_ns(), ticks->last.at, now);
}

void rb_rpp_engine_tick(rb_rpp_thread *t, const rpp_ticks *ticks, uint64_t now)
{
    bool was_busy = rb_rpp_section_begin(t);
    if (rb_rpp_flush_if_late(t)) rb_rpp_capture_if(t, take_ticks(t, ticks, now));
    atomic_store_explicit(&t->looked_at_ns, now, memory_order_relaxed);
    rb_rpp_section_end(t, was_busy);
}

/* In the calling thread's handler. If the thread is late for a window's end, the tick would go into the wrong
 * window. */
static void take_tick(rb_rpp_thread *t, uint64_t now)
{
    uint64_t fixed_ns = RB_RPP_PROBED_PERIOD_NS;
    bool was_busy = rb_rpp_section_begin(t);
    t->interrupted = true;
    bool in_time = rb_rpp_flush_if_late(t);
    t->refused = !in_time;
    if (in_time) {
        rb_rpp_capture_if(t, fixed_ns ? rpp_ledger_sampled(&t->ledger, fixed_ns, now)
                                      : rpp_ledger_ticked(&t->ledger, now));
    }
    t->interrupted = false;
    atomic_store_explicit(&t->looked_at_ns, now, memory_order_relaxed);
    rb_rpp_section_end_in_handler(t, was_busy);
    if (in_time && !fixed_ns) {
        rb_rpp_timer_go_on_after_tick(t);
    } else {
        rb_rpp_timer_go_on(t);
    }
}

/* In the signal handler. A tick that comes during a section is pending, and taken at the end of the section. */
static void on_timer(rb_rpp_thread *t)
{
    if (!rb_rpp_is_sampling()) return;
    rpp_stats_add(RPP_STAT_timer_ticks, 1);
    if (!t->in_ruby || !rpp_ledger_is_open_to_ticks(&t->ledger)) {
        rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
        if (t->ledger.pending) RB_RPP_PROBE(tick_pending, t);
        rb_rpp_timer_go_on(t);
    } else if (!rpp_ledger_runs(&t->ledger)) {
        rb_rpp_timer_wait(t);
    } else if (rb_during_gc()) { /* a GC within another tool's hook is not reported */
        rb_rpp_timer_go_on(t);
    } else {
        uint64_t began = rb_rpp_overhead_begin();
        take_tick(t, began ? began : rpp_monotonic_ns());
        rb_rpp_overhead_end(began, RB_RPP_CAPTURE_MAX_NS);
    }
}

/* --- the collector's ticks --- */

static bool is_past(const _Atomic uint64_t *moment, uint64_t limit_ns)
{
    return rpp_monotonic_ns() > atomic_load_explicit(moment, memory_order_relaxed) + limit_ns;
}

/* The collector's tick finds the thread that runs at that moment, however briefly, so short and frequent work gets its
 * share. A thread with a timer is left to the timer, even on a busy machine, because a tick would find its next
 * safepoint instead of its work. But while it sleeps with the GVL, its clock stands still. */
bool rb_rpp_engine_is_overdue(const rb_rpp_thread *t)
{
    if (!t->has_timer)
        return rpp_ledger_runs(&t->ledger); /* a tick taken at the end of a GC would find allocating code too often */
    if (!is_past(&t->looked_at_ns, rb_rpp_period_ns() / 4 * 3)) return false;
    return is_past(&t->resumed_ns, rb_rpp_period_ns() * OVERDUE_PERIODS) && rb_rpp_task_is_asleep(t->tid) &&
           rb_rpp_running_thread(NULL) == t; /* it still holds the GVL */
}

/* --- on and off --- */

static void set_engine(bool signal)
{
    atomic_store(&by_signal, signal);
    rpp_stats_set(RPP_STAT_least_period_ns, signal ? rb_rpp_rules.tick_ns : 0);
    late_ticks = (rpp_late_ticks){.findings = 0}; /* a forked child is not as crowded as its parent */
    rb_rpp_rules.late_ticks = signal ? NULL : &late_ticks;
}

void rb_rpp_engine_start(rpp_engine_kind wanted)
{
    set_engine(rb_rpp_timers_start(wanted, on_timer));
}

void rb_rpp_engine_stop(void)
{
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) rb_rpp_timer_stop(t);
    rb_rpp_timers_stop();
}

const char *rb_rpp_engine_name(void)
{
    return atomic_load(&by_signal) ? "signal" : "safepoint";
}

/* --- a signal that the program has taken away --- */

bool rb_rpp_engine_is_lost(void)
{
    if (!rb_rpp_timers_are_lost()) return false;
    atomic_store(&signal_lost, true);
    return true;
}

static void recover_timer(rb_rpp_thread *t, rb_rpp_timers_fate fate)
{
    if (fate == RB_RPP_TIMERS_TAKEN_BACK) {
        rb_rpp_timer_set_again(t);
        return;
    }
    rb_rpp_timer_stop(t);
    if (rb_rpp_is_sampling() && t->in_ruby && !t->ended)
        rb_rpp_timer_start_when_it_runs(t); /* where there is a signal for it */
}

static void recover_timers(void)
{
    rb_rpp_timers_fate fate = rb_rpp_timers_recover();
    if (fate == RB_RPP_TIMERS_GIVEN_UP) set_engine(false);
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) recover_timer(t, fate);
}

bool rb_rpp_engine_regain(void)
{
    if (!atomic_exchange(&signal_lost, false)) return false;
    recover_timers();
    return true;
}
