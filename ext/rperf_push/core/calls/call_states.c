/* call_states.c - what a thread does while no event of its calls comes: it is blocked, waits for the VM's lock, or
 * collects garbage. */
#include "calls/call_states.h"

#include <string.h>

/* A clock that goes back stands still. */
static uint64_t since(uint64_t now_ns, uint64_t then_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

static uint64_t wanted_at(const rpp_call_thread *thread)
{
    return atomic_load_explicit(&thread->wanted_ns, memory_order_relaxed);
}

/* Blocked until it wanted the lock, waiting since. */
static void pass_without_lock(rpp_call_thread *thread, uint64_t now_ns)
{
    uint64_t wanted_ns = wanted_at(thread), until_ns = wanted_ns && wanted_ns < now_ns ? wanted_ns : now_ns;
    uint64_t blocked_ns = since(until_ns, thread->since_ns);
    if (!wanted_ns) blocked_ns = since(now_ns, thread->since_ns);
    thread->passed_ns[RPP_CALL_BLOCKED] += blocked_ns;
    thread->passed_ns[RPP_CALL_WAITING] += since(now_ns, thread->since_ns) - blocked_ns;
}

static void pass(rpp_call_thread *thread, uint64_t now_ns)
{
    if (thread->state == RPP_CALL_BLOCKED)
        pass_without_lock(thread, now_ns);
    else if (thread->state != RPP_CALL_RUNS)
        thread->passed_ns[thread->state] += since(now_ns, thread->since_ns);
    if (now_ns > thread->since_ns) thread->since_ns = now_ns;
}

static void change(rpp_call_thread *thread, rpp_call_state state, uint64_t now_ns)
{
    pass(thread, now_ns);
    thread->state = state;
    thread->since_ns = now_ns;
}

void rpp_call_thread_begin(rpp_call_thread *thread, bool runs, bool wants, uint64_t now_ns)
{
    thread->stack = NULL;
    thread->state = runs ? RPP_CALL_RUNS : RPP_CALL_BLOCKED;
    thread->since_ns = now_ns;
    atomic_store_explicit(&thread->wanted_ns, wants ? now_ns : 0, memory_order_relaxed);
    memset(thread->passed_ns, 0, sizeof thread->passed_ns);
}

void rpp_call_thread_released(rpp_call_thread *thread, uint64_t now_ns)
{
    if (thread->state == RPP_CALL_BLOCKED) return;
    change(thread, RPP_CALL_BLOCKED, now_ns);
    atomic_store_explicit(&thread->wanted_ns, 0, memory_order_relaxed);
}

void rpp_call_thread_wanted(rpp_call_thread *thread, uint64_t now_ns)
{
    uint64_t none = 0;
    atomic_compare_exchange_strong_explicit(&thread->wanted_ns, &none, now_ns, memory_order_relaxed,
                                            memory_order_relaxed);
}

/* No thread gets the GVL without asking for it: one without an event has asked for it since before the tracing. */
void rpp_call_thread_got(rpp_call_thread *thread, uint64_t now_ns)
{
    if (thread->state == RPP_CALL_BLOCKED && !wanted_at(thread)) rpp_call_thread_wanted(thread, thread->since_ns);
    change(thread, RPP_CALL_RUNS, now_ns);
    atomic_store_explicit(&thread->wanted_ns, 0, memory_order_relaxed);
}

void rpp_call_thread_collects(rpp_call_thread *thread, rpp_call_state phase, uint64_t now_ns)
{
    if (thread->state != RPP_CALL_BLOCKED) change(thread, phase, now_ns);
}

void rpp_call_thread_flush(rpp_call_thread *thread, rpp_call_tree *tree, uint64_t now_ns)
{
    pass(thread, now_ns);
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++) {
        if (thread->stack && thread->passed_ns[state])
            rpp_call_tree_pass(tree, rpp_call_stack_top(thread->stack), state, thread->passed_ns[state]);
        thread->passed_ns[state] = 0;
    }
}

void rpp_call_thread_runs(rpp_call_thread *thread, rpp_call_stack *stack, rpp_call_tree *tree, uint64_t now_ns)
{
    if (thread->state == RPP_CALL_BLOCKED) rpp_call_thread_got(thread, now_ns); /* not all Rubies tell it always */
    rpp_call_thread_flush(thread, tree, now_ns);
    if (thread->stack == stack) return;
    if (thread->stack) thread->stack->suspended_ns = now_ns;
    thread->stack = stack;
    if (stack->suspended_ns) rpp_call_stack_suspended(stack, tree, now_ns);
    stack->suspended_ns = 0;
}

void rpp_call_stack_suspended(rpp_call_stack *stack, rpp_call_tree *tree, uint64_t now_ns)
{
    rpp_call_tree_pass(tree, rpp_call_stack_top(stack), RPP_CALL_SUSPENDED, since(now_ns, stack->suspended_ns));
    stack->suspended_ns = now_ns;
}
