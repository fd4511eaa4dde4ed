/* test_call_states.c - self time and waiting are split: running, blocked, waiting for the lock, in the GC, suspended.
 * */
#include "calls/call_fold.h"
#include "calls/call_states.h"
#include "calls/call_sums.h"

#include "base/clock.h"
#include "test.h"

static uint64_t now_ns;
static rpp_call_trace trace;
static rpp_call_thread thread;
static rpp_call_stack stack;

static rpp_call_reading after(uint64_t passed_ns)
{
    now_ns += passed_ns;
    return (rpp_call_reading){.wall_ns = now_ns};
}

static void begin(void)
{
    now_ns = 1000;
    trace = (rpp_call_trace){.tree = rpp_call_tree_new(100), .last = {.wall_ns = now_ns}};
    CHECK(trace.tree);
}

static rpp_call_stack begin_stack(uint32_t number)
{
    rpp_call_stack begun;
    rpp_call_stack_init(&begun, rpp_call_tree_root(trace.tree, number), now_ns);
    return begun;
}

static void enter(rpp_call_stack *runs, uint32_t method, rpp_call_reading now)
{
    rpp_call_trace_switch(&trace, runs, now);
    rpp_call_thread_runs(&thread, runs, trace.tree, now.wall_ns);
    rpp_call_trace_enter(&trace, 1, method, now);
}

static void leave(rpp_call_stack *runs, rpp_call_reading now)
{
    rpp_call_trace_switch(&trace, runs, now);
    rpp_call_thread_runs(&thread, runs, trace.tree, now.wall_ns);
    rpp_call_trace_leave(&trace, 1, now);
}

/* A thread that has the lock, and its stack. */
static void begin_running(void)
{
    begin();
    stack = begin_stack(1);
    rpp_call_thread_begin(&thread, true, false, now_ns);
}

/* The same, ten nanoseconds later in a call of method 5. */
static void begin_in_call(void)
{
    begin_running();
    enter(&stack, 5, after(10));
}

static void end(void)
{
    rpp_call_stack_destroy(&stack);
    rpp_call_tree_free(trace.tree);
}

static void check_states(uint32_t id, const uint64_t expected[RPP_CALL_STATES], uint64_t running_ns)
{
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
        CHECK_INT(rpp_call_tree_state_ns(trace.tree, id, state), expected[state]);
    CHECK_INT(rpp_call_tree_running_ns(trace.tree, id), running_ns);
}
#define CHECK_STATES(id, running_ns, ...) check_states(id, (const uint64_t[RPP_CALL_STATES]){__VA_ARGS__}, running_ns)

TEST(a_call_is_blocked_until_its_thread_wants_the_lock_and_waits_until_it_gets_it)
{
    begin_in_call();
    rpp_call_thread_released(&thread, after(1).wall_ns);
    rpp_call_thread_released(&thread, after(4).wall_ns); /* told twice */
    rpp_call_thread_wanted(&thread, after(16).wall_ns);
    rpp_call_thread_wanted(&thread, after(100).wall_ns); /* the first one counts, */
    rpp_call_thread_released(&thread, now_ns);           /* whatever is told */
    rpp_call_thread_got(&thread, after(200).wall_ns);
    leave(&stack, after(7));
    uint32_t sleeping = rpp_call_tree_child(trace.tree, stack.root, 5);
    CHECK_STATES(sleeping, 8, [RPP_CALL_BLOCKED] = 20, [RPP_CALL_WAITING] = 300);
    CHECK_STATES(stack.root, 10, 0);
    enter(&stack, 5, after(1));
    rpp_call_thread_released(&thread, after(1).wall_ns); /* it had wanted it before, which is over */
    rpp_call_thread_wanted(&thread, after(3).wall_ns);
    rpp_call_thread_got(&thread, after(5).wall_ns);
    leave(&stack, after(1));
    CHECK_STATES(sleeping, 10, [RPP_CALL_BLOCKED] = 23, [RPP_CALL_WAITING] = 305);
    CHECK_STATES(stack.root, 11, 0);
    end();
}

