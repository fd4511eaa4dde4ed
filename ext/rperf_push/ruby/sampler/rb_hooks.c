/* rb_hooks.c - passes the VM's events about threads, fibers and the GC to the ledgers of threads. */
#include "sampler/rb_hooks.h"

#include <stdatomic.h>

#include "captures/rb_heap.h"
#include "captures/rb_labels.h"
#include "captures/rb_rotation.h"
#include "captures/rb_thread_starts.h"
#include "core/base/clock.h"
#include "core/base/stats.h"
#include "threads/rb_push.h"
#include "threads/rb_subscribers.h"
#include "threads/rb_timers.h"
#include "vm/rb_probes.h"
#include "vm/rb_trigger.h"

#define HOOKS_PER_MEASURE 61u
#define HOOK_MAX_NS       (4 * RPP_NS_PER_US)
/* Of asked_turn. A thread that another one woke waited for that thread, until it runs: this is one wait. */
#define WAS_WOKEN         UINT64_C(0)
#define FOUND_HELD        UINT64_C(1)
#define FIRST_TURN        UINT64_C(2)
#define READ_EVENT_NS     (20 * RPP_NS_PER_US) /* a CPU clock takes 0.5 to 1 to read, as it is a system call */

static _Atomic(const rb_rpp_listener *) listener;
static _Atomic bool following;             /* hooks create a record for each new thread */
static _Atomic(rb_rpp_thread *) running;   /* the one that holds the GVL */
static _Atomic bool ran;                   /* some thread ran since a collector last asked */
static _Atomic uint64_t turn = FIRST_TURN; /* a number for each time that a thread got the GVL */
static uint64_t measuring_ns;              /* the time of measuring a hook */

/* glibc keeps some room for variables that are found without a call; each hook uses these. */
#if defined(__GLIBC__)
#define FOUND_WITHOUT_CALL __attribute__((tls_model("initial-exec")))
#else
#define FOUND_WITHOUT_CALL
#endif

/* On this native thread. */
static _Thread_local rb_rpp_thread *own FOUND_WITHOUT_CALL; /* the record of the thread that runs here */
static _Thread_local bool runs_unmet FOUND_WITHOUT_CALL;    /* a thread without a record, not counted yet, runs here */

bool rb_rpp_hooks_are_following(void)
{
    return atomic_load_explicit(&following, memory_order_relaxed);
}

void rb_rpp_hooks_follow(bool it)
{
    atomic_store(&following, it);
}

rb_rpp_thread *rb_rpp_running_thread(bool *any_ran)
{
    rb_rpp_thread *t = atomic_load_explicit(&running, memory_order_relaxed);
    if (any_ran) *any_ran = atomic_exchange_explicit(&ran, false, memory_order_relaxed) || t;
    return t;
}

/* A hundredth of the period, from 100 us to 1 ms. */
void rb_rpp_hooks_set_pace(uint64_t period_ns)
{
    uint64_t run_ns = period_ns / 100;
    if (run_ns < 100 * RPP_NS_PER_US) run_ns = 100 * RPP_NS_PER_US;
    if (run_ns > RPP_NS_PER_MS) run_ns = RPP_NS_PER_MS;
    rb_rpp_rules.read_run_ns = run_ns;
    rb_rpp_rules.read_event_ns = READ_EVENT_NS;
}

/* Runs on the creator of a thread in the main Ractor, or of the first thread of another one. The new thread may never
 * run. */
static void on_started(VALUE thread, uint64_t now)
{
    if (rb_rpp_thread_of(rb_thread_current())) {
        rb_rpp_thread_set_start(thread, now);
    } else {
        rpp_stats_add(RPP_STAT_ractor_threads_ignored, 1);
    }
}

static void stir(void)
{
    for (rb_rpp_subscriber subscriber = 0, end = rb_rpp_subscribers_end(); subscriber < end; subscriber++) {
        if (rb_rpp_subscriber_is_on(subscriber)) rpp_pipeline_stir(rb_rpp_subscriber_pipeline(subscriber));
    }
}

static void note_asking(rb_rpp_thread *t)
{
    bool held = atomic_load_explicit(&running, memory_order_relaxed) != NULL;
    uint64_t asked = held ? FOUND_HELD : atomic_load_explicit(&turn, memory_order_relaxed);
    atomic_store_explicit(&t->asked_turn, own == t ? asked : WAS_WOKEN, memory_order_relaxed);
}

