/* rb_step.h - in the testing build: runs a handler after every instruction of a thread.
 *
 * Operation
 *   On x86-64 Linux, the processor's trap flag raises SIGTRAP after each instruction, without a debugger or ptrace.
 *   Threads and fibers that the thread starts while it steps also step. A program that blocks all signals, as the C
 *   library does around clone, still keeps SIGTRAP unblocked, because the kernel would kill it otherwise. With a gap,
 *   the thread steps in bursts at random instants, for operations with too many instructions. On other systems
 *   rb_rpp_step_begin returns false.
 *
 * Threads    begin, end: the thread that steps. The handler may run on several stepping threads at the same time.
 * Ownership  options are copied.
 */
#ifndef RB_STEP_H
#define RB_STEP_H

#ifdef RPP_TESTING

#include <stdbool.h>
#include <stdint.h>

/* Runs in a signal handler, with all other signals blocked. The next instruction is at this address. `first`: the first
 * of a burst. */
typedef void (*rb_rpp_step_handler)(uintptr_t address, bool first);

typedef struct rb_rpp_step_options {
    rb_rpp_step_handler handler;
    uint64_t steps_max;     /* afterwards the thread runs without steps */
    uint64_t burst, gap_ns; /* steps of a burst, and the longest gap between bursts; 0: no bursts */
    uint64_t seed;          /* for the gaps */
} rb_rpp_step_options;

bool rb_rpp_step_is_possible(void);
/* False: not possible on this system. */
bool rb_rpp_step_begin(const rb_rpp_step_options *options);
/* Returns the number of steps. */
uint64_t rb_rpp_step_end(void);
/* Resumes stepping after a jump out of a signal handler has stopped it. */
void rb_rpp_step_again(void);

#endif

#endif
