/* rb_rotation.h - the end of a window: every thread's clocks closed at one boundary in time.
 *
 * Operation
 *   The boundary is fixed first, then threads are settled up to it, in slices of a time budget. A thread that does something
 *   before its turn has come settles itself first: nobody's time slips into the next window.
 *
 * Threads    the thread that holds the GVL. settle_if_late also from hooks and handlers, for the calling thread.
 */
#ifndef RB_ROTATION_H
#define RB_ROTATION_H

#include "rb_capture.h"

/* Begins to end the outlet's window, or goes on with it. True: all threads are settled. False: the budget is spent, there is
 * no room for more samples, or the collector has not taken the last window yet; call again. */
bool rb_rpp_rotate(rb_rpp_outlet outlet, uint64_t budget_ns, rb_rpp_occasion when);

/* How often a window began to end. */
extern _Atomic uint32_t rb_rpp_boundaries;

/* For a thread that a rotation under way has not come to yet: its time so far belongs to the window that ends. False: it is late
 * still, and time of now would go into that window. */
bool rb_rpp_settle_late(rb_rpp_thread *t);
static inline bool rb_rpp_settle_if_late(rb_rpp_thread *t)
{
    return t->boundaries == atomic_load_explicit(&rb_rpp_boundaries, memory_order_relaxed) || rb_rpp_settle_late(t);
}

/* What all threads gathered so far goes to the outlets that are on now. */
void rb_rpp_settle_all(uint64_t now_ns);

#endif
