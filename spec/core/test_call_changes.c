/* test_call_changes.c - what a tree has got is told bit by bit, and its sum is the tree, whenever somebody looks. */
#include "calls/call_changes.h"
#include "calls/call_fold.h"
#include "calls/call_states.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

enum { METHODS = 9, KINDS = 3, DEEPEST = 12, STACKS = 5, STEPS = 4000, NODES_SEEN = 4096 };

/* Two trees of the same program: nobody looks at the first one, and the second one's changes are added up. */
typedef struct side {
    rpp_call_trace trace;
    rpp_call_stack stacks[STACKS];
    rpp_call_thread threads[STACKS];
} side;

static side plain, watched;
static rpp_call_changes *changes;
static rpp_call_numbers sums[NODES_SEEN]; /* of the changes, by shown node */
static uint64_t now_ns, random_state;

/* 3 is the same as 2, 5 and 6 are hidden. */
static const uint32_t as[METHODS + 1] = {
    RPP_CALL_OTHER, 1, 2, 2, 4, RPP_CALL_HIDDEN, RPP_CALL_HIDDEN, 7, 8, 9,
};
static const uint8_t kinds[METHODS + 1] = {0, 1, 1, 1, 2, 1, 2, 2, 1, 1};
static const rpp_call_cost costs[KINDS] = {{0, 0}, {40, 70}, {500, 300}};

static uint32_t some(uint32_t limit)
{
    return (uint32_t)(rpp_random_next(&random_state) % limit);
}

static rpp_call_reading now(void)
{
    return (rpp_call_reading){.wall_ns = now_ns, .cpu_ns = now_ns / 2, .objects = now_ns / 4};
}

static void begin_side(side *s, uint32_t max_nodes)
{
    s->trace = (rpp_call_trace){.tree = rpp_call_tree_new(max_nodes), .last = now()};
    CHECK(s->trace.tree);
    for (uint32_t i = 0; i < STACKS; i++) {
        rpp_call_stack_init(&s->stacks[i], rpp_call_tree_root(s->trace.tree, i), now_ns);
        rpp_call_thread_begin(&s->threads[i], i == 0, false, now_ns);
        s->threads[i].stack = &s->stacks[i];
    }
    rpp_call_trace_switch(&s->trace, &s->stacks[0], now());
}

static void end_side(side *s)
{
    for (uint32_t i = 0; i < STACKS; i++) rpp_call_stack_destroy(&s->stacks[i]);
    rpp_call_tree_free(s->trace.tree);
}

static void name_methods(void)
{
    for (uint32_t id = rpp_call_changes_named(changes); id <= METHODS; id++)
        CHECK_OK(rpp_call_changes_name(changes, kinds[id], as[id]));
}

static void begin(uint32_t max_nodes)
{
    now_ns = 1000;
    begin_side(&plain, max_nodes);
    begin_side(&watched, max_nodes);
    changes = rpp_call_changes_new(watched.trace.tree, costs, KINDS);
    CHECK(changes);
    name_methods();
    memset(sums, 0, sizeof sums);
}

static void end(void)
{
    end_side(&plain);
    end_side(&watched);
    rpp_call_changes_free(changes);
}

/* --- a look --- */

/* All that is open counts until now, and goes on. */
static void flush(side *s)
{
    rpp_call_trace_charge(&s->trace, now());
    for (uint32_t i = 0; i < STACKS; i++) {
        if (&s->stacks[i] != s->trace.running) rpp_call_trace_wait(&s->trace, &s->stacks[i], now_ns);
        rpp_call_thread_flush(&s->threads[i], s->trace.tree, now_ns);
    }
}

static bool take_some(uint32_t most)
{
    bool is_all = rpp_call_changes_take(changes, watched.trace.tree, most, now_ns - 1000, now_ns - 1000);
    for (uint32_t i = 0; i < STACKS; i++) rpp_call_stack_touch(&watched.stacks[i], watched.trace.tree);
    return is_all;
}

static void take(void)
{
    CHECK(take_some(UINT32_MAX));
}

