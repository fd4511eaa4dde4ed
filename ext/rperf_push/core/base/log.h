/* log.h - log lines from any thread.
 *
 * Lines go to a sink, by default standard error. The binding installs a sink that keeps lines until Ruby's logger can
 * write them. Each line begins with "[rperf-push] " and contains no newline.
 *
 * Threads    any thread; the sink is called without a lock. Not async-signal-safe.
 * Ownership  the sink must copy the line if it keeps it; `context` belongs to the caller.
 */
#ifndef RPP_LOG_H
#define RPP_LOG_H

#include "base/status.h"

typedef enum rpp_log_level { RPP_LOG_INFO, RPP_LOG_WARN, RPP_LOG_ERROR } rpp_log_level;

typedef void (*rpp_log_sink)(rpp_log_level level, const char *line, void *context);

#define RPP_LOG_LINE_MAX 1024

/* NULL restores standard error. */
void rpp_log_set_sink(rpp_log_sink sink, void *context);

/* Replaces control characters in the arguments (server messages, names) by '?'. */
void rpp_log(rpp_log_level level, const char *format, ...) RPP_PRINTF(2, 3);

/* In a forked child: creates fresh locks. */
void rpp_log_discard_after_fork(void);

#endif
