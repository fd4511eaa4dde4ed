/* call_fold.c - a copy of a call tree in which some methods are one, and some are hidden. */
#include "calls/call_fold.h"

#include "base/alloc.h"

static uint32_t place_of(rpp_call_tree *copy, const rpp_call_node *node, const uint32_t *places, const uint32_t *as)
{
    if (node->parent == RPP_CALL_NONE) return rpp_call_tree_root(copy, node->method);
    uint32_t parent = places[node->parent];
    return as[node->method] == RPP_CALL_HIDDEN ? parent : rpp_call_tree_child(copy, parent, as[node->method]);
}

/* Parents come before their children. */
static void fill(rpp_call_tree *copy, const rpp_call_tree *tree, uint32_t *places, const uint32_t *as)
{
    for (uint32_t id = 0; id < rpp_call_tree_count(tree); id++) {
        const rpp_call_node *node = rpp_call_tree_node(tree, id);
        places[id] = place_of(copy, node, places, as);
        rpp_call_node *to = rpp_call_tree_node(copy, places[id]);
        bool is_hidden = node->parent != RPP_CALL_NONE && as[node->method] == RPP_CALL_HIDDEN;
        to->calls += is_hidden ? 0 : node->calls;
        to->self_ns += node->self_ns;
        to->wait_ns += node->wait_ns;
        to->cpu_ns += node->cpu_ns;
        to->objects += node->objects;
        for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++)
            rpp_call_tree_pass(copy, places[id], state, rpp_call_tree_state_ns(tree, id, state));
    }
}

rpp_call_tree *rpp_call_tree_folded_to(const rpp_call_tree *tree, const uint32_t *as, uint32_t *places)
{
    rpp_call_tree *copy = rpp_call_tree_new_of_size(rpp_call_tree_count(tree));
    if (copy) fill(copy, tree, places, as);
    return copy;
}

rpp_call_tree *rpp_call_tree_folded(const rpp_call_tree *tree, const uint32_t *as)
{
    uint32_t *places = rpp_calloc(rpp_call_tree_count(tree) + (size_t)1, sizeof *places);
    rpp_call_tree *copy = places ? rpp_call_tree_folded_to(tree, as, places) : NULL;
    rpp_free(places);
    return copy;
}
