/* call_states.h - what a thread does while no event of its calls comes: it is blocked, waits for the VM's lock, or
 * collects garbage.
 *
 * Operation
 *   The VM tells when a thread releases its lock, wants it, and gets it again, and when it begins and ends a pause of
 *   the GC. What passes is kept with the thread. At the thread's next event it goes to the call on top of its stack,
 *   which is the same as before. So what a call ran is its self time and its waiting without these states. A fiber is
 *   suspended while its thread runs another one.
 *
 * Threads    wanted: any, at any time. The others: the thread itself, which holds the VM's lock or is about to release
 *            it, or one that holds it instead. No allocation, no lock.
 * Ownership  the caller owns threads and stacks.
 */
#ifndef RPP_CALL_STATES_H
#define RPP_CALL_STATES_H

#include <stdatomic.h>

#include "calls/call_trace.h"

/* No state: it runs. */
#define RPP_CALL_RUNS RPP_CALL_STATES

/* Times are those of the trace: nanoseconds or ticks. */
typedef struct rpp_call_thread {
    rpp_call_stack *stack; /* that it runs, or ran last; NULL: none that is known */
    rpp_call_state state;  /* RPP_CALL_BLOCKED stands for waiting, too */
    uint64_t since_ns;
    _Atomic uint64_t wanted_ns;          /* the lock; 0: it does not want it */
    uint64_t passed_ns[RPP_CALL_STATES]; /* since the last event of its stack */
} rpp_call_thread;

/* The tracing begins. `wants`: it does not run, but only because another thread does. */
void rpp_call_thread_begin(rpp_call_thread *thread, bool runs, bool wants, uint64_t now_ns);

/* It gives the lock away. May be told twice. */
void rpp_call_thread_released(rpp_call_thread *thread, uint64_t now_ns);
void rpp_call_thread_wanted(rpp_call_thread *thread, uint64_t now_ns);
void rpp_call_thread_got(rpp_call_thread *thread, uint64_t now_ns);
/* RPP_CALL_GC_MARKING, RPP_CALL_GC_SWEEPING, or RPP_CALL_RUNS at the end of the pause. */
void rpp_call_thread_collects(rpp_call_thread *thread, rpp_call_state phase, uint64_t now_ns);

/* What passed until now goes to the call on top. Before an event changes its stack, and at the end of the tracing. */
void rpp_call_thread_flush(rpp_call_thread *thread, rpp_call_tree *tree, uint64_t now_ns);
/* It has the lock, and runs this stack from now on: the one that it ran before is suspended. */
void rpp_call_thread_runs(rpp_call_thread *thread, rpp_call_stack *stack, rpp_call_tree *tree, uint64_t now_ns);
/* A stack that its thread does not run is suspended until now. */
void rpp_call_stack_suspended(rpp_call_stack *stack, rpp_call_tree *tree, uint64_t now_ns);

#endif
