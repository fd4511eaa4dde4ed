/* rb_call_result.h - a call tree as Ruby objects: the methods' names, and the nodes in columns.
 *
 * Threads    under the GVL. All may raise.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_CALL_RESULT_H
#define RB_CALL_RESULT_H

#include "calls/rb_call_frames.h"
#include "core/calls/call_objects.h"
#include "core/calls/call_sums.h"

/* [label, path, line, kind, class, own] of a method; kind is :ruby, :c, :block or :other; own: the profiler's. */
VALUE rb_rpp_call_description(const rb_rpp_callee *callee);

/* `costs` has [inside, outside] in nanoseconds for each kind. */
void rb_rpp_call_costs(VALUE costs, rpp_call_cost by_kind[RB_RPP_CALL_KINDS]);

/* The tree in which each method is what `as` says (an Array of ids, nil: hidden), as a Hash:
 *   parents (nil: a root), methods (of a root: its number), calls, self, wait, cpu, total, objects   by node
 *   blocked, waiting, gc_marking, gc_sweeping, suspended   likewise: of self time and waiting
 *   sums   [called, self, wait, cpu, total, recursive, objects, then these states] by method
 *   kinds   of `objects`, if it is not NULL: [node, class, path, line, count, bytes] of each; class and path are
 *           indexes of `texts`
 *   overhead   what was taken out
 * The tree is changed. */
VALUE rb_rpp_call_result(rpp_call_tree *tree, const rb_rpp_callee *callees, uint32_t end,
                         const rpp_call_objects *objects, VALUE as, VALUE costs);

#endif
