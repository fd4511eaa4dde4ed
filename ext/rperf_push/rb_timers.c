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

#define TIMER_SIGNAL SIGURG
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static rb_rpp_timer_handler on_expiry;
static _Atomic uint64_t period_ns;
static bool in_use, said_no_timer;

/* A quarter of the period around it. */
static void arm(rb_rpp_thread *t, bool first)
{
    uint64_t period = atomic_load_explicit(&period_ns, memory_order_relaxed), random = rpp_random_next(&t->random);
    uint64_t ns = first ? 1 + random % period : period * 3 / 4 + random % (period / 2 + 1);
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
        t->ticking = on_expiry(t);
        if (t->ticking) arm(t, false);
    }
    errno = saved;
}

static bool is_old_ruby(void)
{
    unsigned major = 0, minor = 0, teeny = 0;
    sscanf(ruby_version, "%u.%u.%u", &major, &minor, &teeny);
    return major * 10000 + minor * 100 + teeny < 30304;
}

static const char *obstacle(void)
{
    const char *mn_threads = getenv("RUBY_MN_THREADS");
    struct sigaction now;
    if (is_old_ruby()) return "this Ruby is older than 3.3.4";
    if (mn_threads && atoi(mn_threads) > 0) return "RUBY_MN_THREADS is on";
    if (sigaction(TIMER_SIGNAL, NULL, &now) != 0) return strerror(errno);
    bool ours = (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal;
    bool free_to_take = now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN;
    return ours || free_to_take ? NULL : "the program handles SIGURG itself";
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
    atomic_store_explicit(&period_ns, ns, memory_order_relaxed);
}

static bool create(rb_rpp_thread *t)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TIMER_SIGNAL};
    event.sigev_value.sival_ptr = t;
    event.sigev_notify_thread_id = t->tid;
    if (timer_create(t->cpu_clock, &event, &t->timer) != 0) {
        if (!said_no_timer) rpp_log(RPP_LOG_WARN, "no timer for some threads (%s): sampled at safepoints", strerror(errno));
        said_no_timer = true;
        return false;
    }
    if (!t->random) t->random = rpp_random_seed() | 1;
    return t->has_timer = true;
}

void rb_rpp_timer_start(rb_rpp_thread *t)
{
    if (!in_use || !t->has_cpu_clock || !t->tid || (t->has_timer && t->ticking)) return;
    if (!t->has_timer && !create(t)) return;
    t->ticking = true;
    arm(t, true);
}

void rb_rpp_timer_stop(rb_rpp_thread *t)
{
    if (!t->has_timer) return;
    t->has_timer = false;
    timer_delete(t->timer);
}

#else

bool rb_rpp_timers_start(rpp_engine_kind engine, rb_rpp_timer_handler handler)
{
    return false;
}

void rb_rpp_timers_stop(void)
{
}

void rb_rpp_timers_forget_after_fork(void)
{
}

void rb_rpp_timers_set_period(uint64_t ns)
{
}

void rb_rpp_timer_start(rb_rpp_thread *t)
{
}

void rb_rpp_timer_stop(rb_rpp_thread *t)
{
}

#endif
