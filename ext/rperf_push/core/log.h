/* log.h - one line for a human, from any thread.
 *
 * Lines go to a sink: standard error by default. The Ruby side installs one that keeps them until Ruby's own logger can
 * take them. Each line starts with "[rperf-push] " and holds no newline of its own.
 *
 * Threads    any thread; the sink is called with no lock of ours held. Not async-signal-safe.
 */
#ifndef RPP_LOG_H
#define RPP_LOG_H

#include "status.h"

typedef enum rpp_log_level { RPP_LOG_INFO, RPP_LOG_WARN, RPP_LOG_ERROR } rpp_log_level;

typedef void (*rpp_log_sink)(rpp_log_level level, const char *line, void *context);

#define RPP_LOG_LINE_MAX 1024

/* NULL goes back to standard error. */
void rpp_log_set_sink(rpp_log_sink sink, void *context);

/* Control characters in what the arguments bring (server messages, names) are replaced by '?'. */
void rpp_log(rpp_log_level level, const char *format, ...) RPP_PRINTF(2, 3);

/* Fresh locks in a forked child. */
void rpp_log_forget_after_fork(void);

#endif
