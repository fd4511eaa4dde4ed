/* rb_push.h - moves what a ledger holds into the buffers of all outlets that are on (rb_outlets.h).
 *
 * Threads    the thread that holds the GVL, also in handlers and hooks; nothing here allocates. In a section of the thread.
 * Ownership  records belong to rb_threads; a stack is only read.
 */
#ifndef RB_PUSH_H
#define RB_PUSH_H

#include "rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "rb_threads.h"

/* Pushes the time that is due in each state, with the stack. False: there was no room for some of it, which stays in the
 * ledger. */
bool rb_rpp_push_due(rb_rpp_thread *t, const rpp_location *stack, uint32_t depth);
/* Pushes the sum of each state, without a stack. False: as above. */
bool rb_rpp_push_sums(rb_rpp_thread *t);
/* The thread goes to sleep, possibly for several windows: pushes its sums now, if they are large. Its ledger must be of the
 * current window. */
static inline void rb_rpp_tell_sums(rb_rpp_thread *t)
{
    if (rpp_ledger_sums_are_large(&t->ledger)) (void)rb_rpp_push_sums(t); /* no room: with the window's end */
}

#endif
