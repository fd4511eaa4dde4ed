/* call_changes.c - what a call tree has got since the last update, for a page that grows while calls are
 * traced. */
#include "calls/call_changes.h"

#include <string.h>

#include "base/alloc.h"
#include "calls/call_fold.h"

typedef struct named {
    uint32_t as;
    uint8_t kind;
} named;

/* What is known of a node of the tree. */
typedef struct known {
    rpp_call_numbers all;
    uint64_t cost_ns;
    uint32_t place; /* in the shown tree */
} known;

struct rpp_call_changes {
    size_t room;  /* for nodes of the tree */
    known *nodes; /* by id */
    uint32_t placed;
    rpp_call_cost *costs;
    named *methods; /* by id */
    size_t method_count, method_capacity;
    rpp_call_tree *shown; /* its numbers are what has not been told yet */
    uint32_t *unsent;     /* nodes of it that have such */
    uint8_t *is_unsent;   /* by node */
    uint32_t unsent_count;
    uint32_t next_block;            /* at which the next take begins */
    uint64_t taken_ns, taken_ticks; /* of own times */
    uint64_t overhead_ns;
};

rpp_call_changes *rpp_call_changes_new(const rpp_call_tree *tree, const rpp_call_cost *costs, uint8_t kinds)
{
    rpp_call_changes *c = rpp_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->room = tree->room;
    c->nodes = rpp_reserve(c->room, sizeof *c->nodes);
    c->costs = rpp_calloc(kinds, sizeof *c->costs);
    c->shown = rpp_call_tree_new_of_size((uint32_t)tree->room);
    c->unsent = rpp_reserve(c->room + 1, sizeof *c->unsent);
    c->is_unsent = rpp_reserve(c->room + 1, sizeof *c->is_unsent);
    if (!c->nodes || !c->costs || !c->shown || !c->unsent || !c->is_unsent) {
        rpp_call_changes_free(c);
        return NULL;
    }
    memcpy(c->costs, costs, kinds * sizeof *costs);
    return c;
}

void rpp_call_changes_free(rpp_call_changes *c)
{
    if (!c) return;
    rpp_unreserve(c->nodes, c->room, sizeof *c->nodes);
    rpp_free(c->costs);
    rpp_free(c->methods);
    rpp_call_tree_free(c->shown);
    rpp_unreserve(c->unsent, c->room + 1, sizeof *c->unsent);
    rpp_unreserve(c->is_unsent, c->room + 1, sizeof *c->is_unsent);
    rpp_free(c);
}

rpp_status rpp_call_changes_name(rpp_call_changes *c, uint8_t kind, uint32_t as)
{
    rpp_status status = rpp_grow((void **)&c->methods, &c->method_capacity, c->method_count + 1, sizeof *c->methods);
    if (status == RPP_OK) c->methods[c->method_count++] = (named){as, kind};
    return status;
}

uint32_t rpp_call_changes_named(const rpp_call_changes *c)
{
    return (uint32_t)c->method_count;
}

/* --- how a node is shown --- */

/* As rpp_call_tree_limit_states: returns what the node's calls ran. */
static uint64_t limit_states(rpp_call_numbers *n)
{
    uint64_t left_ns = n->self_ns + n->wait_ns;
    for (int state = 0; state < RPP_CALL_STATES; state++) {
        if (n->states_ns[state] > left_ns) n->states_ns[state] = left_ns;
        left_ns -= n->states_ns[state];
    }
    return left_ns;
}

/* As rpp_call_take_out: costs one by one, as far as there is time, are their sum as far as there is time. */
static rpp_call_numbers shown_of(const known *node, uint64_t *taken_ns)
{
    rpp_call_numbers shown = node->all;
    uint64_t running_ns = limit_states(&shown);
    *taken_ns = node->cost_ns < shown.self_ns ? node->cost_ns : shown.self_ns;
    if (*taken_ns > running_ns) *taken_ns = running_ns;
    shown.self_ns -= *taken_ns;
    return shown;
}

/* --- what changes --- */

static bool is_hidden(const rpp_call_changes *c, const rpp_call_node *node)
{
    return node->parent != RPP_CALL_NONE && c->methods[node->method].as == RPP_CALL_HIDDEN;
}

