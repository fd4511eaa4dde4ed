/* rb_push.h - moves what a ledger holds into the buffers of all subscribers that are on (rb_subscribers.h).
 *
 * Threads    the thread that holds the GVL, also in handlers and hooks; nothing here allocates. In a section of the
 *            thread.
 * Ownership  records belong to rb_threads; a stack is only read.
 */
#ifndef RB_PUSH_H
#define RB_PUSH_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "threads/rb_threads.h"

/* Pushes the time that is due in each state, with the stack. False: there was no room for some of it, which stays in
 * the ledger. */
bool rb_rpp_push_due(rb_rpp_thread *t, const rpp_location *stack, uint32_t depth);
/* Pushes the sum of each state, without a stack. False: as above. */
bool rb_rpp_push_totals(rb_rpp_thread *t);
/* Pushes a sample of a value that the program counts, with the thread's window. `sample` needs its labels (borrowed),
 * id, number, depth and thread. Where there is no room, the next sample of the same value weighs for this one, too. */
void rb_rpp_push_custom(const rb_rpp_thread *t, const rpp_sample *sample, const rpp_location *stack);
/* What no such sample has followed goes into the window that ends, without its stack. False: no room. */
bool rb_rpp_push_carried(rb_rpp_subscriber subscriber, uint32_t window);
/* A session begins at this subscriber, or a forked child has none. */
void rb_rpp_discard_carried(rb_rpp_subscriber subscriber);
/* Pushes a sample that no ledger holds to one subscriber; it keeps its own reference to the labels. */
rpp_status rb_rpp_push_counted(rb_rpp_subscriber subscriber, uint32_t window, const rpp_sample *sample,
                               const rpp_location *stack);
/* The thread goes to sleep, possibly for several windows: pushes its sums now, if they are large. Its ledger must be of
 * the current window. */
static inline void rb_rpp_push_large_totals(rb_rpp_thread *t)
{
    if (rpp_ledger_total_is_large(&t->ledger)) (void)rb_rpp_push_totals(t); /* no room: with the window's end */
}

#endif