static void tell(uint32_t most)
{
    rpp_call_change change;
    while (most-- && rpp_call_changes_next(changes, &change)) {
        CHECK(change.node < NODES_SEEN);
        rpp_call_numbers *sum = &sums[change.node];
        sum->calls += change.by.calls;
        sum->self_ns += change.by.self_ns;
        sum->wait_ns += change.by.wait_ns;
        sum->cpu_ns += change.by.cpu_ns;
        sum->objects += change.by.objects;
        for (int state = 0; state < RPP_CALL_STATES; state++) sum->states_ns[state] += change.by.states_ns[state];
    }
}

static void look(void)
{
    flush(&plain);
    flush(&watched);
    take_some(some(2) ? 1 + some(60) : UINT32_MAX); /* the rest comes with the next ones */
    tell(some(3) ? UINT32_MAX : some(20));
}

/* As it is shown at the end. The tree itself stays as it is. */
static rpp_call_tree *shown(const rpp_call_tree *tree, uint64_t *taken_ns)
{
    uint32_t same[METHODS + 1];
    for (uint32_t id = 0; id <= METHODS; id++) same[id] = id;
    rpp_call_tree *copy = rpp_call_tree_folded(tree, same);
    CHECK(copy);
    rpp_call_tree_limit_states(copy);
    *taken_ns = rpp_call_take_out(copy, kinds, costs);
    rpp_call_tree *folded = rpp_call_tree_folded(copy, as);
    CHECK(folded);
    rpp_call_tree_free(copy);
    return folded;
}

static void check_node(const rpp_call_tree *expected, uint32_t id)
{
    const rpp_call_node *node = rpp_call_tree_node(expected, id);
    const rpp_call_node *told = rpp_call_tree_node(rpp_call_changes_shown(changes), id);
    CHECK_INT(told->method, node->method);
    CHECK_INT(told->parent, node->parent);
    CHECK_INT(sums[id].calls, node->calls);
    CHECK_INT(sums[id].self_ns, node->self_ns);
    CHECK_INT(sums[id].wait_ns, node->wait_ns);
    CHECK_INT(sums[id].cpu_ns, node->cpu_ns);
    CHECK_INT(sums[id].objects, node->objects);
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
        CHECK_INT(sums[id].states_ns[state], rpp_call_tree_state_ns(expected, id, state));
}

static void compare(void)
{
    uint64_t taken_ns;
    flush(&plain);
    flush(&watched);
    while (!take_some(50)) continue;
    tell(UINT32_MAX);
    rpp_call_tree *expected = shown(plain.trace.tree, &taken_ns);
    CHECK_INT(rpp_call_tree_count(rpp_call_changes_shown(changes)), rpp_call_tree_count(expected));
    for (uint32_t id = 0; id < rpp_call_tree_count(expected); id++) check_node(expected, id);
    CHECK_INT(rpp_call_changes_overhead_ns(changes), taken_ns);
    rpp_call_tree_free(expected);
}

/* --- random programs --- */

static uint32_t running_number(void)
{
    return (uint32_t)(watched.trace.running - watched.stacks);
}

static void call_something(void)
{
    const rpp_call_stack *stack = watched.trace.running;
    uint32_t depth = rpp_call_stack_depth(stack) + 1, method = 1 + some(METHODS);
    if (stack->count && some(10) == 0) depth = stack->entries[some((uint32_t)stack->count)].depth;
    rpp_call_trace_enter(&plain.trace, depth, method, now());
    rpp_call_trace_enter(&watched.trace, depth, method, now());
}

static void return_or_throw(void)
{
    const rpp_call_stack *stack = watched.trace.running;
    uint32_t over = some(4) ? 1 : 1 + some((uint32_t)stack->count), depth = stack->entries[stack->count - over].depth;
    rpp_call_trace_leave(&plain.trace, depth, now());
    rpp_call_trace_leave(&watched.trace, depth, now());
}

/* A thread that ran releases the lock, and another one gets it. */
static void switch_to(side *s, uint32_t from, uint32_t to)
{
    rpp_call_thread_released(&s->threads[from], now_ns);
    if (to % 2) rpp_call_thread_wanted(&s->threads[from], now_ns);
    rpp_call_trace_switch(&s->trace, &s->stacks[to], now());
    rpp_call_thread_runs(&s->threads[to], &s->stacks[to], s->trace.tree, now_ns);
}