/* Whether other threads had the GVL since this one asked for it. It has it now. */
static bool take_turn(rb_rpp_thread *t)
{
    uint64_t asked = atomic_load_explicit(&t->asked_turn, memory_order_relaxed);
    uint64_t now = atomic_load_explicit(&turn, memory_order_relaxed);
    atomic_store_explicit(&turn, now + 1, memory_order_relaxed);
    atomic_store_explicit(&t->asked_turn, WAS_WOKEN, memory_order_relaxed);
    return asked != WAS_WOKEN && asked != now;
}

static void on_resumed(rb_rpp_thread *t, uint64_t now)
{
    bool was_busy = rb_rpp_section_begin(t);
    rb_rpp_thread_find_clock(t);
    rb_rpp_flush_if_late(t);
    rpp_due due = rpp_ledger_got(&t->ledger, now, take_turn(t));
    if (t->in_ruby) rb_rpp_capture_if(t, due); /* else with THREAD_BEGIN */
    atomic_store_explicit(&t->resumed_ns, now, memory_order_relaxed);
    rb_rpp_timer_catch_up(t);
    rb_rpp_section_end(t, was_busy);
    atomic_store_explicit(&running, t, memory_order_relaxed);
    atomic_store_explicit(&ran, true, memory_order_relaxed);
    stir();
}

/* If threads share native ones, its clock may belong to another thread from now on. */
static void release_on_shared_clock(rb_rpp_thread *t, uint64_t now)
{
    uint64_t unseen_ns = rpp_ledger_holds_gvl(&t->ledger) ? 0 : rb_rpp_thread_find_unseen_run(t);
    if (unseen_ns) rpp_ledger_got(&t->ledger, now - unseen_ns, false);
    rpp_ledger_note_tick(&t->ledger, now);
}

static void on_suspended(rb_rpp_thread *t, uint64_t now)
{
    bool was_busy = rb_rpp_section_begin(t);
    bool in_time = rb_rpp_flush_if_late(t);
    if (rb_rpp_threads_share_native_ones()) release_on_shared_clock(t, now);
    bool held = rpp_ledger_holds_gvl(&t->ledger);
    rb_rpp_capture_if(t, rpp_ledger_released(&t->ledger, now));
    if (in_time) rb_rpp_push_large_totals(t);
    if (held) {
        if (rb_rpp_threads_share_native_ones()) rb_rpp_thread_leave_clock(t);
        rb_rpp_thread *self = t;
        atomic_compare_exchange_strong_explicit(&running, &self, NULL, memory_order_relaxed, memory_order_relaxed);
    }
    rb_rpp_section_end(t, was_busy);
}

/* Hooks are too short to time each of them, so one in many is measured for all. If two threads count at the same time,
 * one count is lost, which does no harm. */
static bool is_measured(void)
{
    _Static_assert(HOOKS_PER_MEASURE % 2 && HOOKS_PER_MEASURE % 3,
                   "hooks come in twos and threes: all kinds are to be measured");
    static _Atomic unsigned left = HOOKS_PER_MEASURE;
    unsigned now_left = atomic_load_explicit(&left, memory_order_relaxed) - 1;
    atomic_store_explicit(&left, now_left, memory_order_relaxed);
    if (now_left - 1 < HOOKS_PER_MEASURE - 1) return false; /* 0, or below it: two threads have counted the same one */
    atomic_store_explicit(&left, HOOKS_PER_MEASURE, memory_order_relaxed);
    return true;
}

static void measure_end(uint64_t began)
{
    uint64_t took = rpp_monotonic_ns() - began;
    took -= took < measuring_ns ? took : measuring_ns;
    uint64_t all = HOOKS_PER_MEASURE * (took < HOOK_MAX_NS ? took : HOOK_MAX_NS);
    rpp_stats_add(RPP_STAT_overhead_ns, all);
    rpp_stats_add(RPP_STAT_overhead_hooks_ns, all);
}

/* A thread's last events may come after its Thread object is freed, because another Ractor can collect it. So the
 * thread that stops is the one that runs on this native thread. With shared native threads, the VM may not have
 * reported which one that is. */
