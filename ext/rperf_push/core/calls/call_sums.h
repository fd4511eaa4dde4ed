/* call_sums.h - what nodes of a call tree took in all, and what methods did.
 *
 * Recursion
 *   A method that is on the stack several times counts its total once, at its outermost call: below one root no total
 *   exceeds the time that passed. Totals of several roots add up.
 *
 * The cost of tracing
 *   Each event takes time, a part of it before its clock reading and a part after it. So a call makes its own node
 *   longer, and its caller's. What that is on this machine is measured beforehand; call_sums takes it out of the time
 *   that they ran.
 *
 * Threads    one at a time, and no event at the same time.
 * Ownership  the caller owns the arrays.
 */
#ifndef RPP_CALL_SUMS_H
#define RPP_CALL_SUMS_H

#include "calls/call_tree.h"

typedef struct rpp_call_sum {
    uint64_t calls, self_ns, wait_ns, cpu_ns, objects;
    uint64_t states_ns[RPP_CALL_STATES];
    uint64_t total_ns; /* self time, waiting, and that of all calls below */
    uint32_t visits;   /* while summing: how often it is on the way to the node */
    bool is_recursive;
} rpp_call_sum;

/* By node: what each took in all. `totals_ns` has a place for each node. */
void rpp_call_totals(const rpp_call_tree *tree, uint64_t *totals_ns);
/* By method: all ids are below `end`, which is the number of places of `sums`. Roots are no methods. */
void rpp_call_sums(const rpp_call_tree *tree, const uint64_t *totals_ns, rpp_call_sum *sums, uint32_t end);

/* Makes nanoseconds of ticks: `ticks` of them were `ns`. What all nodes have together is rounded, not each, so sums
 * stay whole. States are rounded down. */
void rpp_call_tree_scale(rpp_call_tree *tree, uint64_t ns, uint64_t ticks);
/* What `count` ticks more are, after those before. */
uint64_t rpp_call_scaled(uint64_t *before, uint64_t count, uint64_t ns, uint64_t ticks);
/* No node's states have more time than the node. Clocks of several cores may differ by some ticks. Before
 * running_ns. */
void rpp_call_tree_limit_states(rpp_call_tree *tree);

/* The time that one call adds to its own node, and to its caller's. */
typedef struct rpp_call_cost {
    uint64_t inside_ns, outside_ns;
} rpp_call_cost;

/* Takes the cost of each call out of the nodes' self time, as far as there is any in which they ran. `kinds` has the
 * kind of each method, `costs` the cost of each kind. Returns what was taken out: own times before are own times after
 * plus this. */
uint64_t rpp_call_take_out(rpp_call_tree *tree, const uint8_t *kinds, const rpp_call_cost *costs);

#endif
