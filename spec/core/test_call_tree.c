/* test_call_tree.c - calls and returns become a tree; each time is somebody's, to the nanosecond. */
#include "calls/call_fold.h"
#include "calls/call_shortcuts.h"
#include "calls/call_sums.h"
#include "calls/call_trace.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

static uint64_t now_ns;
static rpp_call_trace trace;

static rpp_call_reading reading(uint64_t passed_ns)
{
    now_ns += passed_ns;
    return (rpp_call_reading){.wall_ns = now_ns, .cpu_ns = now_ns / 2, .objects = now_ns / 4};
}

static void begin(uint32_t max_nodes)
{
    now_ns = 1000;
    trace = (rpp_call_trace){.tree = rpp_call_tree_new(max_nodes), .last = {now_ns, now_ns / 2, now_ns / 4}};
    CHECK(trace.tree);
}

static rpp_call_stack begin_stack(uint32_t number)
{
    rpp_call_stack stack;
    rpp_call_stack_init(&stack, rpp_call_tree_root(trace.tree, number), now_ns);
    return stack;
}

static const rpp_call_node *child_of(uint32_t parent, uint32_t method)
{
    uint32_t before = rpp_call_tree_count(trace.tree), id = rpp_call_tree_child(trace.tree, parent, method);
    CHECK_INT(rpp_call_tree_count(trace.tree), before);
    return rpp_call_tree_node(trace.tree, id);
}

/* A root of any of these has itself and its children: the id of a path of methods that exist. */
static uint32_t at(uint32_t root, const uint32_t *path, size_t length)
{
    for (size_t i = 0; i < length; i++) root = rpp_call_tree_child(trace.tree, root, path[i]);
    return root;
}
#define AT(root, ...)                                                                                                  \
    rpp_call_tree_node(trace.tree,                                                                                     \
                       at(root, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))

static void finish(rpp_call_stack *stack)
{
    rpp_call_stack_destroy(stack);
    rpp_call_tree_free(trace.tree);
}

TEST(time_between_events_is_of_the_call_on_top)
{
    begin(10);
    rpp_call_stack stack = begin_stack(1);
    rpp_call_trace_switch(&trace, &stack, reading(0));
    rpp_call_trace_enter(&trace, 1, 7, reading(10));
    rpp_call_trace_enter(&trace, 2, 8, reading(20));
    rpp_call_trace_leave(&trace, 2, reading(30));
    rpp_call_trace_enter(&trace, 2, 8, reading(40));
    rpp_call_trace_leave(&trace, 2, reading(50));
    rpp_call_trace_leave(&trace, 1, reading(60));
    rpp_call_trace_charge(&trace, reading(70));
    CHECK_INT(rpp_call_tree_node(trace.tree, stack.root)->self_ns, 80);
    CHECK_INT(AT(stack.root, 7)->self_ns, 120);
    CHECK_INT(AT(stack.root, 7)->calls, 1);
    CHECK_INT(AT(stack.root, 7, 8)->self_ns, 80);
    CHECK_INT(AT(stack.root, 7, 8)->cpu_ns, 40);
    CHECK_INT(AT(stack.root, 7, 8)->objects, 20);
    CHECK_INT(AT(stack.root, 7, 8)->calls, 2);
    CHECK_INT(rpp_call_tree_count(trace.tree), 3);
    CHECK_INT(trace.events, 6);
    finish(&stack);
}

TEST(an_event_ends_all_that_is_deeper)
{
    begin(10);
    rpp_call_stack stack = begin_stack(1);
    rpp_call_trace_switch(&trace, &stack, reading(0));
    for (uint32_t depth = 1; depth <= 4; depth++) rpp_call_trace_enter(&trace, depth, depth + 10, reading(1));
    rpp_call_trace_leave(&trace, 2, reading(5)); /* thrown over 4 and 3 */
    CHECK_INT(rpp_call_stack_depth(&stack), 1);
    rpp_call_trace_enter(&trace, 5, 20, reading(1));
    rpp_call_trace_enter(&trace, 5, 21, reading(1)); /* 20 ended with a tail call */
    CHECK_INT(AT(stack.root, 11, 21)->calls, 1);
    rpp_call_trace_unwind(&trace, 1, reading(1));
    CHECK_INT(rpp_call_stack_depth(&stack), 1);
    rpp_call_trace_unwind(&trace, 0, reading(1));
    CHECK_INT(rpp_call_stack_top(&stack), stack.root);
    rpp_call_trace_leave(&trace, 3, reading(1)); /* of a call that nobody announced */
    CHECK_INT(rpp_call_stack_top(&stack), stack.root);
    finish(&stack);
}

