/* call_sums.c - what nodes of a call tree took in all, and what methods did. */
#include "calls/call_sums.h"

/* Children come after their parents: one pass from the end. */
void rpp_call_totals(const rpp_call_tree *tree, uint64_t *totals_ns)
{
    uint32_t count = rpp_call_tree_count(tree);
    for (uint32_t id = 0; id < count; id++) {
        const rpp_call_node *node = rpp_call_tree_node(tree, id);
        totals_ns[id] = node->self_ns + node->wait_ns;
    }
    for (uint32_t id = count; id-- > 0;) {
        uint32_t parent = rpp_call_tree_node(tree, id)->parent;
        if (parent != RPP_CALL_NONE) totals_ns[parent] += totals_ns[id];
    }
}

static void arrive(const rpp_call_tree *tree, uint32_t id, uint64_t total_ns, rpp_call_sum *sum)
{
    const rpp_call_node *node = rpp_call_tree_node(tree, id);
    sum->calls += node->calls;
    sum->self_ns += node->self_ns;
    sum->wait_ns += node->wait_ns;
    sum->cpu_ns += node->cpu_ns;
    sum->objects += node->objects;
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
        sum->states_ns[state] += rpp_call_tree_state_ns(tree, id, state);
    if (sum->visits++)
        sum->is_recursive = true;
    else
        sum->total_ns += total_ns;
}

/* Goes through the nodes below a root, each one before its children. Deep trees need no stack: nodes know the way
 * back. */
static void sum_below(const rpp_call_tree *tree, uint32_t root, const uint64_t *totals_ns, rpp_call_sum *sums)
{
    uint32_t id = rpp_call_tree_node(tree, root)->first;
    while (id != RPP_CALL_NONE) {
        const rpp_call_node *node = rpp_call_tree_node(tree, id);
        arrive(tree, id, totals_ns[id], &sums[node->method]);
        if (node->first != RPP_CALL_NONE) {
            id = node->first;
            continue;
        }
        while (id != root && node->next == RPP_CALL_NONE) {
            sums[node->method].visits--;
            id = node->parent;
            node = rpp_call_tree_node(tree, id);
        }
        if (id == root) return;
        sums[node->method].visits--;
        id = node->next;
    }
}

void rpp_call_sums(const rpp_call_tree *tree, const uint64_t *totals_ns, rpp_call_sum *sums, uint32_t end)
{
    for (uint32_t method = 0; method < end; method++) sums[method] = (rpp_call_sum){0};
    for (uint32_t id = 0; id < rpp_call_tree_count(tree); id++) {
        if (rpp_call_tree_node(tree, id)->parent == RPP_CALL_NONE) sum_below(tree, id, totals_ns, sums);
    }
}

uint64_t rpp_call_scaled(uint64_t *before, uint64_t count, uint64_t ns, uint64_t ticks)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    uint64_t from = (uint64_t)((wide)*before * ns / ticks);
    *before += count;
    return (uint64_t)((wide)*before * ns / ticks) - from;
#else
    (void)before, (void)ns, (void)ticks; /* there are no ticks without it */
    return count;
#endif
}

/* One by one, so that none is longer than its node by rounding. */
static void scale_states(rpp_call_tree *tree, uint32_t id, uint64_t ns, uint64_t ticks)
{
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++) {
        uint64_t none_before = 0, *state_ns = &tree->states_ns[(size_t)id * RPP_CALL_STATES + state];
        *state_ns = rpp_call_scaled(&none_before, *state_ns, ns, ticks);
    }
}

void rpp_call_tree_scale(rpp_call_tree *tree, uint64_t ns, uint64_t ticks)
{
    uint64_t self = 0, wait = 0;
    for (uint32_t id = 0; ticks && id < rpp_call_tree_count(tree); id++) {
        rpp_call_node *node = rpp_call_tree_node(tree, id);
        node->self_ns = rpp_call_scaled(&self, node->self_ns, ns, ticks);
        node->wait_ns = rpp_call_scaled(&wait, node->wait_ns, ns, ticks);
        if (id < tree->states_end) scale_states(tree, id, ns, ticks);
    }
}

void rpp_call_tree_limit_states(rpp_call_tree *tree)
{
    for (uint32_t id = 0; id < tree->states_end; id++) {
        const rpp_call_node *node = rpp_call_tree_node(tree, id);
        uint64_t left_ns = node->self_ns + node->wait_ns;
        for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++) {
            uint64_t *state_ns = &tree->states_ns[(size_t)id * RPP_CALL_STATES + state];
            if (*state_ns > left_ns) *state_ns = left_ns;
            left_ns -= *state_ns;
        }
    }
}

/* Tracing itself runs. */
static uint64_t take(rpp_call_tree *tree, uint32_t id, uint64_t cost_ns)
{
    rpp_call_node *node = rpp_call_tree_node(tree, id);
    uint64_t running_ns = rpp_call_tree_running_ns(tree, id), taken = cost_ns < node->self_ns ? cost_ns : node->self_ns;
    if (taken > running_ns) taken = running_ns;
    node->self_ns -= taken;
    return taken;
}

uint64_t rpp_call_take_out(rpp_call_tree *tree, const uint8_t *kinds, const rpp_call_cost *costs)
{
    uint64_t taken = 0;
    for (uint32_t id = 0; id < rpp_call_tree_count(tree); id++) {
        const rpp_call_node *node = rpp_call_tree_node(tree, id);
        if (node->parent == RPP_CALL_NONE) continue;
        const rpp_call_cost *cost = &costs[kinds[node->method]];
        taken += take(tree, id, node->calls * cost->inside_ns);
        taken += take(tree, node->parent, node->calls * cost->outside_ns);
    }
    return taken;
}