static rb_rpp_thread *stopping(VALUE thread)
{
    if (runs_unmet) {
        runs_unmet = false;
        rpp_stats_add(RPP_STAT_ractor_threads_ignored, 1);
    }
    return rb_rpp_threads_share_native_ones() ? rb_rpp_thread_of(thread) : own;
}

/* Each of the three is out of line and called last, so that an event saves only the registers that it needs itself. */

static __attribute__((noinline)) void on_ready(VALUE thread)
{
    rb_rpp_thread *t = rb_rpp_thread_of(thread);
    if (t && !t->ended) {
        note_asking(t);
        rpp_ledger_asked(&t->ledger, rpp_monotonic_ns());
    }
    if (!t && own) rb_rpp_thread_start_succeeded(thread);
}

static __attribute__((noinline)) void on_running(VALUE thread)
{
    rb_rpp_thread *t = own = rb_rpp_thread_of(thread);
    runs_unmet = !t && rb_rpp_thread_is_first_run(thread);
    if (t && !t->ended) on_resumed(t, rpp_monotonic_ns());
}

static __attribute__((noinline)) void on_stopping(VALUE thread)
{
    rb_rpp_thread *t = stopping(thread);
    if (t && !t->ended) on_suspended(t, rpp_monotonic_ns());
}

/* There was no THREAD_END. */
static void on_exited(VALUE thread)
{
    rb_rpp_thread *t = stopping(thread);
    if (!t || t->ended) return;
    rb_rpp_timer_stop(t);
    own = NULL;
    atomic_store(&t->ended, true);
}

/* While nothing is sampled, hooks follow only these. */
static void on_start_or_end(rb_event_flag_t event, VALUE thread)
{
    if (event == RUBY_INTERNAL_THREAD_EVENT_STARTED) on_started(thread, rpp_monotonic_ns());
    if (event == RUBY_INTERNAL_THREAD_EVENT_EXITED) on_exited(thread);
}

static inline void on_sampled_event(rb_event_flag_t event, VALUE thread)
{
    switch (event) {
    case RUBY_INTERNAL_THREAD_EVENT_READY: on_ready(thread); break;
    case RUBY_INTERNAL_THREAD_EVENT_RESUMED: on_running(thread); break;
    case RUBY_INTERNAL_THREAD_EVENT_SUSPENDED: on_stopping(thread); break;
    default: on_start_or_end(event, thread);
    }
}

static __attribute__((noinline)) void on_measured_event(rb_event_flag_t event, VALUE thread)
{
    uint64_t began = rpp_monotonic_ns();
    on_sampled_event(event, thread);
    measure_end(began);
}

void rb_rpp_hooks_tell(const rb_rpp_listener *it)
{
    atomic_store_explicit(&listener, it, memory_order_release);
}

bool rb_rpp_hooks_tell_somebody(void)
{
    return atomic_load_explicit(&listener, memory_order_acquire);
}

static __attribute__((noinline)) void tell(const rb_rpp_listener *to, rb_event_flag_t event, VALUE thread)
{
    bool runs = event == RUBY_INTERNAL_THREAD_EVENT_RESUMED, asks = event == RUBY_INTERNAL_THREAD_EVENT_READY;
    if (runs) own = rb_rpp_thread_of(thread);
    if (!runs && !asks && event != RUBY_INTERNAL_THREAD_EVENT_SUSPENDED) return;
    bool is_alive = runs || asks || rb_rpp_threads_share_native_ones();
    rb_rpp_thread *t = is_alive ? rb_rpp_thread_of(thread) : own;
    if (t && !t->ended) to->on_thread(t, event);
}

/* With nothing on, a new thread leaves nothing, and a thread that has a record gives it back at its end. */
static void on_thread_event(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    if (!rb_rpp_hooks_are_following()) {
        if (event == RUBY_INTERNAL_THREAD_EVENT_EXITED) on_exited(data->thread);
        return;
    }
    const rb_rpp_listener *to = atomic_load_explicit(&listener, memory_order_acquire);
    if (RB_UNLIKELY(to)) tell(to, event, data->thread);
    if (!rb_rpp_is_sampling()) {
        on_start_or_end(event, data->thread);
    } else if (is_measured()) {
        on_measured_event(event, data->thread);
    } else {
        on_sampled_event(event, data->thread);
    }
}