TEST(what_is_on_the_stack_already_is_open_and_not_counted)
{
    begin(10);
    rpp_call_stack stack = begin_stack(1);
    rpp_call_trace_open(&trace, &stack, 1, 5, 77);
    rpp_call_trace_open(&trace, &stack, 2, 6, 78);
    CHECK_INT(stack.entries[1].code, 78);
    rpp_call_trace_switch(&trace, &stack, reading(0));
    rpp_call_trace_charge(&trace, reading(10));
    rpp_call_trace_leave(&trace, 2, reading(10));
    CHECK_INT(AT(stack.root, 5, 6)->self_ns, 20);
    CHECK_INT(AT(stack.root, 5, 6)->calls, 0);
    rpp_call_trace_enter(&trace, 2, 6, reading(1));
    CHECK_INT(AT(stack.root, 5, 6)->calls, 1);
    finish(&stack);
}

TEST(a_stack_waits_while_another_one_runs)
{
    begin(10);
    rpp_call_stack one = begin_stack(1), two = begin_stack(2);
    rpp_call_trace_switch(&trace, &one, reading(0));
    rpp_call_trace_enter(&trace, 1, 5, reading(10));
    rpp_call_trace_switch(&trace, &two, reading(20));
    rpp_call_trace_enter(&trace, 1, 6, reading(5));
    rpp_call_trace_switch(&trace, &one, reading(7));
    rpp_call_trace_leave(&trace, 1, reading(3));
    rpp_call_trace_wait(&trace, &two, now_ns); /* it never ends */
    CHECK_INT(AT(one.root, 5)->self_ns, 23);
    CHECK_INT(AT(one.root, 5)->wait_ns, 12);
    CHECK_INT(rpp_call_tree_node(trace.tree, two.root)->wait_ns, 30);
    CHECK_INT(AT(two.root, 6)->self_ns, 7);
    CHECK_INT(AT(two.root, 6)->wait_ns, 3);
    rpp_call_trace_switch(&trace, NULL, reading(1));
    rpp_call_trace_charge(&trace, reading(100)); /* paused: nobody's */
    CHECK_INT(rpp_call_tree_node(trace.tree, one.root)->self_ns, 11);
    rpp_call_stack_destroy(&one);
    rpp_call_stack_destroy(&two);
    rpp_call_tree_free(trace.tree);
}

/* As in the architecture page that users of tracers know: simple(2) sleeps one second in each of three calls. */
TEST(the_total_of_a_recursive_method_is_that_of_its_outermost_call)
{
    enum { SIMPLE = 1, SLEEP = 2 };
    begin(10);
    rpp_call_stack stack = begin_stack(1);
    rpp_call_trace_switch(&trace, &stack, reading(0));
    for (uint32_t n = 0; n < 3; n++) {
        rpp_call_trace_enter(&trace, n + 1, SIMPLE, reading(0));
        rpp_call_trace_enter(&trace, n + 2, SLEEP, reading(0));
        rpp_call_trace_leave(&trace, n + 2, reading(RPP_NS_PER_S));
    }
    for (uint32_t n = 3; n > 0; n--) rpp_call_trace_leave(&trace, n, reading(0));
    uint64_t totals[8];
    rpp_call_sum sums[3];
    rpp_call_totals(trace.tree, totals);
    rpp_call_sums(trace.tree, totals, sums, 3);
    CHECK_INT(sums[SIMPLE].total_ns, 3 * RPP_NS_PER_S);
    CHECK_INT(sums[SIMPLE].self_ns, 0);
    CHECK_INT(sums[SIMPLE].calls, 3);
    CHECK(sums[SIMPLE].is_recursive);
    CHECK_INT(sums[SLEEP].total_ns, 3 * RPP_NS_PER_S);
    CHECK_INT(sums[SLEEP].calls, 3);
    CHECK(!sums[SLEEP].is_recursive);
    CHECK_INT(totals[stack.root], 3 * RPP_NS_PER_S);
    finish(&stack);
}