/* A thread ends, and another one begins in its place, maybe in the midst of what the tracing did not see. */
static void begin_anew(side *s, uint32_t number, uint32_t root, uint32_t opened)
{
    rpp_call_stack *stack = &s->stacks[number];
    rpp_call_trace_wait(&s->trace, stack, now_ns);
    rpp_call_thread_flush(&s->threads[number], s->trace.tree, now_ns);
    stack->count = 0;
    stack->root = root;
    rpp_call_tree_touch(s->trace.tree, root);
    for (uint32_t depth = 1; depth <= opened; depth++)
        rpp_call_trace_open(&s->trace, stack, depth, 1 + depth % METHODS, 0);
}

static void begin_some_stack_anew(void)
{
    uint32_t number = some(STACKS), root = some(2) ? some(STACKS) : UINT32_MAX, opened = some(4);
    if (number == running_number()) return;
    uint32_t of_plain = root == UINT32_MAX ? rpp_call_tree_root(plain.trace.tree, 77) : root;
    uint32_t of_watched = root == UINT32_MAX ? rpp_call_tree_root(watched.trace.tree, 77) : root;
    begin_anew(&plain, number, of_plain, opened);
    begin_anew(&watched, number, of_watched, opened);
}

static void collect(side *s, rpp_call_state phase)
{
    rpp_call_thread_collects(&s->threads[s->trace.running - s->stacks], phase, now_ns);
}

static void step(void)
{
    size_t open = watched.trace.running->count;
    uint32_t what = some(40), from = running_number(), to = some(STACKS);
    now_ns += some(1000);
    if (what == 0 && to != from) {
        switch_to(&plain, from, to);
        switch_to(&watched, from, to);
    } else if (what == 1) {
        rpp_call_state phase = some(2) ? RPP_CALL_RUNS : RPP_CALL_GC_MARKING;
        collect(&plain, phase);
        collect(&watched, phase);
    } else if (what == 2)
        begin_some_stack_anew();
    else if (what == 3)
        look();
    else if (open && (open == DEEPEST || what < 21))
        return_or_throw();
    else
        call_something();
}

static void run(uint32_t max_nodes)
{
    begin(max_nodes);
    for (int i = 0; i < STEPS; i++) {
        step();
        if (i % 500 == 0) compare();
    }
    now_ns += 17;
    compare();
    rpp_call_changes_give_back(changes, watched.trace.tree, now_ns - 1000, now_ns - 1000);
    for (uint32_t id = 0; id < rpp_call_tree_count(plain.trace.tree); id++) {
        const rpp_call_node *one = rpp_call_tree_node(plain.trace.tree, id),
                            *other = rpp_call_tree_node(watched.trace.tree, id);
        CHECK(!memcmp(one, other, sizeof *one));
        for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
            CHECK_INT(rpp_call_tree_state_ns(watched.trace.tree, id, state),
                      rpp_call_tree_state_ns(plain.trace.tree, id, state));
    }
    end();
}

TEST(the_sum_of_all_changes_is_the_tree)
{
    for (random_state = 1; random_state <= 3; random_state++) {
        uint64_t seed = random_state;
        run(800);
        random_state = seed;
    }
}

TEST(the_sum_of_all_changes_is_the_tree_past_the_limit)
{
    random_state = 11;
    run(60);
}

TEST_BY_NUMBERS(the_sum_of_all_changes_of_many_programs_is_their_tree)
{
    for (uint64_t seed = 100; seed < 200; seed++) {
        random_state = seed;
        run(seed % 2 ? 800 : 30 + (uint32_t)seed);
    }
}

/* --- examples --- */

static void call(uint32_t depth, uint32_t method, uint64_t after_ns)
{
    now_ns += after_ns;
    rpp_call_trace_enter(&watched.trace, depth, method, now());
}

static void leave(uint32_t depth, uint64_t after_ns)
{
    now_ns += after_ns;
    rpp_call_trace_leave(&watched.trace, depth, now());
}

static uint32_t told(void)
{
    rpp_call_change change;
    uint32_t count = 0;
    while (rpp_call_changes_next(changes, &change)) count++;
    return count;
}

TEST(only_what_has_changed_is_told)
{
    begin(800);
    for (uint32_t method = 1; method <= 4; method++) {
        call(1, method, 10);
        leave(1, 1000);
    }
    flush(&watched);
    take();
    uint32_t all = told();
    CHECK(all > 4);
    take();
    CHECK_INT(told(), 0); /* no time has passed */
    call(1, 4, 9000);
    now_ns += 5000;
    rpp_call_trace_charge(&watched.trace, now());
    take();
    CHECK_INT(told(), 2); /* the root, which called, and what it called */
    end();
}