static uint32_t place_of(rpp_call_changes *c, const rpp_call_node *node)
{
    if (node->parent == RPP_CALL_NONE) return rpp_call_tree_root(c->shown, node->method);
    uint32_t parent = c->nodes[node->parent].place;
    return is_hidden(c, node) ? parent : rpp_call_tree_child(c->shown, parent, c->methods[node->method].as);
}

/* Parents come before their children. */
static void place_new(rpp_call_changes *c, const rpp_call_tree *tree, uint32_t end)
{
    for (; c->placed < end; c->placed++) c->nodes[c->placed].place = place_of(c, rpp_call_tree_node(tree, c->placed));
}

/* Differences wrap, and what they are added to wraps back. */
static void tell(rpp_call_changes *c, uint32_t place, bool has_calls, const rpp_call_numbers *before,
                 const rpp_call_numbers *after)
{
    rpp_call_node *node = rpp_call_tree_node(c->shown, place);
    if (has_calls) node->calls += after->calls - before->calls;
    node->self_ns += after->self_ns - before->self_ns;
    node->wait_ns += after->wait_ns - before->wait_ns;
    node->cpu_ns += after->cpu_ns - before->cpu_ns;
    node->objects += after->objects - before->objects;
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
        rpp_call_tree_pass(c->shown, place, state, after->states_ns[state] - before->states_ns[state]);
    if (c->is_unsent[place]) return;
    c->is_unsent[place] = 1;
    c->unsent[c->unsent_count++] = place;
}

static void add(rpp_call_changes *c, const rpp_call_tree *tree, uint32_t id, const rpp_call_numbers *got,
                uint64_t cost_ns)
{
    known *k = &c->nodes[id];
    uint64_t taken_before_ns, taken_ns;
    rpp_call_numbers before = shown_of(k, &taken_before_ns);
    k->all.calls += got->calls;
    k->all.self_ns += got->self_ns;
    k->all.wait_ns += got->wait_ns;
    k->all.cpu_ns += got->cpu_ns;
    k->all.objects += got->objects;
    for (int state = 0; state < RPP_CALL_STATES; state++) k->all.states_ns[state] += got->states_ns[state];
    k->cost_ns += cost_ns;
    rpp_call_numbers after = shown_of(k, &taken_ns);
    c->overhead_ns += taken_ns - taken_before_ns;
    tell(c, k->place, !is_hidden(c, rpp_call_tree_node(tree, id)), &before, &after);
}

/* --- take --- */

/* How ticks become nanoseconds, and what was made of them so far. */
typedef struct scale {
    uint64_t ns, ticks, self, wait;
} scale;

static bool has_anything(const rpp_call_tree *tree, uint32_t id)
{
    const rpp_call_node *node = rpp_call_tree_node(tree, id);
    uint64_t any = node->calls | node->self_ns | node->wait_ns | node->cpu_ns | node->objects;
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++) any |= rpp_call_tree_state_ns(tree, id, state);
    return any;
}

/* Afterwards the node has nothing. States are rounded down one by one, as in rpp_call_tree_scale. */
static rpp_call_numbers numbers_out_of(rpp_call_tree *tree, uint32_t id, scale *s)
{
    rpp_call_node *node = rpp_call_tree_node(tree, id);
    rpp_call_numbers got = {.calls = node->calls, .cpu_ns = node->cpu_ns, .objects = node->objects};
    got.self_ns = rpp_call_scaled(&s->self, node->self_ns, s->ns, s->ticks);
    got.wait_ns = rpp_call_scaled(&s->wait, node->wait_ns, s->ns, s->ticks);
    node->calls = node->self_ns = node->wait_ns = node->cpu_ns = node->objects = 0;
    for (int state = 0; state < RPP_CALL_STATES; state++) {
        uint64_t none = 0, *state_ns = &tree->states_ns[(size_t)id * RPP_CALL_STATES + (size_t)state];
        if (!*state_ns) continue;
        got.states_ns[state] = rpp_call_scaled(&none, *state_ns, s->ns, s->ticks);
        *state_ns = 0;
    }
    return got;
}