TEST(calls_past_the_limit_are_counted_by_method_without_their_chain)
{
    begin(2);
    rpp_call_stack stack = begin_stack(1);
    rpp_call_trace_switch(&trace, &stack, reading(0));
    rpp_call_trace_enter(&trace, 1, 5, reading(1));
    rpp_call_trace_enter(&trace, 2, 6, reading(1));
    CHECK(rpp_call_tree_is_full(trace.tree));
    rpp_call_trace_enter(&trace, 3, 7, reading(1));
    rpp_call_trace_enter(&trace, 4, 8, reading(10));
    rpp_call_trace_leave(&trace, 4, reading(20));
    rpp_call_trace_leave(&trace, 3, reading(30));
    rpp_call_trace_enter(&trace, 3, 6, reading(1));
    rpp_call_trace_leave(&trace, 3, reading(5));
    rpp_call_trace_leave(&trace, 2, reading(1));
    rpp_call_trace_enter(&trace, 2, 6, reading(1)); /* known: no new node */
    rpp_call_trace_leave(&trace, 2, reading(1));
    CHECK_INT(AT(stack.root, RPP_CALL_OTHER, 7)->calls, 1);
    CHECK_INT(AT(stack.root, RPP_CALL_OTHER, 7)->self_ns, 10 + 30);
    CHECK_INT(AT(stack.root, RPP_CALL_OTHER, 8)->calls, 1);
    CHECK_INT(AT(stack.root, RPP_CALL_OTHER, 8)->self_ns, 20);
    CHECK_INT(AT(stack.root, RPP_CALL_OTHER)->calls, 1); /* of 6 below 6: there is no room for more methods */
    CHECK_INT(AT(stack.root, RPP_CALL_OTHER)->self_ns, 5);
    CHECK_INT(AT(stack.root, 5, 6)->calls, 2);
    CHECK_INT(AT(stack.root, 5, 6)->self_ns, 4);
    CHECK_INT(rpp_call_tree_count(trace.tree), 6);
    CHECK(rpp_call_tree_bytes(trace.tree) >= 6 * sizeof(rpp_call_node));
    finish(&stack);
}

TEST(roots_past_the_limit_are_the_last_one)
{
    begin(1);
    uint32_t last = 0;
    for (uint32_t i = 0; i < RPP_CALL_ROOTS_MAX; i++) last = rpp_call_tree_root(trace.tree, i);
    CHECK_INT(last, RPP_CALL_ROOTS_MAX - 1);
    CHECK_INT(rpp_call_tree_child(trace.tree, 0, 3), last + 1);
    CHECK(!rpp_call_tree_has_too_many_roots(trace.tree));
    CHECK_INT(rpp_call_tree_root(trace.tree, 5), last);
    CHECK(rpp_call_tree_has_too_many_roots(trace.tree));
    rpp_call_tree_free(trace.tree);
}

TEST(methods_get_ids_until_the_table_is_full)
{
    rpp_call_methods *methods = rpp_call_methods_new(2);
    bool is_new;
    uint32_t one = rpp_call_methods_intern(methods, (rpp_call_key){1, 1, 1}, &is_new);
    CHECK(is_new && one != RPP_CALL_OTHER);
    uint32_t two = rpp_call_methods_intern(methods, (rpp_call_key){1, 2, 1}, &is_new);
    CHECK(is_new && two != one);
    CHECK_INT(rpp_call_methods_intern(methods, (rpp_call_key){1, 1, 1}, &is_new), one);
    CHECK(!is_new);
    CHECK(!rpp_call_methods_is_full(methods));
    CHECK_INT(rpp_call_methods_intern(methods, (rpp_call_key){1, 1, 2}, &is_new), RPP_CALL_OTHER);
    CHECK(rpp_call_methods_is_full(methods));
    CHECK_INT(rpp_call_methods_intern(methods, (rpp_call_key){2, 1, 1}, &is_new), RPP_CALL_OTHER);
    CHECK(!is_new);
    CHECK_INT(rpp_call_methods_key(methods, two).name, 2);
    CHECK_INT(rpp_call_methods_end(methods), 3);
    rpp_call_methods_free(methods);
    rpp_call_methods_free(NULL);
}