TEST(pauses_of_the_gc_are_marking_and_sweeping_of_the_call_that_makes_them)
{
    begin_in_call();
    rpp_call_thread_collects(&thread, RPP_CALL_GC_MARKING, after(1).wall_ns);
    rpp_call_thread_collects(&thread, RPP_CALL_GC_MARKING, after(2).wall_ns);
    rpp_call_thread_collects(&thread, RPP_CALL_GC_SWEEPING, after(20).wall_ns);
    rpp_call_thread_collects(&thread, RPP_CALL_RUNS, after(50).wall_ns);
    rpp_call_thread_collects(&thread, RPP_CALL_GC_SWEEPING, after(3).wall_ns); /* it goes on a little later */
    rpp_call_thread_collects(&thread, RPP_CALL_RUNS, after(4).wall_ns);
    leave(&stack, after(5));
    CHECK_STATES(rpp_call_tree_child(trace.tree, stack.root, 5),
                 9, [RPP_CALL_GC_MARKING] = 22, [RPP_CALL_GC_SWEEPING] = 54);
    rpp_call_thread_released(&thread, after(1).wall_ns);
    rpp_call_thread_collects(&thread, RPP_CALL_GC_MARKING, after(1).wall_ns); /* without the lock: another one's */
    CHECK_INT(thread.state, RPP_CALL_BLOCKED);
    end();
}

TEST(threads_that_did_not_run_when_the_tracing_began_are_blocked_or_wait)
{
    begin();
    rpp_call_stack stacks[3];
    rpp_call_thread threads[3];
    for (uint32_t i = 0; i < 3; i++) {
        stacks[i] = begin_stack(i);
        rpp_call_thread_begin(&threads[i], false, i == 1, now_ns);
        threads[i].stack = &stacks[i];
    }
    now_ns += 30;
    rpp_call_thread_wanted(&threads[0], now_ns);
    now_ns += 12;
    for (uint32_t i = 0; i < 3; i++) {
        rpp_call_thread_got(&threads[i], now_ns);
        rpp_call_trace_wait(&trace, &stacks[i], now_ns);
        rpp_call_thread_flush(&threads[i], trace.tree, now_ns);
    }
    CHECK_STATES(stacks[0].root, 0, [RPP_CALL_BLOCKED] = 30, [RPP_CALL_WAITING] = 12);
    CHECK_STATES(stacks[1].root, 0, [RPP_CALL_WAITING] = 42);
    CHECK_STATES(stacks[2].root, 0, [RPP_CALL_WAITING] = 42); /* it wanted it before we heard */
    for (uint32_t i = 0; i < 3; i++) rpp_call_stack_destroy(&stacks[i]);
    rpp_call_tree_free(trace.tree);
}

TEST(what_has_not_ended_counts_until_the_end)
{
    begin_in_call();
    rpp_call_thread_released(&thread, after(2).wall_ns);
    rpp_call_thread_wanted(&thread, after(30).wall_ns);
    rpp_call_thread_released(&thread, now_ns); /* told twice: it wants it still */
    rpp_call_trace_charge(&trace, after(400));
    rpp_call_thread_flush(&thread, trace.tree, now_ns);
    CHECK_STATES(rpp_call_tree_child(trace.tree, stack.root, 5), 2, [RPP_CALL_BLOCKED] = 30, [RPP_CALL_WAITING] = 400);
    end();
}

TEST(an_event_of_a_thread_proves_that_it_has_the_lock)
{
    begin_in_call();
    rpp_call_thread_released(&thread, after(2).wall_ns);
    rpp_call_thread_wanted(&thread, after(3).wall_ns);
    leave(&stack, after(4));
    CHECK_INT(thread.state, RPP_CALL_RUNS);
    CHECK_STATES(rpp_call_tree_child(trace.tree, stack.root, 5), 2, [RPP_CALL_BLOCKED] = 3, [RPP_CALL_WAITING] = 4);
    end();
}

