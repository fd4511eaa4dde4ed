/* rb_call_states.c - what threads do while calls are traced and no call begins or ends: the VM's events become states
 * (core/calls). */
#include "calls/rb_call_states.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/tick_clock.h"
#include "sampler/rb_hooks.h"

static _Atomic bool ticks; /* the clock of the trace */
static const VALUE **unread_ec;

static uint64_t now_of_trace(void)
{
    return atomic_load_explicit(&ticks, memory_order_relaxed) ? rpp_tick_clock_read() : rpp_monotonic_ns();
}

/* A thread that could run has the status "run", also while another one does. */
static bool could_run(VALUE thread)
{
    VALUE status = rb_funcall(thread, rb_intern("status"), 0);
    return RB_TYPE_P(status, T_STRING) && !strcmp(StringValueCStr(status), "run");
}

void rb_rpp_call_states_prepare(VALUE threads)
{
    for (long i = 0; i < RARRAY_LEN(threads); i++) {
        bool could = could_run(RARRAY_AREF(threads, i));
        rb_rpp_thread *t = rb_rpp_thread_of(RARRAY_AREF(threads, i));
        if (t) t->could_run = could;
    }
}

static void on_thread(rb_rpp_thread *t, rb_event_flag_t event)
{
    uint64_t now = now_of_trace();
    if (event == RUBY_INTERNAL_THREAD_EVENT_READY) rpp_call_thread_wanted(&t->calls, now);
    if (event == RUBY_INTERNAL_THREAD_EVENT_SUSPENDED) rpp_call_thread_released(&t->calls, now);
    if (event != RUBY_INTERNAL_THREAD_EVENT_RESUMED) return;
    rpp_call_thread_got(&t->calls, now);
    *unread_ec = NULL;
}

static void on_gc(rb_rpp_thread *t, rb_event_flag_t event, bool marks)
{
    bool ends = event == RUBY_INTERNAL_EVENT_GC_EXIT;
    if (!ends && event != RUBY_INTERNAL_EVENT_GC_ENTER && t->calls.state == RPP_CALL_RUNS) return; /* no pause */
    rpp_call_state phase = marks ? RPP_CALL_GC_MARKING : RPP_CALL_GC_SWEEPING;
    rpp_call_thread_collects(&t->calls, ends ? RPP_CALL_RUNS : phase, now_of_trace());
    if (ends) *unread_ec = NULL;
}

void rb_rpp_call_states_begin(bool by_ticks, uint64_t now, const VALUE **last_ec)
{
    atomic_store(&ticks, by_ticks);
    unread_ec = last_ec;
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        bool runs = t->thread == rb_thread_current();
        rpp_call_thread_begin(&t->calls, runs, !runs && t->could_run, now);
    }
    static const rb_rpp_listener listener = {.on_thread = on_thread, .on_gc = on_gc};
    rb_rpp_hooks_tell(&listener);
}

void rb_rpp_call_states_end(void)
{
    rb_rpp_hooks_tell(NULL);
}
