/* rb_timers.h - engine signal: each Ruby thread owns a timer on its own CPU clock and handles the timer's signal
 * itself.
 *
 * A sleeping thread uses no CPU, so it gets no signal. The signal is SIGURG, or SIGWINCH if the program handles that
 * one itself (as Puma does with fork_worker). Both are ignored by default, so a signal that is still pending at exec
 * does no harm.
 *
 * The kernel checks CPU timers at its own ticks. Which of these ticks are taken is chosen in advance
 * (core/sampling/tick_thinning.h): the timer is set to the start of the next interval, and within an interval to every
 * tick.
 *
 * If this cannot work (other systems, Ruby before 3.3.4, which has no fence where it pushes frames, M:N threads, a
 * program that handles both signals), the engine is `safepoint`.
 *
 * Threads    start, stop: under the GVL. The handler runs on the thread that owns the timer.
 * Ownership  a thread's record owns its timer.
 */
#ifndef RB_TIMERS_H
#define RB_TIMERS_H

#include "core/settings/settings.h"
#include "threads/rb_threads.h"

/* It must call go_on or wait; otherwise no tick follows until the timer is started again. */
typedef void (*rb_rpp_timer_handler)(rb_rpp_thread *thread);

/* Installs the handler. False: the engine is safepoint; a log line says so, unless the settings ask for it. */
bool rb_rpp_timers_start(rpp_engine_kind engine, rb_rpp_timer_handler handler);
void rb_rpp_timers_stop(void);
/* True if the program has changed the signal's handler. Any thread. */
bool rb_rpp_timers_are_lost(void);

typedef enum rb_rpp_timers_fate {
    RB_RPP_TIMERS_TAKEN_BACK, /* no handler is set, for example after a worker has reset all: set all timers again */
    RB_RPP_TIMERS_MOVED,      /* the program handles it, and another one is used: stop all timers and start them */
    RB_RPP_TIMERS_GIVEN_UP,   /* the program handles all: stop all timers */
} rb_rpp_timers_fate;

/* After the program has changed the signal's handler. Ticks in between are lost. Under the GVL, where Ruby sets
 * traps. */
rb_rpp_timers_fate rb_rpp_timers_recover(void);
void rb_rpp_timers_discard_after_fork(void);

/* On the thread itself: starts the timer if it is not running. Does nothing with engine safepoint. A thread without a
 * timer gets the collector's ticks. */
void rb_rpp_timer_start(rb_rpp_thread *thread);
/* The same for any thread, when it runs next; the calling thread runs now. A thread that sleeps needs no timer, and
 * only the thread itself knows without a look into /proc which signals it blocks. */
void rb_rpp_timer_start_when_it_runs(rb_rpp_thread *thread);
/* Sets the timer again, because its tick may be lost. */
void rb_rpp_timer_set_again(rb_rpp_thread *thread);
void rb_rpp_timer_stop(rb_rpp_thread *thread);

/* --- in the handler, or on the thread itself --- */

/* Sets the timer to the next tick that may be taken. */
void rb_rpp_timer_go_on(rb_rpp_thread *thread);
/* The same right after the ledger was told of a tick; it does not read the clock. */
void rb_rpp_timer_go_on_after_tick(rb_rpp_thread *thread);
/* No tick before the thread runs again: see catch_up. */
void rb_rpp_timer_wait(rb_rpp_thread *thread);
static inline void rb_rpp_timer_catch_up(rb_rpp_thread *thread)
{
    if (thread->waits) rb_rpp_timer_start(thread);
}

#endif