/* A call also makes its caller longer. Returns whether the node had anything. */
static bool take_node(rpp_call_changes *c, rpp_call_tree *tree, uint32_t id, scale *s)
{
    if (!has_anything(tree, id)) return false;
    const rpp_call_node *node = rpp_call_tree_node(tree, id);
    rpp_call_numbers got = numbers_out_of(tree, id, s), nothing = {0};
    bool is_root = node->parent == RPP_CALL_NONE;
    rpp_call_cost cost = is_root ? (rpp_call_cost){0, 0} : c->costs[c->methods[node->method].kind];
    add(c, tree, id, &got, got.calls * cost.inside_ns);
    if (got.calls && cost.outside_ns) add(c, tree, node->parent, &nothing, got.calls * cost.outside_ns);
    c->taken_ns += got.self_ns;
    return true;
}

static uint32_t take_block(rpp_call_changes *c, rpp_call_tree *tree, uint32_t block, scale *s)
{
    uint32_t begin = block * RPP_CALL_BLOCK, count = rpp_call_tree_count(tree), taken = 0;
    uint32_t end = count - begin < RPP_CALL_BLOCK ? count : begin + RPP_CALL_BLOCK;
    if (!tree->touched[block]) return 0;
    tree->touched[block] = 0;
    place_new(c, tree, end);
    for (uint32_t id = begin; id < end; id++) taken += take_node(c, tree, id, s);
    return taken;
}

static uint64_t left_of(uint64_t all, uint64_t taken)
{
    return all > taken ? all - taken : 0;
}

static scale scale_of(const rpp_call_changes *c, uint64_t ns, uint64_t ticks)
{
    scale s = {left_of(ns, c->taken_ns), left_of(ticks, c->taken_ticks), 0, 0};
    return s.ticks ? s : (scale){1, 1, 0, 0};
}

/* Begins where the last one ended, so that each block has its turn. */
bool rpp_call_changes_take(rpp_call_changes *c, rpp_call_tree *tree, uint32_t most, uint64_t ns, uint64_t ticks)
{
    uint32_t blocks = (rpp_call_tree_count(tree) + RPP_CALL_BLOCK - 1) / RPP_CALL_BLOCK, seen = 0, taken = 0;
    scale s = scale_of(c, ns, ticks);
    for (; seen < blocks && taken < most; seen++) {
        if (c->next_block >= blocks) c->next_block = 0;
        taken += take_block(c, tree, c->next_block++, &s);
    }
    c->taken_ticks += s.self;
    return seen == blocks;
}

/* --- tell --- */

bool rpp_call_changes_next(rpp_call_changes *c, rpp_call_change *change)
{
    while (c->unsent_count) {
        uint32_t id = c->unsent[--c->unsent_count];
        scale same = {1, 1, 0, 0};
        bool is_any = has_anything(c->shown, id);
        c->is_unsent[id] = 0;
        *change = (rpp_call_change){id, numbers_out_of(c->shown, id, &same)};
        if (is_any) return true;
    }
    return false;
}

const rpp_call_tree *rpp_call_changes_shown(const rpp_call_changes *c)
{
    return c->shown;
}

uint32_t rpp_call_changes_shown_as(const rpp_call_changes *c, const rpp_call_tree *tree, uint32_t node)
{
    while (node >= c->placed && rpp_call_tree_node(tree, node)->parent != RPP_CALL_NONE)
        node = rpp_call_tree_node(tree, node)->parent;
    return c->nodes[node].place;
}

uint64_t rpp_call_changes_overhead_ns(const rpp_call_changes *c)
{
    return c->overhead_ns;
}

void rpp_call_changes_give_back(const rpp_call_changes *c, rpp_call_tree *tree, uint64_t ns, uint64_t ticks)
{
    rpp_call_tree_scale(tree, left_of(ns, c->taken_ns), left_of(ticks, c->taken_ticks));
    for (uint32_t id = 0; id < c->placed; id++) {
        rpp_call_node *node = rpp_call_tree_node(tree, id);
        const rpp_call_numbers *all = &c->nodes[id].all;
        node->calls += all->calls;
        node->self_ns += all->self_ns;
        node->wait_ns += all->wait_ns;
        node->cpu_ns += all->cpu_ns;
        node->objects += all->objects;
        for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
            rpp_call_tree_pass(tree, id, state, all->states_ns[state]);
    }
}
