/* call_trace.c - turns calls and returns into a call tree: who is on which stack, and whose the time is. */
#include "calls/call_trace.h"

#include "base/alloc.h"

void rpp_call_stack_init(rpp_call_stack *stack, uint32_t root, uint64_t now_ns)
{
    *stack = (rpp_call_stack){.root = root, .left_ns = now_ns};
}

void rpp_call_stack_destroy(rpp_call_stack *stack)
{
    rpp_free(stack->entries);
    *stack = (rpp_call_stack){0};
}

uint32_t rpp_call_stack_top(const rpp_call_stack *stack)
{
    return stack->count ? stack->entries[stack->count - 1].node : stack->root;
}

uint32_t rpp_call_stack_depth(const rpp_call_stack *stack)
{
    return stack->count ? stack->entries[stack->count - 1].depth : 0;
}

void rpp_call_trace_charge(rpp_call_trace *trace, rpp_call_reading now)
{
    if (trace->running) {
        rpp_call_node *node = rpp_call_tree_node(trace->tree, rpp_call_stack_top(trace->running));
        node->self_ns += now.wall_ns - trace->last.wall_ns;
        node->cpu_ns += now.cpu_ns - trace->last.cpu_ns;
    }
    trace->last = now;
}

void rpp_call_trace_wait(rpp_call_trace *trace, rpp_call_stack *stack, uint64_t now_ns)
{
    rpp_call_tree_node(trace->tree, rpp_call_stack_top(stack))->wait_ns += now_ns - stack->left_ns;
    stack->left_ns = now_ns;
}

void rpp_call_trace_switch(rpp_call_trace *trace, rpp_call_stack *stack, rpp_call_reading now)
{
    if (stack == trace->running) return;
    rpp_call_trace_charge(trace, now);
    if (trace->running) trace->running->left_ns = now.wall_ns;
    if (stack) rpp_call_trace_wait(trace, stack, now.wall_ns);
    trace->running = stack;
}

static void drop_from(rpp_call_stack *stack, uint32_t depth)
{
    while (stack->count && stack->entries[stack->count - 1].depth >= depth) stack->count--;
}

static bool push(rpp_call_trace *trace, rpp_call_stack *stack, rpp_call_entry entry)
{
    if (stack->count == stack->capacity &&
        rpp_grow((void **)&stack->entries, &stack->capacity, stack->count + 1, sizeof *stack->entries) != RPP_OK) {
        trace->lost++;
        return false;
    }
    stack->entries[stack->count++] = entry;
    return true;
}

void rpp_call_trace_enter(rpp_call_trace *trace, uint32_t depth, uint32_t method, rpp_call_reading now)
{
    rpp_call_stack *stack = trace->running;
    rpp_call_trace_charge(trace, now);
    trace->events++;
    drop_from(stack, depth);
    uint32_t node = rpp_call_tree_child(trace->tree, rpp_call_stack_top(stack), method);
    if (push(trace, stack, (rpp_call_entry){depth, node})) rpp_call_tree_node(trace->tree, node)->calls++;
}

void rpp_call_trace_leave(rpp_call_trace *trace, uint32_t depth, rpp_call_reading now)
{
    rpp_call_trace_charge(trace, now);
    trace->events++;
    drop_from(trace->running, depth);
}

void rpp_call_trace_open(rpp_call_trace *trace, rpp_call_stack *stack, uint32_t depth, uint32_t method)
{
    uint32_t node = rpp_call_tree_child(trace->tree, rpp_call_stack_top(stack), method);
    (void)push(trace, stack, (rpp_call_entry){depth, node});
}

void rpp_call_trace_unwind(rpp_call_trace *trace, uint32_t depth, rpp_call_reading now)
{
    rpp_call_trace_charge(trace, now);
    drop_from(trace->running, depth + 1);
}
