/* call_trace.h - turns calls and returns into a call tree: who is on which stack, and whose the time is.
 *
 * Operation
 *   Each thread and fiber has a stack of the calls that are under way. One stack runs at a time. At each event the time since the
 *   last one goes to the call on top of it. When another stack runs, the time since it last ran is the waiting time of the
 *   call on top. So all nodes' own time sums up to the time that passed, to the nanosecond.
 *
 * Lost returns
 *   Each entry of a stack knows its depth: the place of its frame on the VM's stack. An event at a depth proves that all entries
 *   deeper than that have ended, even if nobody said so: a throw over several frames, an overflow of the stack, a tail call.
 *
 * Threads    one at a time: whoever holds the GVL. Events allocate only when a stack is deeper than any before.
 * Ownership  the caller owns trace and stacks; the trace owns its tree.
 */
#ifndef RPP_CALL_TRACE_H
#define RPP_CALL_TRACE_H

#include <stddef.h>

#include "calls/call_tree.h"

typedef struct rpp_call_reading {
    uint64_t wall_ns, cpu_ns;
} rpp_call_reading;

typedef struct rpp_call_entry {
    uint32_t depth, node;
} rpp_call_entry;

typedef struct rpp_call_stack {
    rpp_call_entry *entries;
    size_t count, capacity;
    uint32_t root;
    uint64_t left_ns; /* when another stack began to run */
} rpp_call_stack;

typedef struct rpp_call_trace {
    rpp_call_tree *tree;
    rpp_call_stack *running; /* NULL: nobody's time passes */
    rpp_call_reading last;
    uint64_t events;
    uint64_t lost; /* calls that no memory was left for; their time is their caller's */
} rpp_call_trace;

/* A stack whose calls become nodes below this root. */
void rpp_call_stack_init(rpp_call_stack *stack, uint32_t root, uint64_t now_ns);
void rpp_call_stack_destroy(rpp_call_stack *stack);
/* The node of the call on top. */
uint32_t rpp_call_stack_top(const rpp_call_stack *stack);
/* Of the call on top; 0: none. */
uint32_t rpp_call_stack_depth(const rpp_call_stack *stack);

/* This stack runs from now on. NULL: none does, and no time passes. */
void rpp_call_trace_switch(rpp_call_trace *trace, rpp_call_stack *stack, rpp_call_reading now);
/* The time until now goes to the call on top of the running stack. */
void rpp_call_trace_charge(rpp_call_trace *trace, rpp_call_reading now);
/* A method is called, whose frame is at this depth (at least 1). */
void rpp_call_trace_enter(rpp_call_trace *trace, uint32_t depth, uint32_t method, rpp_call_reading now);
/* The call at this depth ends, and with it what is deeper. */
void rpp_call_trace_leave(rpp_call_trace *trace, uint32_t depth, rpp_call_reading now);
/* A call that began before the tracing: it is not counted. From the root up, on any stack. */
void rpp_call_trace_open(rpp_call_trace *trace, rpp_call_stack *stack, uint32_t depth, uint32_t method);
/* What the running stack has deeper than that is gone. */
void rpp_call_trace_unwind(rpp_call_trace *trace, uint32_t depth, rpp_call_reading now);
/* A stack that does not run waits until now. */
void rpp_call_trace_wait(rpp_call_trace *trace, rpp_call_stack *stack, uint64_t now_ns);

#endif