TEST(hidden_methods_give_time_and_calls_to_their_caller)
{
    begin(20);
    rpp_call_stack stack = begin_stack(1);
    rpp_call_trace_switch(&trace, &stack, reading(0));
    rpp_call_trace_enter(&trace, 1, 1, reading(1));
    rpp_call_trace_enter(&trace, 2, 2, reading(1)); /* hidden */
    rpp_call_trace_enter(&trace, 3, 3, reading(10));
    rpp_call_trace_leave(&trace, 2, reading(100));
    rpp_call_trace_enter(&trace, 2, 4, reading(1)); /* the same as 3 */
    rpp_call_trace_leave(&trace, 1, reading(1000));
    uint32_t as[] = {RPP_CALL_OTHER, 1, RPP_CALL_HIDDEN, 3, 3};
    rpp_call_tree *before = trace.tree;
    trace.tree = rpp_call_tree_folded(before, as);
    CHECK(trace.tree);
    CHECK_INT(rpp_call_tree_count(trace.tree), 3);
    CHECK_INT(child_of(0, 1)->self_ns, 12);
    CHECK_INT(AT(0, 1)->calls, 1);
    CHECK_INT(AT(0, 1, 3)->self_ns, 1100);
    CHECK_INT(AT(0, 1, 3)->calls, 2);
    rpp_call_tree_free(trace.tree);
    rpp_call_tree_free(before);
    rpp_call_stack_destroy(&stack);
}

/* As many as there can be: with the limit of a new tree, it would have no room for those past the limit. */
TEST(a_copy_has_room_for_all_nodes_and_for_no_more)
{
    begin(2);
    rpp_call_stack stacks[3];
    for (uint32_t i = 0; i < 3; i++) {
        stacks[i] = begin_stack(i);
        rpp_call_trace_switch(&trace, &stacks[i], reading(0));
        for (uint32_t depth = 1; depth < 5; depth++) rpp_call_trace_enter(&trace, depth, depth, reading(1));
    }
    uint32_t count = rpp_call_tree_count(trace.tree), as[] = {0, 1, 2, 3, 4};
    CHECK(count > 2 + 3);
    rpp_call_tree *copy = rpp_call_tree_folded(trace.tree, as);
    CHECK_INT(rpp_call_tree_count(copy), count);
    CHECK(copy->mask < 4 * (count + 1)); /* half full at least, and a power of two */
    for (uint32_t id = 0; id < count; id++)
        CHECK_INT(rpp_call_tree_node(copy, id)->calls, rpp_call_tree_node(trace.tree, id)->calls);
    rpp_call_tree_free(copy);
    for (uint32_t i = 0; i < 3; i++) rpp_call_stack_destroy(&stacks[i]);
    rpp_call_tree_free(trace.tree);
}

TEST(ticks_become_nanoseconds_that_sum_up_to_what_passed)
{
    enum { TICKS = 7 * 3, NS = 10 };
    begin(20);
    rpp_call_stack stack = begin_stack(1);
    rpp_call_trace_switch(&trace, &stack, reading(0));
    for (uint32_t i = 0; i < 7; i++) rpp_call_trace_enter(&trace, i + 1, 1, reading(3));
    rpp_call_tree_node(trace.tree, 1)->wait_ns = UINT64_C(1) << 60;
    rpp_call_tree_scale(trace.tree, NS, TICKS);
    uint64_t sum = 0, most = 0;
    for (uint32_t id = 0; id < rpp_call_tree_count(trace.tree); id++) {
        uint64_t self_ns = rpp_call_tree_node(trace.tree, id)->self_ns;
        sum += self_ns;
        most = self_ns > most ? self_ns : most;
    }
    CHECK_INT(sum, NS);
    CHECK_INT(most, 2);
    CHECK_INT(rpp_call_tree_node(trace.tree, 1)->wait_ns, (UINT64_C(1) << 60) / TICKS * NS + 0);
    rpp_call_tree_scale(trace.tree, 5, 0); /* nothing was traced */
    finish(&stack);
}

