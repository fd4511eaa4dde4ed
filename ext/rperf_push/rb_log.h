/* rb_log.h - log lines of the core for Ruby's own logger.
 *
 * The core logs from threads that must not call Ruby. With a logger given, lines wait in a small ring; a job at the next
 * safepoint starts a short-lived Ruby thread that hands them over, so that a slow logger holds up nobody.
 */
#ifndef RB_LOG_H
#define RB_LOG_H

#include "rb_compat.h"

void rb_rpp_log_init(void);
/* An object with info, warn and error; nil: standard error. */
void rb_rpp_log_to(VALUE logger);
/* Hands over what waits, on the calling thread. */
void rb_rpp_log_flush(void);
void rb_rpp_log_forget_after_fork(void);

#endif
