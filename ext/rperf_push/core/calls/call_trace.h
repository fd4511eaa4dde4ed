/* call_trace.h - turns calls and returns into a call tree: who is on which stack, and whose the time is.
 *
 * Operation
 *   Each thread and fiber has a stack of the calls that are under way. One stack runs at a time. At each event the time
 *   since the last one goes to the call on top of it. When another stack runs, the time since it last ran is the
 *   waiting time of the call on top. So all nodes' self time sums up to the time that passed, to the nanosecond.
 *
 * Lost returns
 *   Each entry of a stack knows its depth: the place of its frame on the VM's stack. An event at a depth proves that
 *   all entries deeper than that have ended, even without an event: a throw over several frames, an overflow of the
 *   stack, a tail call.
 *
 * Speed
 *   What happens at each event is inline, so that a hook is one piece of code. Times may be in ticks of a counter
 *   instead of nanoseconds; then rpp_call_tree_scale makes nanoseconds of them at the end.
 *
 * Threads    one at a time: the thread that holds the GVL. Events allocate only when a stack is deeper than any before.
 * Ownership  the caller owns trace and stacks; the trace owns its tree.
 */
#ifndef RPP_CALL_TRACE_H
#define RPP_CALL_TRACE_H

#include <stddef.h>

#include "calls/call_tree.h"

typedef struct rpp_call_reading {
    uint64_t wall_ns, cpu_ns;
    uint64_t objects; /* created until now */
} rpp_call_reading;

typedef struct rpp_call_entry {
    uint32_t depth, node;
    uint64_t code; /* what its frame runs; 0: not known. What it means is the caller's business */
} rpp_call_entry;

typedef struct rpp_call_stack {
    rpp_call_entry *entries;
    size_t count, capacity;
    uint32_t root;
    uint64_t left_ns;      /* when another stack began to run */
    uint64_t suspended_ns; /* when its thread began to run another one; 0: it did not (call_states.h) */
} rpp_call_stack;

typedef struct rpp_call_trace {
    rpp_call_tree *tree;
    rpp_call_stack *running; /* NULL: no call's time passes */
    rpp_call_reading last;
    uint64_t events;
    uint64_t lost; /* calls that no memory was left for; their time is their caller's */
} rpp_call_trace;

/* A stack whose calls become nodes below this root. */
void rpp_call_stack_init(rpp_call_stack *stack, uint32_t root, uint64_t now_ns);
void rpp_call_stack_destroy(rpp_call_stack *stack);

/* The node of the call on top. */
static inline uint32_t rpp_call_stack_top(const rpp_call_stack *stack)
{
    return stack->count ? stack->entries[stack->count - 1].node : stack->root;
}

/* Of the call on top; 0: none. */
static inline uint32_t rpp_call_stack_depth(const rpp_call_stack *stack)
{
    return stack->count ? stack->entries[stack->count - 1].depth : 0;
}

/* What is at this depth or deeper has ended. The time until then must have gone to it. */
static inline void rpp_call_stack_drop(rpp_call_stack *stack, uint32_t depth)
{
    while (stack->count && stack->entries[stack->count - 1].depth >= depth) stack->count--;
}

/* The time until now goes to the call on top of the running stack. A clock that goes back stands still. */
static inline void rpp_call_trace_charge(rpp_call_trace *trace, rpp_call_reading now)
{
    if (now.wall_ns < trace->last.wall_ns) now.wall_ns = trace->last.wall_ns;
    if (trace->running) {
        rpp_call_node *node = rpp_call_tree_node(trace->tree, rpp_call_stack_top(trace->running));
        node->self_ns += now.wall_ns - trace->last.wall_ns;
        node->cpu_ns += now.cpu_ns - trace->last.cpu_ns;
        node->objects += now.objects - trace->last.objects;
    }
    trace->last = now;
}

/* A call without a place on the running stack: there is none, and no memory for it. */
void rpp_call_trace_push_deeper(rpp_call_trace *trace, rpp_call_entry entry);

/* A call begins on the running stack, whose time has been charged and whose ended calls have been dropped. */
static inline void rpp_call_trace_push(rpp_call_trace *trace, rpp_call_entry entry)
{
    rpp_call_stack *stack = trace->running;
    if (stack->count == stack->capacity) {
        rpp_call_trace_push_deeper(trace, entry);
        return;
    }
    stack->entries[stack->count++] = entry;
    rpp_call_tree_touch(trace->tree, entry.node);
    rpp_call_tree_node(trace->tree, entry.node)->calls++;
}

/* The call at this depth ends, and with it what is deeper. */
static inline void rpp_call_trace_leave(rpp_call_trace *trace, uint32_t depth, rpp_call_reading now)
{
    rpp_call_trace_charge(trace, now);
    trace->events++;
    rpp_call_stack_drop(trace->running, depth);
}

/* This stack runs from now on. NULL: none does, and no time passes. */
void rpp_call_trace_switch(rpp_call_trace *trace, rpp_call_stack *stack, rpp_call_reading now);
/* A method is called, whose frame is at this depth (at least 1). */
void rpp_call_trace_enter(rpp_call_trace *trace, uint32_t depth, uint32_t method, rpp_call_reading now);
/* A call that began before the tracing: it is not counted. From the root up, on any stack. */
void rpp_call_trace_open(rpp_call_trace *trace, rpp_call_stack *stack, uint32_t depth, uint32_t method, uint64_t code);
/* What the running stack has deeper than that is gone. */
void rpp_call_trace_unwind(rpp_call_trace *trace, uint32_t depth, rpp_call_reading now);
/* Everything that is open may get something from now on: its time, or that of what returns to it. */
void rpp_call_stack_touch(const rpp_call_stack *stack, rpp_call_tree *tree);
/* A stack that does not run waits until now. */
void rpp_call_trace_wait(rpp_call_trace *trace, rpp_call_stack *stack, uint64_t now_ns);

#endif
