/* call_tree.c - a calling context tree: a node for each chain of calls, with the number of calls and the time in it. */
#include "calls/call_tree.h"

#include "base/alloc.h"
#include "base/hash_index.h"

#define MOST_NODES (UINT32_C(1) << 26)

struct rpp_call_tree {
    rpp_call_node *nodes;
    uint32_t *slots; /* (parent, method) -> id + 1; open addressing; at most half full */
    uint32_t mask;
    uint32_t count, roots, last_root;
    uint32_t regular, max_regular; /* without roots, and without those for calls past the limit */
};

rpp_call_tree *rpp_call_tree_new(uint32_t max_nodes)
{
    if (max_nodes > MOST_NODES) return NULL;
    rpp_call_tree *tree = rpp_calloc(1, sizeof *tree);
    if (!tree) return NULL;
    /* Each node may have one child for the calls past the limit. */
    size_t room = 2 * ((size_t)max_nodes + RPP_CALL_ROOTS_MAX), slots = 16;
    while (slots < 2 * room) slots *= 2;
    tree->max_regular = max_nodes;
    tree->mask = (uint32_t)(slots - 1);
    tree->nodes = rpp_calloc(room, sizeof *tree->nodes);
    tree->slots = rpp_calloc(slots, sizeof *tree->slots);
    if (tree->nodes && tree->slots) return tree;
    rpp_call_tree_free(tree);
    return NULL;
}

void rpp_call_tree_free(rpp_call_tree *tree)
{
    if (!tree) return;
    rpp_free(tree->nodes);
    rpp_free(tree->slots);
    rpp_free(tree);
}

static uint32_t add(rpp_call_tree *tree, uint32_t parent, uint32_t method)
{
    rpp_call_node *caller = parent == RPP_CALL_NONE ? NULL : &tree->nodes[parent];
    tree->nodes[tree->count] = (rpp_call_node){.method = method,
                                               .parent = parent,
                                               .first = RPP_CALL_NONE,
                                               .next = caller ? caller->first : RPP_CALL_NONE,
                                               .recent = RPP_CALL_NONE};
    if (caller) caller->first = tree->count;
    return tree->count++;
}

uint32_t rpp_call_tree_root(rpp_call_tree *tree, uint32_t number)
{
    if (tree->roots == RPP_CALL_ROOTS_MAX) return tree->last_root;
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

static bool stands_for_others(const rpp_call_node *node)
{
    return node->method == RPP_CALL_OTHER && node->parent != RPP_CALL_NONE;
}

uint32_t rpp_call_tree_child(rpp_call_tree *tree, uint32_t parent, uint32_t method)
{
    rpp_call_node *caller = &tree->nodes[parent];
    if (caller->recent != RPP_CALL_NONE && tree->nodes[caller->recent].method == method) return caller->recent;
    if (stands_for_others(caller)) return parent;
    uint32_t *slot = slot_of(tree, parent, method);
    if (!*slot && method != RPP_CALL_OTHER) {
        if (tree->regular == tree->max_regular) return rpp_call_tree_child(tree, parent, RPP_CALL_OTHER);
        tree->regular++;
    }
    if (!*slot) *slot = add(tree, parent, method) + 1;
    return caller->recent = *slot - 1;
}

rpp_call_node *rpp_call_tree_node(const rpp_call_tree *tree, uint32_t id)
{
    return &tree->nodes[id];
}

uint32_t rpp_call_tree_count(const rpp_call_tree *tree)
{
    return tree->count;
}

bool rpp_call_tree_is_full(const rpp_call_tree *tree)
{
    return tree->regular == tree->max_regular;
}

uint64_t rpp_call_tree_bytes(const rpp_call_tree *tree)
{
    uint64_t slots = (uint64_t)tree->mask + 1, touched = (uint64_t)tree->count * 16;
    uint64_t index = slots * sizeof *tree->slots;
    return tree->count * sizeof *tree->nodes + (touched < index ? touched : index);
}
