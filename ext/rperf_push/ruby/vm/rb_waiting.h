/* rb_waiting.h - waits for our own threads, without the GVL, until a deadline or an interrupt.
 *
 * An exception for the caller (Timeout, Thread#raise, Thread#kill, a signal handler that raises) ends the wait at once.
 * The functions return the exception instead of raising it, because the caller may have to clean up first.
 *
 * Threads    under the GVL, in a method.
 * Ownership  the caller keeps the context; rb_rpp_finish_later passes it to `finish`.
 */
#ifndef RB_WAITING_H
#define RB_WAITING_H

#include "vm/rb_compat.h"

#include <stdint.h>

#include "core/base/cancellation.h"
#include "core/base/status.h"

/* Waits without the GVL. RPP_TIMEOUT: the deadline passed, or the wait was cancelled.
 * If the caller was interrupted without an exception, it is called again and continues. */
typedef rpp_status rb_rpp_wait(void *context, rpp_cancellation *cancellation);

/* Runs the wait until it ends, or until the deadline (monotonic). Returns 0, or the tag of an exception, for
 * rb_jump_tag; *status is then RPP_TIMEOUT, unless the wait had ended. */
int rb_rpp_wait_until(rb_rpp_wait *wait, void *context, uint64_t deadline_ns, rpp_status *status);

/* Runs `finish` in a new thread that never calls Ruby, so it may wait as long as necessary. RPP_IO: the system could
 * not create a thread, and `finish` does not run. */
RPP_NODISCARD rpp_status rb_rpp_finish_later(void *(*finish)(void *context), void *context);

#endif
