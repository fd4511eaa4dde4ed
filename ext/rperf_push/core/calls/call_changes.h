/* call_changes.h - what a call tree has got since the last update, for a page that grows while calls are traced.
 *
 * Operation
 *   take moves the numbers out of the tree's nodes, so that what is in them next time is new, and adds them to what is
 *   known of each node. How a node is shown follows from what is known of it alone, and is what
 *   rpp_call_tree_limit_states, rpp_call_take_out and rpp_call_tree_folded would make of it at the end. A change is
 *   what it shows now without what it showed before. So the sum of all changes is the tree as it is now, to the
 *   nanosecond and the call, at each update. A change may be negative: the cost of new calls may be taken out
 *   of time that was shown before.
 *
 * Cost
 *   The tree marks blocks of nodes that may have got something (rpp_call_tree_touch). take looks at those, and its
 *   caller marks what is open afterwards. So it takes as long as what has changed, however large the tree is, and it
 *   may leave a part for the next time.
 *
 * Ticks
 *   Those that have not been taken become nanoseconds as all of them together do. So when nothing is left, the own
 *   times of all changes sum up to the time that passed.
 *
 * Threads    one at a time: the thread that holds the GVL, and no event at the same time.
 * Ownership  the caller owns changes and tree. Memory for all nodes is reserved at the beginning.
 */
#ifndef RPP_CALL_CHANGES_H
#define RPP_CALL_CHANGES_H

#include "calls/call_sums.h"

typedef struct rpp_call_numbers {
    uint64_t calls, self_ns, wait_ns, cpu_ns, objects;
    uint64_t states_ns[RPP_CALL_STATES];
} rpp_call_numbers;

/* Numbers may be negative: as int64_t. */
typedef struct rpp_call_change {
    uint32_t node; /* of the shown tree */
    rpp_call_numbers by;
} rpp_call_change;

typedef struct rpp_call_changes rpp_call_changes;

/* For a tree that has nothing yet. `costs` has the cost of each kind of method, below `kinds`. NULL if out of
 * memory. */
rpp_call_changes *rpp_call_changes_new(const rpp_call_tree *tree, const rpp_call_cost *costs, uint8_t kinds);
void rpp_call_changes_free(rpp_call_changes *changes);

/* The next method by its id: its kind, and what it becomes, as in call_fold.h. */
RPP_NODISCARD rpp_status rpp_call_changes_name(rpp_call_changes *changes, uint8_t kind, uint32_t as);
/* How many have got a name. */
uint32_t rpp_call_changes_named(const rpp_call_changes *changes);

/* All methods of the tree's nodes have names, and `ticks` since the beginning were `ns`. Stops in a block when `most`
 * nodes had anything. Returns whether nothing is left. */
bool rpp_call_changes_take(rpp_call_changes *changes, rpp_call_tree *tree, uint32_t most, uint64_t ns, uint64_t ticks);
/* The next change that has not been told. False: that was all. */
bool rpp_call_changes_next(rpp_call_changes *changes, rpp_call_change *change);

/* The tree in which shown nodes are. Its numbers mean nothing. */
const rpp_call_tree *rpp_call_changes_shown(const rpp_call_changes *changes);
/* Where a node of the tree is shown, or, if it has not been taken yet, the next one above it that has. */
uint32_t rpp_call_changes_shown_as(const rpp_call_changes *changes, const rpp_call_tree *tree, uint32_t node);
/* What has been taken out as the cost of tracing. */
uint64_t rpp_call_changes_overhead_ns(const rpp_call_changes *changes);

/* Puts all that was taken back into the tree, which has nanoseconds then. Nothing can be taken any more. */
void rpp_call_changes_give_back(const rpp_call_changes *changes, rpp_call_tree *tree, uint64_t ns, uint64_t ticks);

#endif
