/* rb_timers.h - engine signal: every Ruby thread owns a timer on its own CPU clock, whose signal it handles itself.
 *
 * A sleeping thread burns no CPU and so is never signalled. The signal is SIGURG, whose default is to be ignored: one that is
 * still pending at exec hurts nobody. Periods carry jitter, so that they do not lock onto periodic code.
 *
 * The timer counts all CPU time of the thread, but a period is time that it *ran*: without the GC, without what it burns off the
 * GVL. A tick that comes before that time has passed sets the timer again to what is left. Were it taken, or forgotten, methods
 * that allocate would get less or more of the time around them than those that do not.
 *
 * Where this cannot work - other systems, Ruby before 3.3.4 (no fence where frames are pushed), M:N threads, a SIGURG handler
 * of someone else - the engine is `safepoint`.
 *
 * Threads    start, stop: under the GVL. The handler runs on the thread that the timer belongs to.
 */
#ifndef RB_TIMERS_H
#define RB_TIMERS_H

#include "core/settings.h"
#include "rb_threads.h"

/* Without one of next, retry and owe no tick follows until the timer is started again. */
typedef void (*rb_rpp_timer_handler)(rb_rpp_thread *thread);

/* Installs the handler. False: the engine is safepoint (said in a log line unless that was asked for). */
bool rb_rpp_timers_start(rpp_engine_kind engine, rb_rpp_timer_handler handler);
void rb_rpp_timers_stop(void);
/* The program has taken the signal for itself since: stop them all. Any thread. */
bool rb_rpp_timers_are_lost(void);
void rb_rpp_timers_forget_after_fork(void);
void rb_rpp_timers_set_period(uint64_t period_ns);

/* Sets the timer going, if it is not. Nothing where the engine is safepoint. A thread that gets no timer is left to the collector's ticks. */
void rb_rpp_timer_start(rb_rpp_thread *thread);
void rb_rpp_timer_stop(rb_rpp_thread *thread);
/* Whether the thread has run for a period, by a CPU clock that was just read. */
bool rb_rpp_timer_is_due(const rb_rpp_thread *thread);

/* --- in the handler --- */

/* A tick was taken: the next one comes when the thread has run for about a period. */
void rb_rpp_timer_next(rb_rpp_thread *thread);
/* It could not be taken yet: again when the thread has run for what is left. */
void rb_rpp_timer_retry(rb_rpp_thread *thread);
/* The same, but the time does not begin before the thread runs again: see catch_up. */
void rb_rpp_timer_owe(rb_rpp_thread *thread);

/* --- in a hook, on the thread itself --- */

/* It runs again: the tick that it is owed is on its way from now on. */
void rb_rpp_timer_pay(rb_rpp_thread *thread);
static inline void rb_rpp_timer_catch_up(rb_rpp_thread *thread)
{
    if (thread->owed) rb_rpp_timer_pay(thread);
}

#endif
