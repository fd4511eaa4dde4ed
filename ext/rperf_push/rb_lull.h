/* rb_lull.h - a lull: the hooks are silent for a while, where they alone would break the budget.
 *
 * Operation
 *   A program that changes threads tens of thousands of times a second pays for the hooks more than the budget allows, however
 *   seldom it is sampled. So they listen for a part of the time only. Afterwards a thread whose CPU clock stands still has
 *   done all the while what it did before, exactly. The others' time, measured to the nanosecond and under its labels, is
 *   shared out among their states as before the lull, and goes to the stack that the next capture finds.
 *
 * Threads    the thread that holds the GVL: jobs, methods, and a thread at its own end. Allocates nothing.
 */
#ifndef RB_LULL_H
#define RB_LULL_H

#include "rb_threads.h"

/* Any thread, any context. What is wanted comes about with the next job. */
void rb_rpp_lull_want(bool wanted);
bool rb_rpp_lull_is_wanted(void);
bool rb_rpp_is_lull(void);
void rb_rpp_lull_begin(uint64_t now_ns);
/* Nothing where there is none. */
void rb_rpp_lull_end(uint64_t now_ns);
/* In a lull, the calling thread's labels are about to change: its time up to now was under those of before. */
void rb_rpp_lull_pass(rb_rpp_thread *t, uint64_t now_ns);
/* In a lull: all of the thread's time up to now is on its clocks. */
void rb_rpp_lull_catch_up(rb_rpp_thread *t, uint64_t now_ns);
void rb_rpp_lull_forget_after_fork(void);

#endif