TEST(a_clock_that_goes_back_stands_still)
{
    begin(20);
    rpp_call_stack stack = begin_stack(1), other = begin_stack(2);
    rpp_call_trace_switch(&trace, &stack, reading(100));
    rpp_call_trace_enter(&trace, 1, 1, reading(50));
    rpp_call_trace_leave(&trace, 1, (rpp_call_reading){.wall_ns = now_ns - 20});
    rpp_call_trace_enter(&trace, 1, 1, reading(30));
    CHECK_INT(AT(stack.root, 1)->self_ns, 0);
    CHECK_INT(rpp_call_tree_node(trace.tree, stack.root)->self_ns, 50 + 30);
    rpp_call_trace_wait(&trace, &other, 1);
    CHECK_INT(rpp_call_tree_node(trace.tree, other.root)->wait_ns, 0);
    rpp_call_stack_destroy(&stack);
    rpp_call_stack_destroy(&other);
    rpp_call_tree_free(trace.tree);
}

TEST(a_shortcut_leads_to_the_node_of_its_caller_and_method_only)
{
    static rpp_call_shortcuts shortcuts;
    rpp_call_key key = {1, 2, 3};
    CHECK(!rpp_call_shortcut_is(rpp_call_shortcut_at(&shortcuts, 0, &key), 0, &key));
    *rpp_call_shortcut_at(&shortcuts, 7, &key) = (rpp_call_shortcut){key, 7, 9};
    const rpp_call_shortcut *place = rpp_call_shortcut_at(&shortcuts, 7, &key);
    CHECK(rpp_call_shortcut_is(place, 7, &key) && place->child == 9);
    CHECK(!rpp_call_shortcut_is(place, 8, &key));
    rpp_call_key others[] = {{4, 2, 3}, {1, 4, 3}, {1, 2, 4}};
    for (size_t i = 0; i < 3; i++) CHECK(!rpp_call_shortcut_is(place, 7, &others[i]));
}

TEST(the_cost_of_each_call_is_taken_out_as_far_as_there_is_time)
{
    begin(20);
    rpp_call_stack stack = begin_stack(1);
    rpp_call_trace_switch(&trace, &stack, reading(0));
    for (int i = 0; i < 3; i++) {
        rpp_call_trace_enter(&trace, 1, 1, reading(100));
        rpp_call_trace_enter(&trace, 2, 2, reading(40));
        rpp_call_trace_leave(&trace, 1, reading(8));
    }
    uint8_t kinds[] = {0, 0, 1};
    rpp_call_cost costs[] = {{.inside_ns = 15, .outside_ns = 20}, {.inside_ns = 10, .outside_ns = 7}};
    CHECK_INT(rpp_call_take_out(trace.tree, kinds, costs), 3 * (15 + 20 + 8 + 7));
    CHECK_INT(rpp_call_tree_node(trace.tree, stack.root)->self_ns, 300 - 60);
    CHECK_INT(AT(stack.root, 1)->self_ns, 120 - 45 - 21);
    CHECK_INT(AT(stack.root, 1, 2)->self_ns, 0); /* there were 24 of 30 */
    finish(&stack);
}

