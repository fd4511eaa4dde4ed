/* call_tree.h - a calling context tree: a node for each chain of calls, with the number of calls and the time in it.
 *
 * Time
 *   A node has only the time of its own, without that of its children. What it took in all is the sum of the nodes
 *   below it (call_sums.h). So a call that has not returned yet is counted like any other, with the time it has run.
 *
 * Bounds
 *   Memory for all nodes is reserved at the beginning; the system provides it where it is first used. A call past the
 *   limit, and all that it calls, loses its chain: it is counted at a node of its method below a child of the root,
 *   whose method is RPP_CALL_OTHER. So what each method did itself stays true, and callers' totals lack it. There are
 *   at most as many of these as others; calls past this limit are counted at the root's child itself. A node takes
 *   sizeof(rpp_call_node) bytes, at most 16 of the index, and 8 for each state if it or a later one has been in any.
 *
 * Threads    one at a time. child and root allocate nothing, so they may run in a hook of the VM.
 * Ownership  the caller owns the tree; nodes are valid until it is freed.
 */
#ifndef RPP_CALL_TREE_H
#define RPP_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "calls/call_methods.h"

#define RPP_CALL_NONE      UINT32_MAX
#define RPP_CALL_ROOTS_MAX 4096u
#define RPP_CALL_NODES_MAX (UINT32_C(1) << 26)
#define RPP_CALL_BLOCK     64u /* nodes that share a mark */

/* What a call does while it does not run. The time is in self_ns and wait_ns, too. */
typedef enum rpp_call_state {
    RPP_CALL_BLOCKED, /* without the VM's lock: I/O, sleep, a lock of the program's */
    RPP_CALL_WAITING, /* for the VM's lock */
    RPP_CALL_GC_MARKING,
    RPP_CALL_GC_SWEEPING,
    RPP_CALL_SUSPENDED, /* its fiber: the thread runs another one */
    RPP_CALL_STATES
} rpp_call_state;

typedef struct rpp_call_node {
    uint32_t method;  /* of a root: a number that its maker chose */
    uint32_t parent;  /* RPP_CALL_NONE: a root. Parents have smaller ids than their children */
    uint32_t first;   /* child; RPP_CALL_NONE: there is none */
    uint32_t next;    /* child of the same parent */
    uint64_t calls;   /* that began; 0 if it was under way when the tracing began, and not called since */
    uint64_t self_ns; /* while its stack was the one that ran */
    uint64_t wait_ns; /* while another stack ran */
    uint64_t cpu_ns;
    uint64_t objects; /* created in it */
} rpp_call_node;

/* The fields are call_tree.c's. */
typedef struct rpp_call_tree {
    rpp_call_node *nodes;
    uint64_t *states_ns; /* RPP_CALL_STATES of each node */
    uint32_t *slots;     /* (parent, method) -> id + 1; open addressing; at most half full */
    size_t room;         /* for nodes */
    uint32_t mask;
    uint32_t count, roots, last_root;
    uint32_t regular, max_regular; /* without roots, and without those for calls past the limit */
    uint32_t chainless;            /* those of methods, for calls past the limit */
    uint32_t states_end;           /* no node from here on has any */
    uint8_t *touched; /* of each block: its nodes may have got something since it was looked at (call_changes.h) */
    bool has_too_many_roots;
} rpp_call_tree;

/* NULL if out of memory, or more than RPP_CALL_NODES_MAX. Roots, and nodes for calls past the limit, come on top. */
rpp_call_tree *rpp_call_tree_new(uint32_t max_nodes);
/* With room for so many nodes and roots in all, for a copy. */
rpp_call_tree *rpp_call_tree_new_of_size(uint32_t nodes);
void rpp_call_tree_free(rpp_call_tree *tree);

/* A new root; past RPP_CALL_ROOTS_MAX the last one. */
uint32_t rpp_call_tree_root(rpp_call_tree *tree, uint32_t number);
/* The child of a node, whatever the limit: of one that exists, or in a copy. */
uint32_t rpp_call_tree_child(rpp_call_tree *tree, uint32_t parent, uint32_t method);
/* The node of a method that the parent calls, on a stack with this root. */
uint32_t rpp_call_tree_called(rpp_call_tree *tree, uint32_t root, uint32_t parent, uint32_t method);

static inline rpp_call_node *rpp_call_tree_node(const rpp_call_tree *tree, uint32_t id)
{
    return &tree->nodes[id];
}

/* It may get something from now on. */
static inline void rpp_call_tree_touch(rpp_call_tree *tree, uint32_t id)
{
    tree->touched[id / RPP_CALL_BLOCK] = 1;
}

/* What the node's calls were in this state, of their self time and their waiting. Never more than these together. */
static inline uint64_t rpp_call_tree_state_ns(const rpp_call_tree *tree, uint32_t id, rpp_call_state state)
{
    return tree->states_ns[(size_t)id * RPP_CALL_STATES + state];
}

/* Time passed in a state. */
void rpp_call_tree_pass(rpp_call_tree *tree, uint32_t id, rpp_call_state state, uint64_t ns);
/* What the node's calls ran: self time and waiting without all states. */
uint64_t rpp_call_tree_running_ns(const rpp_call_tree *tree, uint32_t id);

uint32_t rpp_call_tree_count(const rpp_call_tree *tree);
/* Whether calls are past the limit. */
bool rpp_call_tree_is_full(const rpp_call_tree *tree);
/* Whether roots are past theirs. */
bool rpp_call_tree_has_too_many_roots(const rpp_call_tree *tree);
/* Memory in use, in bytes. */
uint64_t rpp_call_tree_bytes(const rpp_call_tree *tree);

#endif
