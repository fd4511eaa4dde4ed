/* rb_timers.c - engine signal: every Ruby thread owns a timer on its own CPU clock, whose signal it handles itself. */
#include "threads/rb_timers.h"

#if RB_RPP_HAVE_THREAD_TIMERS

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "frames/rb_walk.h"
#include "vm/rb_probes.h"

/* The kernel looks at CPU timers at its own tick, which is longer. */
#define SHORTEST_NS (50 * RPP_NS_PER_US)
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

typedef struct timer_signal {
    int number;
    const char *name;
} timer_signal;

static const timer_signal candidates[] = {{SIGURG, "SIGURG"}, {SIGWINCH, "SIGWINCH"}};
#define CANDIDATES      (sizeof candidates / sizeof *candidates)
#define ALL_ARE_HANDLED "the program handles SIGURG and SIGWINCH itself"

static rb_rpp_timer_handler on_expiry;
static _Atomic(const timer_signal *) in_use; /* NULL: there are no timers */

static void set(rb_rpp_thread *t, uint64_t ns)
{
    if (ns < SHORTEST_NS) ns = SHORTEST_NS;
    if (RB_RPP_PROBED_PERIOD_NS) ns = RB_RPP_PROBED_PERIOD_NS;
    struct itimerspec once = {.it_value = {(time_t)(ns / RPP_NS_PER_S), (long)(ns % RPP_NS_PER_S)}};
    timer_settime(t->timer, 0, &once, NULL);
}

/* True in the handler of a fault, also of Ruby's while it reports a crash: a fault of the walk would end the process
 * there, as its signal is blocked. */
static bool faults_are_blocked(const ucontext_t *interrupted)
{
    return sigismember(&interrupted->uc_sigmask, SIGSEGV) || sigismember(&interrupted->uc_sigmask, SIGBUS);
}

static void on_signal(int number, siginfo_t *info, void *interrupted)
{
    /* It may have another cause: out-of-band data, a terminal's new size, kill. Then it is ignored, as without the
     * profiler. */
    if (info->si_code != SI_TIMER) return;
    int saved = errno;
    rb_rpp_thread *t = info->si_value.sival_ptr;
    if (t && t->has_timer) {
        t->ticking = false;
        if (faults_are_blocked(interrupted)) {
            rpp_stats_add(RPP_STAT_samples_deferred_busy, 1);
            rb_rpp_timer_go_on(t);
        } else {
            on_expiry(t);
        }
    }
    errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

static bool is_unassigned(const struct sigaction *action)
{
    return action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN;
}

/* Not one that the program handles. */
static bool is_free(const timer_signal *candidate)
{
    struct sigaction now;
    return sigaction(candidate->number, NULL, &now) == 0 && (is_ours(&now) || is_unassigned(&now));
}

static const timer_signal *first_free(void)
{
    const timer_signal *end = candidates + CANDIDATES, *candidate = candidates;
    while (candidate < end && !is_free(candidate)) candidate++;
    return candidate < end ? candidate : NULL;
}

bool rb_rpp_timers_are_lost(void)
{
    const timer_signal *used = atomic_load(&in_use);
    struct sigaction now;
    return used && sigaction(used->number, NULL, &now) == 0 && !is_ours(&now);
}

/* A fault whose signal is blocked ends the process without a message. */
static void mask_all_but_faults(sigset_t *mask)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigfillset(mask);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(mask, faults[i]);
}

/* On the alternate stack that Ruby keeps for stack overflows, because a signal may not fit on a stack that is almost
 * full. */
static bool install(const timer_signal *used)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    mask_all_but_faults(&action.sa_mask);
    bool installed = used && sigaction(used->number, &action, NULL) == 0;
    atomic_store(&in_use, installed ? used : NULL);
    return installed;
}

rb_rpp_timers_fate rb_rpp_timers_recover(void)
{
    static bool said;
    const timer_signal *before = atomic_load(&in_use);
    if (!before) return RB_RPP_TIMERS_GIVEN_UP;
    bool is_still_free = is_free(before);
    if (!install(is_still_free ? before : first_free())) {
        rpp_log(RPP_LOG_WARN, "engine safepoint instead of signal from now on: " ALL_ARE_HANDLED);
        return RB_RPP_TIMERS_GIVEN_UP;
    }
    if (!said && is_still_free) {
        rpp_log(RPP_LOG_INFO, "the program has reset %s: taken back, as nobody handles it", before->name);
    } else if (!said) {
        rpp_log(RPP_LOG_INFO, "the program handles %s itself from now on: %s is used", before->name,
                atomic_load(&in_use)->name);
    }
    said = true;
    return is_still_free ? RB_RPP_TIMERS_TAKEN_BACK : RB_RPP_TIMERS_MOVED;
}

static const char *obstacle(void)
{
    if (rb_rpp_is_too_old_for_signals()) return "this Ruby is older than 3.3.4";
    if (rb_rpp_threads_share_native_ones()) return "RUBY_MN_THREADS is on";
    if (!rb_rpp_walk_prove()) return "the stacks of this Ruby are not known";
    return first_free() ? NULL : ALL_ARE_HANDLED;
}