TEST(without_memory_a_call_is_its_callers)
{
    rpp_alloc_fail_at(1);
    CHECK(!rpp_call_tree_new(5));
    rpp_alloc_fail_at(2);
    CHECK(!rpp_call_tree_new(5));
    rpp_alloc_fail_at(3);
    CHECK(!rpp_call_tree_new(5));
    rpp_alloc_fail_at(4);
    CHECK(!rpp_call_tree_new(5));
    for (size_t nth = 1; nth <= 3; nth++) {
        rpp_alloc_fail_at(nth);
        CHECK(!rpp_call_methods_new(5));
    }
    rpp_alloc_fail_at(0);
    CHECK(!rpp_call_tree_new(UINT32_MAX));
    begin(5);
    rpp_call_stack stack = begin_stack(1);
    rpp_call_trace_switch(&trace, &stack, reading(0));
    rpp_alloc_fail_at(1);
    rpp_call_trace_enter(&trace, 1, 1, reading(1));
    CHECK_INT(trace.lost, 1);
    rpp_call_trace_leave(&trace, 1, reading(10));
    CHECK_INT(rpp_call_tree_node(trace.tree, stack.root)->self_ns, 11);
    for (size_t nth = 1; nth <= 5; nth++) {
        rpp_alloc_fail_at(nth);
        CHECK(!rpp_call_tree_folded(trace.tree, (uint32_t[]){0, 1}));
    }
    rpp_alloc_fail_at(0);
    finish(&stack);
}

/* --- random programs, beside a list of intervals
 * --------------------------------------------------------------------- */

enum { METHODS = 6, DEEPEST = 12, STACKS = 4, STEPS = 3000, MOST_INTERVALS = 60000 };

/* A stretch of time, or a call, and the methods from the root of its stack on. */
typedef struct interval {
    uint32_t stack, methods[DEEPEST + 1], depth;
    uint64_t self_ns, wait_ns, calls;
} interval;

static interval intervals[MOST_INTERVALS];
static size_t interval_count;

/* What the model knows of a stack: each call's depth in the VM, and its method. */
typedef struct model {
    uint32_t depths[DEEPEST + 1], methods[DEEPEST + 1], count;
    uint64_t left_ns;
} model;

static model models[STACKS];
static uint32_t running;
static uint64_t charged_ns, random_state;

static uint32_t some(uint32_t limit)
{
    return (uint32_t)(rpp_random_next(&random_state) % limit);
}

static interval *note(uint32_t stack)
{
    const model *m = &models[stack];
    CHECK(interval_count < MOST_INTERVALS);
    interval *in = &intervals[interval_count++];
    *in = (interval){.stack = stack, .depth = m->count};
    memcpy(in->methods, m->methods, sizeof in->methods);
    return in;
}

static void note_time(void)
{
    note(running)->self_ns = now_ns - charged_ns;
    charged_ns = now_ns;
}

static void end_from(model *m, uint32_t depth)
{
    while (m->count && m->depths[m->count - 1] >= depth) m->count--;
}

static void call_something(void)
{
    model *m = &models[running];
    uint32_t depth = (m->count ? m->depths[m->count - 1] : 0) + 1 + some(2), method = 1 + some(METHODS);
    /* Some frames ended without a word: an overflow, or a tail call at the same place. */
    if (m->count && some(10) == 0) depth = m->depths[some(m->count)];
    rpp_call_reading now = reading(some(1000));
    note_time();
    end_from(m, depth);
    m->depths[m->count] = depth;
    m->methods[m->count++] = method;
    note(running)->calls = 1;
    rpp_call_trace_enter(&trace, depth, method, now);
}

static void return_or_throw(void)
{
    model *m = &models[running];
    uint32_t over = some(4) ? 1 : 1 + some(m->count), depth = m->depths[m->count - over];
    rpp_call_reading now = reading(some(1000));
    note_time();
    end_from(m, depth);
    rpp_call_trace_leave(&trace, depth, now);
}

static void switch_to_another(rpp_call_stack *stacks)
{
    uint32_t other = some(STACKS);
    rpp_call_reading now = reading(some(1000));
    if (other != running) {
        note_time();
        models[running].left_ns = now_ns;
        running = other;
        note(running)->wait_ns = now_ns - models[running].left_ns;
    }
    rpp_call_trace_switch(&trace, &stacks[other], now);
}

static void run_random_program(rpp_call_stack *stacks)
{
    for (int step = 0; step < STEPS; step++) {
        const model *m = &models[running];
        uint32_t what = some(20);
        if (what == 0)
            switch_to_another(stacks);
        else if (m->count && (m->count == DEEPEST || what < 10))
            return_or_throw();
        else
            call_something();
    }
    rpp_call_reading now = reading(17);
    note_time();
    rpp_call_trace_charge(&trace, now);
    for (uint32_t i = 0; i < STACKS; i++) {
        if (i == running) continue;
        note(i)->wait_ns = now_ns - models[i].left_ns;
        rpp_call_trace_wait(&trace, &stacks[i], now_ns);
    }
}

