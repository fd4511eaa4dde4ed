/* call_tree.c - a calling context tree: a node for each chain of calls, with the number of calls and the time in it. */
#include "calls/call_tree.h"

#include "base/alloc.h"
#include "base/hash_index.h"

static rpp_call_tree *tree_new(uint32_t max_regular, size_t room)
{
    rpp_call_tree *tree = rpp_calloc(1, sizeof *tree);
    if (!tree) return NULL;
    size_t slots = 16;
    while (slots < 2 * room) slots *= 2;
    tree->max_regular = max_regular;
    tree->room = room;
    tree->mask = (uint32_t)(slots - 1);
    tree->nodes = rpp_reserve(room, sizeof *tree->nodes);
    tree->slots = rpp_reserve(slots, sizeof *tree->slots);
    tree->states_ns = rpp_reserve(room, RPP_CALL_STATES * sizeof *tree->states_ns);
    tree->touched = rpp_reserve(room / RPP_CALL_BLOCK + 1, sizeof *tree->touched);
    if (tree->nodes && tree->slots && tree->states_ns && tree->touched) return tree;
    rpp_call_tree_free(tree);
    return NULL;
}

rpp_call_tree *rpp_call_tree_new(uint32_t max_nodes)
{
    /* Past the limit: as many nodes again, one for each method of each root, below one for each root. */
    return max_nodes > RPP_CALL_NODES_MAX ? NULL : tree_new(max_nodes, 2 * ((size_t)max_nodes + RPP_CALL_ROOTS_MAX));
}

rpp_call_tree *rpp_call_tree_new_of_size(uint32_t nodes)
{
    return tree_new(nodes, nodes + (size_t)1);
}

void rpp_call_tree_free(rpp_call_tree *tree)
{
    if (!tree) return;
    rpp_unreserve(tree->nodes, tree->room, sizeof *tree->nodes);
    rpp_unreserve(tree->slots, tree->mask + (size_t)1, sizeof *tree->slots);
    rpp_unreserve(tree->states_ns, tree->room, RPP_CALL_STATES * sizeof *tree->states_ns);
    rpp_unreserve(tree->touched, tree->room / RPP_CALL_BLOCK + 1, sizeof *tree->touched);
    rpp_free(tree);
}

static uint32_t add(rpp_call_tree *tree, uint32_t parent, uint32_t method)
{
    rpp_call_node *caller = parent == RPP_CALL_NONE ? NULL : &tree->nodes[parent];
    tree->nodes[tree->count] = (rpp_call_node){
        .method = method, .parent = parent, .first = RPP_CALL_NONE, .next = caller ? caller->first : RPP_CALL_NONE};
    if (caller) caller->first = tree->count;
    rpp_call_tree_touch(tree, tree->count);
    return tree->count++;
}

uint32_t rpp_call_tree_root(rpp_call_tree *tree, uint32_t number)
{
    if (tree->roots == RPP_CALL_ROOTS_MAX) {
        tree->has_too_many_roots = true;
        return tree->last_root;
    }
    tree->roots++;
    return tree->last_root = add(tree, RPP_CALL_NONE, number);
}

static uint32_t *slot_of(const rpp_call_tree *tree, uint32_t parent, uint32_t method)
{
    uint32_t at = rpp_hash_words(parent, method) & tree->mask;
    while (tree->slots[at]) {
        const rpp_call_node *node = &tree->nodes[tree->slots[at] - 1];
        if (node->parent == parent && node->method == method) break;
        at = (at + 1) & tree->mask;
    }
    return &tree->slots[at];
}

uint32_t rpp_call_tree_child(rpp_call_tree *tree, uint32_t parent, uint32_t method)
{
    uint32_t *slot = slot_of(tree, parent, method);
    if (!*slot) *slot = add(tree, parent, method) + 1;
    return *slot - 1;
}

/* --- past the limit --- */

static bool stands_for_others(const rpp_call_tree *tree, uint32_t id)
{
    return tree->nodes[id].method == RPP_CALL_OTHER && tree->nodes[id].parent != RPP_CALL_NONE;
}

/* Its chain is not known. */
static bool is_without_chain(const rpp_call_tree *tree, uint32_t id)
{
    uint32_t parent = tree->nodes[id].parent;
    return stands_for_others(tree, id) || (parent != RPP_CALL_NONE && stands_for_others(tree, parent));
}

/* The node of the method below the root's node for others; that node itself past the next limit. */
static uint32_t without_chain(rpp_call_tree *tree, uint32_t root, uint32_t method)
{
    uint32_t others = rpp_call_tree_child(tree, root, RPP_CALL_OTHER);
    if (method == RPP_CALL_OTHER) return others;
    if (!*slot_of(tree, others, method)) {
        if (tree->chainless == tree->max_regular) return others;
        tree->chainless++;
    }
    return rpp_call_tree_child(tree, others, method);
}

uint32_t rpp_call_tree_called(rpp_call_tree *tree, uint32_t root, uint32_t parent, uint32_t method)
{
    if (method == RPP_CALL_OTHER || is_without_chain(tree, parent)) return without_chain(tree, root, method);
    if (!*slot_of(tree, parent, method)) {
        if (tree->regular == tree->max_regular) return without_chain(tree, root, method);
        tree->regular++;
    }
    return rpp_call_tree_child(tree, parent, method);
}

void rpp_call_tree_pass(rpp_call_tree *tree, uint32_t id, rpp_call_state state, uint64_t ns)
{
    if (!ns) return;
    tree->states_ns[(size_t)id * RPP_CALL_STATES + state] += ns;
    if (id >= tree->states_end) tree->states_end = id + 1;
}

uint64_t rpp_call_tree_running_ns(const rpp_call_tree *tree, uint32_t id)
{
    uint64_t ns = tree->nodes[id].self_ns + tree->nodes[id].wait_ns;
    for (rpp_call_state state = 0; state < RPP_CALL_STATES; state++) ns -= rpp_call_tree_state_ns(tree, id, state);
    return ns;
}

uint32_t rpp_call_tree_count(const rpp_call_tree *tree)
{
    return tree->count;
}

bool rpp_call_tree_is_full(const rpp_call_tree *tree)
{
    return tree->regular == tree->max_regular;
}

bool rpp_call_tree_has_too_many_roots(const rpp_call_tree *tree)
{
    return tree->has_too_many_roots;
}

uint64_t rpp_call_tree_bytes(const rpp_call_tree *tree)
{
    uint64_t slots = (uint64_t)tree->mask + 1, touched = (uint64_t)tree->count * 16;
    uint64_t index = slots * sizeof *tree->slots;
    uint64_t states = (uint64_t)tree->states_end * RPP_CALL_STATES * sizeof *tree->states_ns;
    return tree->count * sizeof *tree->nodes + states + (touched < index ? touched : index);
}
