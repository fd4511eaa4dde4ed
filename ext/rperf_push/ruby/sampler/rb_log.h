/* rb_log.h - passes log lines of the core to Ruby's logger.
 *
 * The core logs from threads that must not call Ruby. With a logger given, lines wait in a small ring; a job at the
 * next safepoint starts a short-lived Ruby thread that hands them over, so that a slow logger holds up no thread.
 *
 * Threads    application threads with the GVL; the core's own log from any.
 * Ownership  the logger is kept from the GC until it is replaced.
 */
#ifndef RB_LOG_H
#define RB_LOG_H

#include "vm/rb_compat.h"

#include "sampler/rb_fork_and_exit.h"

extern const rb_rpp_participant rb_rpp_log_participant;

void rb_rpp_log_init(void);
/* Sets the logger, an object with info, warn and error; nil means standard error. */
void rb_rpp_log_to(VALUE logger);
/* Passes waiting lines on, on the calling thread. */
void rb_rpp_log_flush(void);

#endif