/* It has waited since its start, unless a RESUMED event came. */
static void begin_first_turn(rb_rpp_thread *t, uint64_t now)
{
    bool was_busy = rb_rpp_section_begin(t);
    if (rb_rpp_is_sampling() && !rpp_ledger_holds_gvl(&t->ledger)) {
        rb_rpp_flush_if_late(t);
        rpp_ledger_got(&t->ledger, now, false);
        atomic_store(&t->resumed_ns, now);
    }
    t->in_ruby = true;
    rb_rpp_section_end(t, was_busy);
}

/* Reads the labels first, because this may run a job that meets this very thread. */
static void on_thread_begin(void)
{
    rpp_label_set *labels = rb_rpp_labels_current();
    VALUE self = rb_thread_current();
    uint64_t now = rpp_monotonic_ns();
    rb_rpp_thread *t = rb_rpp_thread_of(self);
    if (!t) {
        t = rb_rpp_thread_start_meet(self, now);
        if (!t) return;
        rpp_ledger_relabelled(&t->ledger, labels);
    }
    own = t;
    runs_unmet = false;
    rb_rpp_thread_start_over(self);
    begin_first_turn(t, now);
    rb_rpp_labels_changed(labels);
    rb_rpp_thread_find_clock(t); /* if no RESUMED event came */
    if (!rb_rpp_is_sampling()) return;
    atomic_store_explicit(&running, t, memory_order_relaxed);
    bool was_busy = rb_rpp_section_begin(t);
    rb_rpp_capture_if(t, rpp_ledger_pending(&t->ledger)); /* the wait for its first GVL, when there was no stack yet */
    rb_rpp_section_end(t, was_busy);
    rb_rpp_timer_start(t);
}

static void on_thread_end(rb_rpp_thread *t)
{
    rb_rpp_timer_stop(t);
    uint64_t now = rpp_monotonic_ns();
    if (rb_rpp_is_sampling()) {
        rb_rpp_flush_if_late(t);
        rb_rpp_flush_at_end(t, now);
        atomic_store_explicit(&running, NULL, memory_order_relaxed);
    }
    t->in_ruby = false;
    own = NULL;
    rb_rpp_thread_discard(t);
}

static void on_ruby_event(rb_event_flag_t event, VALUE unused, VALUE self, ID mid, VALUE klass)
{
    if (!rb_rpp_hooks_are_following() && event != RUBY_EVENT_THREAD_END) return;
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (event == RUBY_EVENT_THREAD_BEGIN) {
        on_thread_begin();
    } else if (!t || t->ended) {
        return;
    } else if (event == RUBY_EVENT_THREAD_END) {
        on_thread_end(t);
    } else if (rb_rpp_is_sampling()) {
        rb_rpp_labels_follow_fiber();
    }
}

/* What the GC does after the event. */
static rpp_state gc_phase(rb_event_flag_t event, rpp_state before)
{
    if (event == RUBY_INTERNAL_EVENT_GC_END_MARK) return RPP_STATE_GC_SWEEPING;
    bool marks_next = event == RUBY_INTERNAL_EVENT_GC_START || event == RUBY_INTERNAL_EVENT_GC_END_SWEEP;
    return marks_next ? RPP_STATE_GC_MARKING : before;
}

/* GC time is split where marking ends, and belongs to the stack that triggered it. One GC at
 * a time, on the thread that holds the GVL; its phases may be spread over several pauses. */
