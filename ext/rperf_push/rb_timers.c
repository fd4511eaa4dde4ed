/* rb_timers.c - engine signal: every Ruby thread owns a timer on its own CPU clock, whose signal it handles itself. */
#include "rb_timers.h"

#if RB_RPP_HAVE_THREAD_TIMERS

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/log.h"
#include "rb_task.h"
#include "rb_testing.h"

#define TIMER_SIGNAL SIGURG
/* The kernel looks at CPU timers at its own tick, which is longer. */
#define SHORTEST_NS  (50 * RPP_NS_PER_US)
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static rb_rpp_timer_handler on_expiry;
static _Atomic uint64_t period_ns;
static bool in_use;

/* A quarter of the period around it. */
static void draw(rb_rpp_thread *t, bool first)
{
    uint64_t period = atomic_load_explicit(&period_ns, memory_order_relaxed), random = rpp_random_next(&t->random);
    t->due_ns = t->clocks.ran_ns + (first ? 1 + random % period : period * 3 / 4 + random % (period / 2 + 1));
}

static void arm(rb_rpp_thread *t)
{
    uint64_t ran_ns = t->clocks.ran_ns, ns = t->due_ns > ran_ns + SHORTEST_NS ? t->due_ns - ran_ns : SHORTEST_NS;
    if (rb_rpp_testing_period_ns()) ns = rb_rpp_testing_period_ns();
    struct itimerspec once = {.it_value = {(time_t)(ns / RPP_NS_PER_S), (long)(ns % RPP_NS_PER_S)}};
    timer_settime(t->timer, 0, &once, NULL);
}

static void on_signal(int number, siginfo_t *info, void *unused)
{
    /* SIGURG may come from elsewhere: out-of-band data, kill. Those are ignored, as they are without us. */
    if (info->si_code != SI_TIMER) return;
    int saved = errno;
    rb_rpp_thread *t = info->si_value.sival_ptr;
    if (t && t->has_timer) {
        t->ticking = false;
        on_expiry(t);
    }
    errno = saved;
}

static bool is_old_ruby(void)
{
    unsigned major = 0, minor = 0, teeny = 0;
    sscanf(ruby_version, "%u.%u.%u", &major, &minor, &teeny);
    return major * 10000 + minor * 100 + teeny < 30304;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

bool rb_rpp_timers_are_lost(void)
{
    struct sigaction now;
    return in_use && sigaction(TIMER_SIGNAL, NULL, &now) == 0 && !is_ours(&now);
}

static const char *obstacle(void)
{
    struct sigaction now;
    if (is_old_ruby()) return "this Ruby is older than 3.3.4";
    if (rb_rpp_threads_share_native_ones()) return "RUBY_MN_THREADS is on";
    if (sigaction(TIMER_SIGNAL, NULL, &now) != 0) return strerror(errno);
    bool free_to_take = now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN;
    return is_ours(&now) || free_to_take ? NULL : "the program handles SIGURG itself";
}

bool rb_rpp_timers_start(rpp_engine_kind engine, rb_rpp_timer_handler handler)
{
    in_use = false;
    if (engine == RPP_ENGINE_SAFEPOINT) return false;
    const char *why_not = obstacle();
    if (why_not) {
        rpp_log(RPP_LOG_WARN, "engine safepoint instead of signal: %s", why_not);
        return false;
    }
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    on_expiry = handler;
    if (sigaction(TIMER_SIGNAL, &action, NULL) != 0) return false;
    return in_use = true;
}

/* The handler stays: a signal that is still on its way finds no timer and does nothing. */
void rb_rpp_timers_stop(void)
{
    in_use = false;
}

/* Timers are not inherited. */
void rb_rpp_timers_forget_after_fork(void)
{
    in_use = false;
}

void rb_rpp_timers_set_period(uint64_t ns)
{
    if (rb_rpp_testing_period_ns()) ns = rb_rpp_testing_period_ns();
    atomic_store_explicit(&period_ns, ns, memory_order_relaxed);
}

static void say_once(const char *why)
{
    static bool said;
    if (!said) rpp_log(RPP_LOG_WARN, "no timer for some threads (%s): sampled at safepoints", why);
    said = true;
}

/* A thread has the mask of the one that created it. It is the program's: we look, but do not touch. */
static bool is_blocked_in(const rb_rpp_thread *t)
{
    sigset_t mask;
    if (t->thread != rb_thread_current()) return rb_rpp_task_blocks(t->tid, TIMER_SIGNAL);
    return pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, TIMER_SIGNAL) == 1;
}

static bool create(rb_rpp_thread *t)
{
    if (is_blocked_in(t)) {
        say_once("SIGURG is blocked");
        return false;
    }
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TIMER_SIGNAL};
    event.sigev_value.sival_ptr = t;
    event.sigev_notify_thread_id = t->tid;
    clockid_t clock = rb_rpp_testing_period_ns() ? CLOCK_MONOTONIC : t->cpu_clock;
    if (timer_create(clock, &event, &t->timer) != 0) {
        say_once(strerror(errno));
        return false;
    }
    if (!t->random) t->random = rpp_random_seed() | 1;
    return t->has_timer = true;
}

void rb_rpp_timer_start(rb_rpp_thread *t)
{
    if (!in_use || !t->has_cpu_clock || !t->tid || (t->has_timer && t->ticking && !t->owed)) return;
    if (!t->has_timer && !create(t)) return;
    t->ticking = true;
    t->owed = false;
    draw(t, true);
    arm(t);
}

void rb_rpp_timer_stop(rb_rpp_thread *t)
{
    if (!t->has_timer) return;
    t->has_timer = false;
    timer_delete(t->timer);
}

bool rb_rpp_timer_is_due(const rb_rpp_thread *t)
{
    return t->clocks.ran_ns >= t->due_ns || rb_rpp_testing_period_ns();
}

void rb_rpp_timer_next(rb_rpp_thread *t)
{
    draw(t, false);
    rb_rpp_timer_retry(t);
}

void rb_rpp_timer_retry(rb_rpp_thread *t)
{
    t->ticking = true;
    arm(t);
}

void rb_rpp_timer_owe(rb_rpp_thread *t)
{
    t->ticking = t->owed = true;
}

void rb_rpp_timer_pay(rb_rpp_thread *t)
{
    t->owed = false;
    if (t->has_timer) arm(t);
}

#else

bool rb_rpp_timers_are_lost(void)
{
    return false;
}

bool rb_rpp_timers_start(rpp_engine_kind engine, rb_rpp_timer_handler handler)
{
    return false;
}

void rb_rpp_timers_stop(void) {}

void rb_rpp_timers_forget_after_fork(void) {}

void rb_rpp_timers_set_period(uint64_t ns) {}

void rb_rpp_timer_start(rb_rpp_thread *t) {}

void rb_rpp_timer_stop(rb_rpp_thread *t) {}

bool rb_rpp_timer_is_due(const rb_rpp_thread *t)
{
    return true;
}

void rb_rpp_timer_next(rb_rpp_thread *t) {}

void rb_rpp_timer_retry(rb_rpp_thread *t) {}

void rb_rpp_timer_owe(rb_rpp_thread *t) {}

void rb_rpp_timer_pay(rb_rpp_thread *t) {}

#endif
