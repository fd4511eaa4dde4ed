/* rb_sweep.c - the testing build runs the tick's handler at every instruction of an operation, and looks at each
 * stack. */
#include "testing/rb_sweep.h"

#if defined(RPP_TESTING) && RB_RPP_HAVE_THREAD_TIMERS

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "captures/rb_capture.h"
#include "testing/rb_step.h"
#include "testing/rb_sweep_record.h"
#include "threads/rb_threads.h"
#include "vm/rb_probes.h"

#define IN_HANDLER __attribute__((tls_model("initial-exec"))) /* no allocation at the first use */

static struct sigaction tick; /* the handler of real ticks */
static _Atomic bool sweeping;

/* The record whose timer would tick on this native thread. */
static _Thread_local rb_rpp_thread *own IN_HANDLER;
static _Thread_local pid_t own_tid IN_HANDLER;
static _Thread_local uintptr_t address IN_HANDLER;
static _Thread_local rb_rpp_sweep_outcome outcome IN_HANDLER;

static void timer_created(rb_rpp_thread *t)
{
    pid_t tid = (pid_t)syscall(SYS_gettid);
    if (t->tid != tid) return;
    own = t;
    own_tid = tid;
}

/* Only for the record: the handler decides by itself. */
static rb_rpp_sweep_outcome reason_to_defer(const rb_rpp_thread *t)
{
    if (!t->in_ruby) return RB_RPP_SWEEP_NO_TICK;
    if (t->ledger.busy || rb_rpp_capture_is_busy()) return RB_RPP_SWEEP_IN_HOOK;
    if (!rpp_ledger_holds_gvl(&t->ledger)) return RB_RPP_SWEEP_OFF_GVL;
    if (!rpp_ledger_runs(&t->ledger) || rb_during_gc()) return RB_RPP_SWEEP_IN_GC;
    return RB_RPP_SWEEP_OTHERWISE;
}

static void on_step(uintptr_t at, bool first)
{
    rb_rpp_thread *t = own;
    if (!atomic_load(&sweeping)) return;
    if (!t || t->tid != own_tid || !t->has_timer) {
        rb_rpp_sweep_record_outcome(RB_RPP_SWEEP_NO_TICK);
        return;
    }
    if (first) rb_rpp_sweep_record_gap();
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_TIMER};
    info.si_value.sival_ptr = t;
    address = at;
    outcome = reason_to_defer(t);
    static ucontext_t interrupted; /* it blocks no signal */
    tick.sa_sigaction(SIGURG, &info, &interrupted);
    rb_rpp_sweep_record_outcome(outcome);
}

static void walked(const rb_rpp_thread *t, const VALUE *frames, const int *lines, int depth)
{
    if (!t->interrupted || !atomic_load(&sweeping)) return;
    outcome = depth > 0 ? RB_RPP_SWEEP_CAPTURED : RB_RPP_SWEEP_CHANGING;
    if (depth <= 0) rb_rpp_sweep_record_changing(address);
    if (depth > 0) rb_rpp_sweep_record_stack(t, address, frames, lines, depth);
    if (!rb_rpp_step_is_possible()) rb_rpp_sweep_record_outcome(outcome);
}

/* --- Native --- */

static VALUE end_sweep(VALUE unused)
{
    uint64_t steps = rb_rpp_step_end();
    atomic_store(&sweeping, false);
    rb_rpp_sweep_record_steps(steps);
    return Qnil;
}

static uint64_t option(VALUE options, const char *name)
{
    VALUE value = rb_hash_aref(options, ID2SYM(rb_intern(name)));
    return NIL_P(value) ? 0 : NUM2ULL(value);
}

static VALUE native_sweep(VALUE self, VALUE options)
{
    rb_need_block();
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    Check_Type(options, T_HASH);
    if (!t || !t->has_timer || sigaction(SIGURG, NULL, &tick) != 0) rb_raise(rb_eRuntimeError, "no timer ticks here");
    timer_created(t);
    rb_rpp_step_options step = {.handler = on_step,
                                .steps_max = option(options, "steps_max"),
                                .burst = option(options, "burst"),
                                .gap_ns = option(options, "gap_ns"),
                                .seed = option(options, "seed")};
    rb_rpp_sweep_record_begin(rb_hash_aref(options, ID2SYM(rb_intern("code"))));
    atomic_store(&sweeping, true);
    rb_rpp_step_begin(&step);
    rb_ensure(rb_yield, Qnil, end_sweep, Qnil);
    return rb_rpp_sweep_record_report();
}

static VALUE native_sweep_again(VALUE self)
{
    rb_rpp_step_again();
    return Qnil;
}

static VALUE native_steps_p(VALUE self)
{
    return rb_rpp_step_is_possible() ? Qtrue : Qfalse;
}

static VALUE native_stack_names(VALUE self)
{
    VALUE frames[RPP_MAX_DEPTH];
    int depth = rb_profile_frames(0, RPP_MAX_DEPTH, frames, NULL);
    return rb_rpp_sweep_names(frames + 1, depth - 1); /* without this one */
}

void rb_rpp_sweep_init(VALUE native)
{
    rb_rpp_sweep_record_init();
    rb_rpp_probed.timer_created = timer_created;
    rb_rpp_probed.walked = walked;
    rb_define_singleton_method(native, "sweep", native_sweep, 1);
    rb_define_singleton_method(native, "sweep_again", native_sweep_again, 0);
    rb_define_singleton_method(native, "steps?", native_steps_p, 0);
    rb_define_singleton_method(native, "stack_names", native_stack_names, 0);
}

#elif defined(RPP_TESTING)

void rb_rpp_sweep_init(VALUE native) {}

#endif