static void on_gc_event(VALUE tracepoint, void *unused)
{
    static rb_rpp_thread *collecting;
    static rpp_state phase = RPP_STATE_GC_MARKING;
    rb_event_flag_t event = rb_tracearg_event_flag(rb_tracearg_from_tracepoint(tracepoint));
    if (event == RUBY_INTERNAL_EVENT_GC_ENTER) rb_rpp_trigger_gc_entered();
    if (event == RUBY_INTERNAL_EVENT_GC_EXIT) RB_RPP_PROBE(gc_left);
    phase = gc_phase(event, phase);
    if (!rb_rpp_hooks_are_following()) return;
    uint64_t began = is_measured() ? rpp_monotonic_ns() : 0;
    if (event == RUBY_INTERNAL_EVENT_GC_END_MARK) rb_rpp_heap_marked();
    rb_rpp_thread *t = collecting ? collecting : rb_rpp_thread_of(rb_thread_current());
    const rb_rpp_listener *to = atomic_load_explicit(&listener, memory_order_acquire);
    if (t && !t->ended && to) to->on_gc(t, event, phase == RPP_STATE_GC_MARKING);
    if (!rb_rpp_is_sampling() || !t || !t->in_ruby || t->ended) return;
    uint64_t now = rpp_monotonic_ns();
    bool was_busy = rb_rpp_section_begin(t); /* allocating in one of our own methods may lead here */
    if (event == RUBY_INTERNAL_EVENT_GC_ENTER) {
        rb_rpp_flush_if_late(t); /* else the time of now would go into a window that has ended */
        collecting = t;
    }
    if (event == RUBY_INTERNAL_EVENT_GC_EXIT) {
        collecting = NULL;
        rb_rpp_capture_if(t, rpp_ledger_gc_left(&t->ledger, now));
        rb_rpp_timer_catch_up(t);
    } else if (collecting) {
        rb_rpp_capture_if(t, rpp_ledger_gc_entered(&t->ledger, phase, now));
    }
    rb_rpp_section_end(t, was_busy);
    if (began) measure_end(began);
}

static VALUE gc_hook;

void rb_rpp_hooks_install_once(void)
{
    static bool installed;
    if (installed) return;
    installed = true;
    rb_internal_thread_add_event_hook(on_thread_event,
                                      RUBY_INTERNAL_THREAD_EVENT_STARTED | RUBY_INTERNAL_THREAD_EVENT_READY |
                                          RUBY_INTERNAL_THREAD_EVENT_RESUMED | RUBY_INTERNAL_THREAD_EVENT_SUSPENDED |
                                          RUBY_INTERNAL_THREAD_EVENT_EXITED,
                                      NULL);
    rb_add_event_hook(on_ruby_event, RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END | RUBY_EVENT_FIBER_SWITCH, Qnil);
    gc_hook =
        rb_tracepoint_new(Qnil,
                          RUBY_INTERNAL_EVENT_GC_ENTER | RUBY_INTERNAL_EVENT_GC_EXIT | RUBY_INTERNAL_EVENT_GC_START |
                              RUBY_INTERNAL_EVENT_GC_END_MARK | RUBY_INTERNAL_EVENT_GC_END_SWEEP,
                          on_gc_event, NULL);
    rb_gc_register_mark_object(gc_hook);
    rb_tracepoint_enable(gc_hook);
}

void rb_rpp_hooks_know_current(void)
{
    own = rb_rpp_thread_of(rb_thread_current());
}

void rb_rpp_hooks_leave_vm(void)
{
    rb_rpp_heap_discard();
    if (gc_hook) rb_tracepoint_disable(gc_hook);
}

/* --- on and off --- */

/* On: hooks follow all events, and `current`, the calling thread, runs. Off: only starts and ends of threads. */
static void set_listening(bool on, rb_rpp_thread *current)
{
    atomic_store(&running, current);
    atomic_store_explicit(&rb_rpp_capturing.sampling, on, memory_order_release);
    if (!on) return;
    own = current;
    atomic_store(&ran, true);
    /* Last, because no tick follows one that comes before hooks follow events. */
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->in_ruby && !t->ended) rb_rpp_timer_start_when_it_runs(t);
    }
}

void rb_rpp_sampling_begin(uint64_t now)
{
    rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        rpp_ledger_resumed(&t->ledger, t == current, now);
        atomic_store(&t->looked_at_ns, now);
        atomic_store(&t->resumed_ns, now);
    }
    measuring_ns = rpp_monotonic_reading_ns();
    rb_rpp_capturing.began_ns = rb_rpp_capturing.cut_ns = now;
    set_listening(true, current);
}

void rb_rpp_sampling_end(void)
{
    rb_rpp_thread_starts_discard();
    set_listening(false, NULL);
}

void rb_rpp_hooks_discard_after_fork(void)
{
    rb_rpp_sampling_end();
    rb_rpp_hooks_follow(false);
}
