/* rb_engine.h - ticks: where they come from, and what each of them captures.
 *
 * Vocabulary
 *   engine signal      each thread's timer ticks on its CPU clock and is handled at once (rb_timers.h).
 *   engine safepoint   the collector ticks, and a job looks at the running thread at its next safepoint. It also does
 *                      so with engine signal, for a thread that sleeps while it holds the GVL.
 *
 * Threads    under the GVL, unless a line says something else. Ticks of timers are taken on the thread that owns the
 *            timer.
 * Ownership  records belong to rb_threads.
 */
#ifndef RB_ENGINE_H
#define RB_ENGINE_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/ticker.h"
#include "core/settings/settings.h"
#include "threads/rb_threads.h"

/* Starts the wanted engine, or safepoint if signal cannot work here. Timers of threads start with sampling
 * (rb_hooks). */
void rb_rpp_engine_start(rpp_engine_kind wanted);
/* Stops the timers of all threads. */
void rb_rpp_engine_stop(void);
/* The engine in use: "signal" or "safepoint". */
const char *rb_rpp_engine_name(void);

/* True if the program has changed the signal's handler: trigger a job, which calls regain. Any thread. */
bool rb_rpp_engine_is_lost(void);
/* Takes a lost signal back, or changes to engine safepoint. True: it was lost, so ticks may have been lost, too. In a
 * job. */
bool rb_rpp_engine_regain(void);

/* True if the thread, which held the GVL a moment ago, needs a tick of the collector. Any thread. */
bool rb_rpp_engine_is_overdue(const rb_rpp_thread *running);
/* The calling thread takes the collector's ticks, in a job at a safepoint. If the thread has a timer, it may have slept
 * while it held the GVL. */
void rb_rpp_engine_tick(rb_rpp_thread *self, const rpp_ticks *ticks, uint64_t now_ns);

#endif
