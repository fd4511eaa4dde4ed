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

void rpp_call_trace_wait(rpp_call_trace *trace, rpp_call_stack *stack, uint64_t now_ns)
{
    if (now_ns < stack->left_ns) return;
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

static bool has_room(rpp_call_trace *trace, rpp_call_stack *stack)
{
    if (stack->count < stack->capacity) return true;
    if (rpp_grow((void **)&stack->entries, &stack->capacity, stack->count + 1, sizeof *stack->entries) == RPP_OK)
        return true;
    trace->lost++;
    return false;
}

void rpp_call_trace_push_deeper(rpp_call_trace *trace, rpp_call_entry entry)
{
    if (has_room(trace, trace->running)) rpp_call_trace_push(trace, entry);
}

void rpp_call_trace_enter(rpp_call_trace *trace, uint32_t depth, uint32_t method, rpp_call_reading now)
{
    rpp_call_trace_leave(trace, depth, now);
    const rpp_call_stack *stack = trace->running;
    uint32_t node = rpp_call_tree_called(trace->tree, stack->root, rpp_call_stack_top(stack), method);
    rpp_call_trace_push(trace, (rpp_call_entry){depth, node, 0});
}

void rpp_call_trace_open(rpp_call_trace *trace, rpp_call_stack *stack, uint32_t depth, uint32_t method, uint64_t code)
{
    uint32_t node = rpp_call_tree_called(trace->tree, stack->root, rpp_call_stack_top(stack), method);
    if (!has_room(trace, stack)) return;
    stack->entries[stack->count++] = (rpp_call_entry){depth, node, code};
    rpp_call_tree_touch(trace->tree, node);
}

void rpp_call_stack_touch(const rpp_call_stack *stack, rpp_call_tree *tree)
{
    rpp_call_tree_touch(tree, stack->root);
    for (size_t i = 0; i < stack->count; i++) rpp_call_tree_touch(tree, stack->entries[i].node);
}

void rpp_call_trace_unwind(rpp_call_trace *trace, uint32_t depth, rpp_call_reading now)
{
    rpp_call_trace_charge(trace, now);
    rpp_call_stack_drop(trace->running, depth + 1);
}
