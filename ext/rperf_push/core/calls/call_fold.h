/* call_fold.h - a copy of a call tree in which some methods are one, and some are hidden.
 *
 * A hidden method's self time is its caller's, and so are the calls that it makes; its own calls are not counted.
 * Methods that are one have one node below each parent.
 *
 * Threads    one at a time, and no event at the same time.
 * Ownership  the caller owns the copy.
 */
#ifndef RPP_CALL_FOLD_H
#define RPP_CALL_FOLD_H

#include "calls/call_tree.h"

#define RPP_CALL_HIDDEN UINT32_MAX

/* `as` has for each method what it becomes: a method, or RPP_CALL_HIDDEN. NULL if out of memory. */
rpp_call_tree *rpp_call_tree_folded(const rpp_call_tree *tree, const uint32_t *as);
/* Also tells for each node which one of the copy has what was its own: `places` has room for all nodes. */
rpp_call_tree *rpp_call_tree_folded_to(const rpp_call_tree *tree, const uint32_t *as, uint32_t *places);

#endif
