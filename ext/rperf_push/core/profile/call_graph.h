/* call_graph.h - sums stacks by function: self time, total time, lines, and calls.
 *
 * Each sample counts once for a function, line or call, even if it occurs several times in the stack, so no share
 * exceeds one.
 *
 * Threads    one at a time.
 * Ownership  the graph owns its tables; returned pointers are valid until the next add.
 */
#ifndef RPP_CALL_GRAPH_H
#define RPP_CALL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct rpp_graph_function {
    int64_t self, total;
} rpp_graph_function;

typedef struct rpp_graph_line {
    uint32_t function, line;
    int64_t self, total;
} rpp_graph_line;

typedef struct rpp_graph_edge {
    uint32_t caller, callee;
    int64_t total;
} rpp_graph_edge;

typedef struct rpp_call_graph rpp_call_graph;

/* With `detailed`, also sums lines and edges. NULL if out of memory. */
rpp_call_graph *rpp_call_graph_new(bool detailed);
void rpp_call_graph_free(rpp_call_graph *graph);

typedef struct rpp_graph_frame {
    uint32_t function, line; /* dense ids from 0; line 0: unknown */
} rpp_graph_frame;

/* Adds a stack, leaf first. After RPP_NO_MEMORY the sums are useless. */
RPP_NODISCARD rpp_status rpp_call_graph_add(rpp_call_graph *graph, const rpp_graph_frame *stack, size_t depth,
                                            int64_t weight);

/* Indexed by id. */
const rpp_graph_function *rpp_call_graph_functions(const rpp_call_graph *graph, size_t *count);
/* In the order of their first use. */
const rpp_graph_line *rpp_call_graph_lines(const rpp_call_graph *graph, size_t *count);
const rpp_graph_edge *rpp_call_graph_edges(const rpp_call_graph *graph, size_t *count);

#endif
