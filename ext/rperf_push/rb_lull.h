/* rb_lull.h - a lull: the hooks are silent for a while, because they alone would exceed the budget.
 *
 * Operation
 *   In a program with tens of thousands of thread switches per second, the hooks alone cost more than the budget allows,
 *   whatever the sampling period. So they are silent for a part of the time. To the ledgers of threads, this is a silence.
 *
 * Threads    the thread that holds the GVL: jobs, methods, and a thread at its own end. Allocates nothing.
 * Ownership  the process has one lull.
 */
#ifndef RB_LULL_H
#define RB_LULL_H

#include "rb_threads.h"

/* Any thread, any context. The next job begins or ends the lull. */
void rb_rpp_lull_want(bool wanted);
bool rb_rpp_lull_is_wanted(void);
bool rb_rpp_is_lull(void);
/* For all ledgers a silence begins, or ends. Only rb_hooks calls these: it also stops and starts the hooks. `current`: the calling
 * thread's record, or NULL. */
void rb_rpp_lull_begin(uint64_t now_ns);
void rb_rpp_lull_end(rb_rpp_thread *current, uint64_t now_ns);
/* A thread born in a lull takes part in it. */
void rb_rpp_lull_join(rb_rpp_thread *t);
void rb_rpp_lull_forget_after_fork(void);

#endif