bool rb_rpp_timers_start(rpp_engine_kind engine, rb_rpp_timer_handler handler)
{
    rb_rpp_timers_stop();
    if (engine == RPP_ENGINE_SAFEPOINT) return false;
    const char *why_not = obstacle();
    if (why_not) {
        rpp_log(RPP_LOG_WARN, "engine safepoint instead of signal: %s", why_not);
        return false;
    }
    on_expiry = handler;
    return install(first_free());
}

/* The handler stays: a signal that is still on its way finds no timer and does nothing. */
void rb_rpp_timers_stop(void)
{
    atomic_store(&in_use, NULL);
}

/* Timers are not inherited. */
void rb_rpp_timers_discard_after_fork(void)
{
    rb_rpp_timers_stop();
}

static void say_once(const char *what, const char *why)
{
    static bool said;
    if (!said) rpp_log(RPP_LOG_WARN, "no timer for some threads (%s%s): sampled at safepoints", what, why);
    said = true;
}

/* A thread inherits the mask of its creator. The mask belongs to the program: this reads it and does not change it. A
 * tick does nothing where faults are blocked. */
static const char *blocked_here(const timer_signal *used)
{
    sigset_t mask;
    if (pthread_sigmask(SIG_BLOCK, NULL, &mask) != 0) return NULL;
    if (sigismember(&mask, used->number)) return used->name;
    return sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGBUS) ? "SIGSEGV or SIGBUS" : NULL;
}

static bool create(rb_rpp_thread *t, const timer_signal *used)
{
    const char *blocked = blocked_here(used);
    if (blocked) {
        say_once(blocked, " is blocked");
        return false;
    }
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = used->number};
    event.sigev_value.sival_ptr = t;
    event.sigev_notify_thread_id = t->tid;
    clockid_t clock = RB_RPP_PROBED_PERIOD_NS ? CLOCK_MONOTONIC : t->cpu_clock;
    if (timer_create(clock, &event, &t->timer) != 0) {
        say_once(strerror(errno), "");
        return false;
    }
    t->has_timer = true;
    RB_RPP_PROBE(timer_created, t);
    return true;
}

void rb_rpp_timer_start(rb_rpp_thread *t)
{
    const timer_signal *used = atomic_load(&in_use);
    bool ticks = t->has_timer && t->ticking && !t->waits;
    t->waits = false;
    if (!used || !t->ledger.has_cpu_clock || !t->tid || ticks) return;
    if (!t->has_timer && !create(t, used)) return;
    rb_rpp_timer_go_on(t);
}

void rb_rpp_timer_start_when_it_runs(rb_rpp_thread *t)
{
    if (t->thread == rb_thread_current())
        rb_rpp_timer_start(t);
    else if (!t->has_timer || !t->ticking)
        rb_rpp_timer_wait(t);
}

void rb_rpp_timer_set_again(rb_rpp_thread *t)
{
    if (t->has_timer && !t->waits) rb_rpp_timer_go_on(t);
}

void rb_rpp_timer_stop(rb_rpp_thread *t)
{
    t->waits = false;
    if (!t->has_timer) return;
    t->has_timer = false;
    timer_delete(t->timer);
}

static void go_on_in(rb_rpp_thread *t, uint64_t ns)
{
    t->ticking = true;
    t->waits = false;
    set(t, ns);
}

void rb_rpp_timer_go_on(rb_rpp_thread *t)
{
    if (t->has_timer) go_on_in(t, rpp_ledger_silent_ns(&t->ledger));
}

void rb_rpp_timer_go_on_after_tick(rb_rpp_thread *t)
{
    if (t->has_timer) go_on_in(t, rpp_ledger_silent_after_tick_ns(&t->ledger));
}

void rb_rpp_timer_wait(rb_rpp_thread *t)
{
    t->ticking = t->waits = true;
}

#else

bool rb_rpp_timers_are_lost(void)
{
    return false;
}

rb_rpp_timers_fate rb_rpp_timers_recover(void)
{
    return RB_RPP_TIMERS_GIVEN_UP;
}

bool rb_rpp_timers_start(rpp_engine_kind engine, rb_rpp_timer_handler handler)
{
    return false;
}

void rb_rpp_timers_stop(void) {}

void rb_rpp_timers_discard_after_fork(void) {}

void rb_rpp_timer_start(rb_rpp_thread *t) {}

void rb_rpp_timer_start_when_it_runs(rb_rpp_thread *t) {}

void rb_rpp_timer_set_again(rb_rpp_thread *t) {}

void rb_rpp_timer_stop(rb_rpp_thread *t) {}

void rb_rpp_timer_go_on(rb_rpp_thread *t) {}

void rb_rpp_timer_go_on_after_tick(rb_rpp_thread *t) {}

void rb_rpp_timer_wait(rb_rpp_thread *t) {}

#endif