TEST(a_fiber_is_suspended_while_its_thread_runs_another_one)
{
    begin_in_call();
    rpp_call_stack two = begin_stack(2);
    two.left_ns = now_ns + 20;
    enter(&two, 6, after(20));
    rpp_call_thread_released(&thread, after(1).wall_ns); /* that is the second one's */
    rpp_call_thread_wanted(&thread, after(7).wall_ns);
    rpp_call_thread_got(&thread, after(1).wall_ns);
    leave(&stack, after(3));
    uint32_t first = rpp_call_tree_child(trace.tree, stack.root, 5),
             second = rpp_call_tree_child(trace.tree, two.root, 6);
    CHECK_STATES(first, 20, [RPP_CALL_SUSPENDED] = 12);
    CHECK_STATES(second, 4, [RPP_CALL_BLOCKED] = 7, [RPP_CALL_WAITING] = 1);
    after(50);
    rpp_call_trace_wait(&trace, &two, now_ns);
    rpp_call_stack_suspended(&two, trace.tree, now_ns);
    CHECK_STATES(second, 4, [RPP_CALL_BLOCKED] = 7, [RPP_CALL_WAITING] = 1, [RPP_CALL_SUSPENDED] = 50);
    rpp_call_stack_destroy(&two);
    end();
}

TEST(what_passes_while_no_stack_is_known_is_nobodys)
{
    begin();
    stack = begin_stack(1);
    rpp_call_thread_begin(&thread, false, false, now_ns);
    rpp_call_thread_got(&thread, after(10).wall_ns);
    rpp_call_thread_runs(&thread, &stack, trace.tree, now_ns);
    CHECK_INT(trace.tree->states_end, 0);
    CHECK(rpp_call_tree_bytes(trace.tree) < rpp_call_tree_count(trace.tree) * (sizeof(rpp_call_node) + 17));
    rpp_call_tree_pass(trace.tree, stack.root, RPP_CALL_BLOCKED, 1);
    CHECK(rpp_call_tree_bytes(trace.tree) >= sizeof(rpp_call_node) + RPP_CALL_STATES * sizeof(uint64_t));
    end();
}

TEST(a_clock_that_goes_back_takes_nothing_away)
{
    begin_running();
    enter(&stack, 5, after(100));
    rpp_call_thread_released(&thread, now_ns);
    rpp_call_thread_wanted(&thread, now_ns - 50);
    rpp_call_thread_got(&thread, now_ns - 40);
    rpp_call_thread_collects(&thread, RPP_CALL_GC_MARKING, now_ns);
    rpp_call_thread_collects(&thread, RPP_CALL_RUNS, now_ns - 3);
    leave(&stack, after(10));
    CHECK_STATES(rpp_call_tree_child(trace.tree, stack.root, 5), 10, 0);
    end();
}

/* A node's self time, its waiting and its states, made from nothing. */
static uint32_t node_of(uint32_t method, uint64_t self_ns, uint64_t wait_ns, const uint64_t states_ns[RPP_CALL_STATES])
{
    uint32_t id = rpp_call_tree_child(trace.tree, 0, method);
    rpp_call_tree_node(trace.tree, id)->self_ns = self_ns;
    rpp_call_tree_node(trace.tree, id)->wait_ns = wait_ns;
    rpp_call_tree_node(trace.tree, id)->calls = 1;
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
        rpp_call_tree_pass(trace.tree, id, state, states_ns[state]);
    return id;
}
#define NODE(method, self_ns, wait_ns, ...)                                                                            \
    node_of(method, self_ns, wait_ns, (const uint64_t[RPP_CALL_STATES]){__VA_ARGS__})

