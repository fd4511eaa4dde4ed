/* rb_inspect.h - where every thread is now, for a peer of the control socket.
 *
 * Operation
 *   The server's thread asks for a job. At the next safepoint the job walks the stacks of all threads. They do not
 *   change, because the job holds the GVL. If no safepoint comes, because one thread keeps the GVL or because no thread
 *   runs, the answer contains what is known without one: which thread holds the GVL and how much CPU time it uses, what
 *   the others wait for, and the stack and age of each thread's last capture. An inspection interrupts no thread and
 *   wakes none.
 *
 * Threads    the control server's; one inspection at a time. init, discard_after_fork, current_stacks: under the GVL.
 * Ownership  the caller owns the document; the current stacks live as long as the process.
 */
#ifndef RB_INSPECT_H
#define RB_INSPECT_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "core/base/byte_sink.h"
#include "core/base/status.h"
#include "core/profile/current_stacks.h"

void rb_rpp_inspect_init(void);
/* Writes a JSON document, within a second. */
RPP_NODISCARD rpp_status rb_rpp_inspect(rpp_byte_sink *document);
/* On: an inspection ends at once with what it knows. Call it before you join the server's thread. */
void rb_rpp_inspect_give_up(bool on);
void rb_rpp_inspect_discard_after_fork(void);

/* Returns the table in which the continuous session notes its captures, or NULL if out of memory. */
rpp_current_stacks *rb_rpp_inspect_current_stacks(void);

#endif
