/* rb_timers.h - engine signal: every Ruby thread owns a timer on its own CPU clock, whose signal it handles itself.
 *
 * A sleeping thread burns no CPU and so is never signalled. The signal is SIGURG, whose default is to be ignored: one that is
 * still pending at exec hurts nobody. Expiries carry jitter, so that they do not lock onto periodic code.
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

/* Without a rearm no tick follows until the timer is started again. */
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
/* In the handler: the next tick comes after about a period of CPU time. */
void rb_rpp_timer_rearm(rb_rpp_thread *thread);

#endif