TEST(states_are_no_longer_than_their_node_in_whatever_unit)
{
    begin();
    rpp_call_tree_root(trace.tree, 0);
    uint64_t random = 7;
    for (uint32_t method = 1; method <= 90; method++) {
        uint64_t blocked_ns = rpp_random_next(&random) % 1000, marking_ns = rpp_random_next(&random) % 1000;
        uint64_t self_ns = (blocked_ns + marking_ns) / 3; /* all of it is in states */
        NODE(method, self_ns,
             blocked_ns + marking_ns - self_ns, [RPP_CALL_BLOCKED] = blocked_ns, [RPP_CALL_GC_MARKING] = marking_ns);
    }
    uint32_t last = NODE(91, 10, 5, [RPP_CALL_BLOCKED] = 9, [RPP_CALL_SUSPENDED] = 20); /* a clock of another core */
    rpp_call_tree_limit_states(trace.tree);
    CHECK_STATES(last, 0, [RPP_CALL_BLOCKED] = 9, [RPP_CALL_SUSPENDED] = 6);
    uint32_t known = NODE(92, 3003, 0, [RPP_CALL_BLOCKED] = 300);
    rpp_call_tree_scale(trace.tree, 1000, 3003);
    CHECK_INT(rpp_call_tree_state_ns(trace.tree, known, RPP_CALL_BLOCKED), 99);
    rpp_call_tree_limit_states(trace.tree);
    for (uint32_t id = 1; id < rpp_call_tree_count(trace.tree); id++) {
        const rpp_call_node *node = rpp_call_tree_node(trace.tree, id);
        CHECK(id == known || rpp_call_tree_running_ns(trace.tree, id) <= 4); /* rounded down, twice */
        CHECK(rpp_call_tree_running_ns(trace.tree, id) <= node->self_ns + node->wait_ns);
    }
    rpp_call_tree_free(trace.tree);
}

TEST(the_cost_of_tracing_is_taken_out_of_what_ran)
{
    begin();
    rpp_call_tree_root(trace.tree, 0);
    uint32_t id = NODE(1, 100, 0, [RPP_CALL_BLOCKED] = 95);
    rpp_call_cost cost = {.inside_ns = 20};
    CHECK_INT(rpp_call_take_out(trace.tree, (const uint8_t[]){0, 0}, &cost), 5);
    CHECK_STATES(id, 0, [RPP_CALL_BLOCKED] = 95);
    CHECK_INT(rpp_call_tree_node(trace.tree, id)->self_ns, 95);
    rpp_call_tree_free(trace.tree);
}

TEST(methods_and_copies_have_the_states_of_their_nodes)
{
    begin();
    rpp_call_tree_root(trace.tree, 0);
    NODE(1, 100, 0, [RPP_CALL_BLOCKED] = 10, [RPP_CALL_GC_SWEEPING] = 3);
    uint32_t below = rpp_call_tree_child(trace.tree, rpp_call_tree_child(trace.tree, 0, 1), 2);
    rpp_call_tree_node(trace.tree, below)->self_ns = 50;
    rpp_call_tree_pass(trace.tree, below, RPP_CALL_BLOCKED, 40);
    rpp_call_tree *copy = rpp_call_tree_folded(trace.tree, (const uint32_t[]){0, 1, RPP_CALL_HIDDEN});
    CHECK_INT(rpp_call_tree_state_ns(copy, 1, RPP_CALL_BLOCKED), 50);
    CHECK_INT(rpp_call_tree_state_ns(copy, 1, RPP_CALL_GC_SWEEPING), 3);
    uint64_t totals_ns[3];
    rpp_call_sum sums[3];
    rpp_call_totals(trace.tree, totals_ns);
    rpp_call_sums(trace.tree, totals_ns, sums, 3);
    CHECK_INT(sums[1].states_ns[RPP_CALL_BLOCKED], 10);
    CHECK_INT(sums[1].states_ns[RPP_CALL_GC_SWEEPING], 3);
    CHECK_INT(sums[2].states_ns[RPP_CALL_BLOCKED], 40);
    rpp_call_tree_free(copy);
    rpp_call_tree_free(trace.tree);
}