static bool is_path_of(const interval *in, uint32_t id)
{
    for (uint32_t depth = in->depth; depth-- > 0;) {
        const rpp_call_node *node = rpp_call_tree_node(trace.tree, id);
        if (node->parent == RPP_CALL_NONE || node->method != in->methods[depth]) return false;
        id = node->parent;
    }
    const rpp_call_node *root = rpp_call_tree_node(trace.tree, id);
    return root->parent == RPP_CALL_NONE && root->method == in->stack;
}

static uint32_t id_of(const interval *in, const rpp_call_stack *stacks)
{
    uint32_t id = at(stacks[in->stack].root, in->methods, in->depth);
    CHECK(is_path_of(in, id));
    return id;
}

static void compare_nodes(const rpp_call_stack *stacks)
{
    uint32_t count = rpp_call_tree_count(trace.tree);
    rpp_call_node *expected = calloc(count, sizeof *expected);
    for (size_t i = 0; i < interval_count; i++) {
        rpp_call_node *node = &expected[id_of(&intervals[i], stacks)];
        node->self_ns += intervals[i].self_ns;
        node->wait_ns += intervals[i].wait_ns;
        node->calls += intervals[i].calls;
    }
    CHECK_INT(rpp_call_tree_count(trace.tree), count);
    uint64_t all_ns = 0;
    for (uint32_t id = 0; id < count; id++) {
        const rpp_call_node *node = rpp_call_tree_node(trace.tree, id);
        CHECK_INT(node->self_ns, expected[id].self_ns);
        CHECK_INT(node->wait_ns, expected[id].wait_ns);
        CHECK_INT(node->calls, expected[id].calls);
        all_ns += node->self_ns;
    }
    CHECK_INT(all_ns, now_ns - 1000);
    free(expected);
}

/* A method's total is the time of all intervals that it is in, on whatever places of the stack. */
static void compare_methods(void)
{
    uint64_t *totals = calloc(rpp_call_tree_count(trace.tree), sizeof *totals);
    rpp_call_sum sums[METHODS + 1];
    rpp_call_totals(trace.tree, totals);
    rpp_call_sums(trace.tree, totals, sums, METHODS + 1);
    for (uint32_t method = 1; method <= METHODS; method++) {
        uint64_t total_ns = 0, self_ns = 0, calls = 0;
        bool is_recursive = false;
        for (size_t i = 0; i < interval_count; i++) {
            uint32_t found = 0;
            for (uint32_t depth = 0; depth < intervals[i].depth; depth++)
                found += intervals[i].methods[depth] == method;
            bool on_top = intervals[i].depth && intervals[i].methods[intervals[i].depth - 1] == method;
            if (found) total_ns += intervals[i].self_ns + intervals[i].wait_ns;
            if (found > 1) is_recursive = true;
            if (on_top) self_ns += intervals[i].self_ns;
            if (on_top) calls += intervals[i].calls;
        }
        CHECK_INT(sums[method].total_ns, total_ns);
        CHECK_INT(sums[method].self_ns, self_ns);
        CHECK_INT(sums[method].calls, calls);
        CHECK_INT(sums[method].is_recursive, is_recursive);
    }
    free(totals);
}

TEST(random_programs_take_as_long_as_their_intervals)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rpp_call_stack stacks[STACKS];
        random_state = seed;
        interval_count = 0;
        running = 0;
        memset(models, 0, sizeof models);
        begin(200000);
        charged_ns = now_ns;
        for (uint32_t i = 0; i < STACKS; i++) {
            stacks[i] = begin_stack(i);
            models[i].left_ns = now_ns;
        }
        rpp_call_trace_switch(&trace, &stacks[0], reading(0));
        run_random_program(stacks);
        compare_nodes(stacks);
        compare_methods();
        for (uint32_t i = 0; i < STACKS; i++) rpp_call_stack_destroy(&stacks[i]);
        rpp_call_tree_free(trace.tree);
    }
}
