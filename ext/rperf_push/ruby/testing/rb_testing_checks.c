/* rb_testing_checks.c - guards around captures, and the methods of Native that only the testing build has. */
#include "testing/rb_testing_checks.h"

#ifdef RPP_TESTING

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "captures/rb_capture.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "frames/rb_frames.h"
#include "testing/rb_sweep.h"
#include "testing/rb_testing.h"
#include "testing/rb_testing_ticks.h"
#include "threads/rb_overhead.h"
#include "threads/rb_subscribers.h"

/* --- guards --- */

static void check(const char *broken)
{
    if (rb_rpp_capture_is_busy()) rb_rpp_testing_abort(broken);
}

static void on_object_or_gc(VALUE tracepoint, void *unused)
{
    rb_event_flag_t event = rb_tracearg_event_flag(rb_tracearg_from_tracepoint(tracepoint));
    check(event == RUBY_INTERNAL_EVENT_NEWOBJ ? "an object was allocated inside a capture\n"
                                              : "the GC started inside a capture\n");
}

/* Threads of other Ractors may be switched. Their Thread objects may be freed when they stop, so that nothing is read
 * of them without need. */
static void on_switch(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    if (!rb_rpp_capture_is_busy()) return;
    const rb_rpp_thread *t = rb_rpp_thread_of(data->thread);
    if (t && t->in_ruby) rb_rpp_testing_abort("threads were switched inside a capture\n");
}

static void install_guards(void)
{
    rb_internal_thread_add_event_hook(on_switch,
                                      RUBY_INTERNAL_THREAD_EVENT_SUSPENDED | RUBY_INTERNAL_THREAD_EVENT_RESUMED |
                                          RUBY_INTERNAL_THREAD_EVENT_EXITED,
                                      NULL);
    if (getenv("RPERF_PUSH_TESTING_RACTORS")) return;
    VALUE guard =
        rb_tracepoint_new(Qnil, RUBY_INTERNAL_EVENT_NEWOBJ | RUBY_INTERNAL_EVENT_GC_ENTER, on_object_or_gc, NULL);
    rb_gc_register_mark_object(guard);
    rb_tracepoint_enable(guard);
}

/* --- methods of Native --- */

/* Nanoseconds of each, as a tick takes them. */
static VALUE capture_often(VALUE self, VALUE wanted)
{
    unsigned count = NUM2UINT(wanted);
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || !count || !rb_rpp_subscriber_is_on(RB_RPP_ON_DEMAND)) rb_raise(rb_eArgError, "nothing to capture for");
    uint64_t began = rpp_monotonic_ns();
    for (unsigned i = 0; i < count; i++) {
        uint64_t now = rb_rpp_overhead_begin();
        bool was_busy = rb_rpp_section_begin(t);
        rb_rpp_capture_if(t, rpp_ledger_sampled(&t->ledger, rb_rpp_period_ns(), now));
        rb_rpp_section_end(t, was_busy);
        rb_rpp_overhead_end(now, RB_RPP_CAPTURE_MAX_NS);
    }
    return DBL2NUM((double)(rpp_monotonic_ns() - began) / count);
}

/* Nanoseconds of the one system call that a capture cannot do without. */
static VALUE read_cpu_clock_often(VALUE self, VALUE wanted)
{
    unsigned count = NUM2UINT(wanted);
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || !count) rb_raise(rb_eArgError, "no clock to read");
    uint64_t began = rpp_monotonic_ns();
    for (unsigned i = 0; i < count; i++) (void)rb_rpp_thread_cpu_ns(t);
    return DBL2NUM((double)(rpp_monotonic_ns() - began) / count);
}

static VALUE cpu_clock_readings(VALUE self)
{
    return ULONG2NUM(rb_rpp_testing_cpu_clock_readings());
}

static VALUE jobs_elsewhere(VALUE self)
{
    return ULONG2NUM(rb_rpp_testing_jobs_left());
}

static VALUE layout_numbers(VALUE self)
{
    return SIZET2NUM(rb_rpp_testing_layout_numbers());
}

static void *log_one(void *unused)
{
    rpp_log(RPP_LOG_WARN, "a line from outside");
    return NULL;
}

static VALUE log_from_outside(VALUE self)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, log_one, NULL) != 0) rb_sys_fail("pthread_create");
    pthread_join(thread, NULL);
    static const struct timespec a_moment = {0, 3 * (long)RPP_NS_PER_MS};
    nanosleep(&a_moment, NULL);
    return Qnil;
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

static VALUE stop_reading(VALUE unused)
{
    rb_rpp_frames_remove_reader();
    return Qnil;
}

static VALUE read_names(VALUE self)
{
    rb_rpp_frames_add_reader();
    return rb_ensure(rb_yield, Qnil, stop_reading, Qnil);
}

void rb_rpp_testing_checks_init(VALUE native)
{
    rb_rpp_testing_init();
    rb_rpp_sweep_init(native);
    rb_rpp_testing_ticks_init(native);
    rb_define_singleton_method(native, "capture_often", capture_often, 1);
    rb_define_singleton_method(native, "read_cpu_clock_often", read_cpu_clock_often, 1);
    rb_define_singleton_method(native, "cpu_clock_readings", cpu_clock_readings, 0);
    rb_define_singleton_method(native, "jobs_elsewhere", jobs_elsewhere, 0);
    rb_define_singleton_method(native, "layout_numbers", layout_numbers, 0);
    rb_define_singleton_method(native, "log_from_outside", log_from_outside, 0);
    rb_define_singleton_method(native, "log_at_exit", log_at_exit, 0);
    rb_define_singleton_method(native, "read_names", read_names, 0);
    install_guards();
}

#endif
