/* rb_testing.c - what only the testing build has: fast ticks, and guards around captures. */
#include "rb_testing.h"

#ifdef RPP_TESTING

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"
#include "rb_capture.h"

static uint64_t period_ns;
static const char *to_break;
static _Atomic unsigned long readings;

static void check(const char *broken)
{
    static const char prefix[] = "rperf-push testing build: ";
    if (!rb_rpp_capture_is_busy()) return;
    if (write(STDERR_FILENO, prefix, sizeof prefix - 1) < 0 || write(STDERR_FILENO, broken, strlen(broken)) < 0)
        abort();
    abort();
}

static void on_object_or_gc(VALUE tracepoint, void *unused)
{
    rb_event_flag_t event = rb_tracearg_event_flag(rb_tracearg_from_tracepoint(tracepoint));
    check(event == RUBY_INTERNAL_EVENT_NEWOBJ ? "an object was allocated inside a capture\n"
                                              : "the GC started inside a capture\n");
}

static void on_switch(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    check("threads were switched inside a capture\n");
}

/* Nanoseconds of each, as a tick takes them. */
static VALUE capture_often(VALUE self, VALUE wanted)
{
    unsigned count = NUM2UINT(wanted);
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || !count || !rb_rpp_outlet_is_on(RB_RPP_ON_DEMAND)) rb_raise(rb_eArgError, "nothing to capture for");
    uint64_t began = rpp_monotonic_ns();
    for (unsigned i = 0; i < count; i++) {
        uint64_t now = rb_rpp_overhead_begin();
        t->busy = true;
        rb_rpp_thread_advance(t, now);
        rb_rpp_thread_read_cpu(t);
        rb_rpp_capture_running(t);
        t->busy = false;
        rb_rpp_overhead_end(now, RB_RPP_CAPTURE_MAX_NS);
    }
    return DBL2NUM((double)(rpp_monotonic_ns() - began) / count);
}

/* Nanoseconds of the one system call that a capture cannot do without. */
static VALUE read_cpu_clock_often(VALUE self, VALUE wanted)
{
    unsigned count = NUM2UINT(wanted);
    const rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || !count) rb_raise(rb_eArgError, "no clock to read");
    uint64_t began = rpp_monotonic_ns();
    for (unsigned i = 0; i < count; i++) (void)rb_rpp_thread_cpu_ns(t);
    return DBL2NUM((double)(rpp_monotonic_ns() - began) / count);
}

static VALUE cpu_clock_readings(VALUE self)
{
    return ULONG2NUM(atomic_load(&readings));
}

static void log_line(void)
{
    rpp_log(RPP_LOG_WARN, "Ruby is gone");
}

static VALUE log_at_exit(VALUE self)
{
    atexit(log_line);
    return Qnil;
}

void rb_rpp_testing_init(VALUE native)
{
    rb_define_singleton_method(native, "log_at_exit", log_at_exit, 0);
    rb_define_singleton_method(native, "cpu_clock_readings", cpu_clock_readings, 0);
    rb_define_singleton_method(native, "capture_often", capture_often, 1);
    rb_define_singleton_method(native, "read_cpu_clock_often", read_cpu_clock_often, 1);
    const char *hz = getenv("RPERF_PUSH_TESTING_HZ");
    int rate = hz ? atoi(hz) : 0;
    if (rate > 0 && rate <= 5000) period_ns = RPP_NS_PER_S / (uint64_t)rate;
    to_break = getenv("RPERF_PUSH_TESTING_BREAK");

    VALUE guard =
        rb_tracepoint_new(Qnil, RUBY_INTERNAL_EVENT_NEWOBJ | RUBY_INTERNAL_EVENT_GC_ENTER, on_object_or_gc, NULL);
    rb_gc_register_mark_object(guard);
    rb_tracepoint_enable(guard);
    rb_internal_thread_add_event_hook(on_switch,
                                      RUBY_INTERNAL_THREAD_EVENT_SUSPENDED | RUBY_INTERNAL_THREAD_EVENT_RESUMED |
                                          RUBY_INTERNAL_THREAD_EVENT_EXITED,
                                      NULL);
}

uint64_t rb_rpp_testing_period_ns(void)
{
    return period_ns;
}

static void *nothing(void *unused)
{
    return NULL;
}

void rb_rpp_testing_reading_cpu_clock(void)
{
    atomic_fetch_add_explicit(&readings, 1, memory_order_relaxed);
}

void rb_rpp_testing_in_capture(void)
{
    if (!to_break) return;
    if (strcmp(to_break, "allocate") == 0) rb_str_new_cstr("an object");
    if (strcmp(to_break, "collect") == 0) rb_gc_start();
    if (strcmp(to_break, "switch") == 0) rb_thread_call_without_gvl(nothing, NULL, NULL, NULL);
}

#endif