TEST(the_cost_of_later_calls_is_taken_out_of_what_was_told)
{
    begin(800);
    rpp_call_change change;
    call(1, 4, 0);
    leave(1, 2000);
    take();
    CHECK(rpp_call_changes_next(changes, &change));
    CHECK_INT(change.by.self_ns, 2000 - 500);
    CHECK_INT(change.by.calls, 1);
    for (int i = 0; i < 2; i++) {
        call(1, 4, 0);
        leave(1, 50);
    }
    take();
    CHECK(rpp_call_changes_next(changes, &change));
    CHECK_INT((int64_t)change.by.self_ns, 100 - 1000);
    CHECK_INT(rpp_call_changes_overhead_ns(changes), 1500);
    end();
}

/* A tick is some nanoseconds in one round, and less than one in another. What is left is taken with what comes
 * later. */
TEST(ticks_become_the_nanoseconds_that_passed)
{
    begin(800);
    rpp_call_change change;
    uint64_t ns = 0, ticks = 0, self_ns = 0;
    random_state = 5;
    for (int round = 0; round < 100; round++) {
        for (uint32_t depth = 1; depth < 8; depth++) {
            uint64_t after = 1 + some(30);
            ticks += after;
            call(depth, 1 + some(METHODS), after);
        }
        leave(1, 3);
        ticks += 3;
        ns += some(300);
        bool is_all = rpp_call_changes_take(changes, watched.trace.tree, 1 + some(70), ns, ticks);
        rpp_call_stack_touch(&watched.stacks[0], watched.trace.tree);
        while (rpp_call_changes_next(changes, &change)) self_ns += change.by.self_ns;
        if (is_all) CHECK_INT(self_ns + rpp_call_changes_overhead_ns(changes), ns);
    }
    CHECK(rpp_call_tree_count(watched.trace.tree) > 5 * RPP_CALL_BLOCK);
    leave(1, 5); /* nobody has taken this */
    ns += 7;
    ticks += 5;
    uint64_t all_ns = 0;
    rpp_call_changes_give_back(changes, watched.trace.tree, ns, ticks);
    for (uint32_t id = 0; id < rpp_call_tree_count(watched.trace.tree); id++)
        all_ns += rpp_call_tree_node(watched.trace.tree, id)->self_ns;
    CHECK_INT(all_ns, ns);
    end();
}

TEST(a_place_is_that_of_the_next_one_above_which_is_shown)
{
    begin(800);
    call(1, 1, 1);
    call(2, 5, 1);
    call(3, 6, 1);
    take();
    uint32_t top = rpp_call_stack_top(&watched.stacks[0]), caller = watched.stacks[0].entries[0].node;
    const rpp_call_tree *tree = watched.trace.tree;
    uint32_t place = rpp_call_changes_shown_as(changes, tree, caller);
    CHECK_INT(rpp_call_changes_shown_as(changes, tree, top), place);
    CHECK(place != rpp_call_changes_shown_as(changes, tree, watched.stacks[0].root));
    call(4, 7, 1); /* nobody has taken it yet */
    CHECK_INT(rpp_call_changes_shown_as(changes, tree, rpp_call_stack_top(&watched.stacks[0])), place);
    end();
}

TEST(without_memory_there_are_no_changes)
{
    rpp_call_tree *tree = rpp_call_tree_new(5);
    for (size_t nth = 1; nth <= 10; nth++) {
        rpp_alloc_fail_at(nth);
        CHECK(!rpp_call_changes_new(tree, costs, KINDS));
    }
    rpp_alloc_fail_at(0);
    rpp_call_changes *some_changes = rpp_call_changes_new(tree, costs, KINDS);
    rpp_alloc_fail_at(1);
    CHECK_INT(rpp_call_changes_name(some_changes, 0, 0), RPP_NO_MEMORY);
    CHECK_INT(rpp_call_changes_named(some_changes), 0);
    rpp_alloc_fail_at(0);
    rpp_call_changes_free(some_changes);
    rpp_call_tree_free(tree);
}
