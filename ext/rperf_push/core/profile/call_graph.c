/* call_graph.c - sums stacks by function. Each function, line and call has a stamp: the last sample that counted it. */
#include "profile/call_graph.h"

#include "base/alloc.h"
#include "base/hash_index.h"

struct rpp_call_graph {
    bool detailed;
    uint64_t sample; /* number of the sample, from 1 */
    rpp_graph_function *functions;
    rpp_graph_line *lines;
    rpp_graph_edge *edges;
    uint64_t *function_stamps, *line_stamps, *edge_stamps;
    size_t function_count, function_capacity, function_stamp_capacity;
    size_t line_count, line_capacity, line_stamp_capacity;
    size_t edge_count, edge_capacity, edge_stamp_capacity;
    rpp_hash_index by_line, by_edge;
};

rpp_call_graph *rpp_call_graph_new(bool detailed)
{
    rpp_call_graph *graph = rpp_calloc(1, sizeof *graph);
    if (graph) graph->detailed = detailed;
    return graph;
}

void rpp_call_graph_free(rpp_call_graph *graph)
{
    if (!graph) return;
    rpp_free(graph->functions);
    rpp_free(graph->lines);
    rpp_free(graph->edges);
    rpp_free(graph->function_stamps);
    rpp_free(graph->line_stamps);
    rpp_free(graph->edge_stamps);
    rpp_hash_index_destroy(&graph->by_line);
    rpp_hash_index_destroy(&graph->by_edge);
    rpp_free(graph);
}

static bool is_line(const void *table, uint32_t id, const void *wanted)
{
    const rpp_graph_line *known = &((const rpp_graph_line *)table)[id];
    const rpp_graph_frame *frame = wanted;
    return known->function == frame->function && known->line == frame->line;
}

static bool is_edge(const void *table, uint32_t id, const void *wanted)
{
    const rpp_graph_edge *known = &((const rpp_graph_edge *)table)[id], *edge = wanted;
    return known->caller == edge->caller && known->callee == edge->callee;
}

static rpp_status grow_stamps(uint64_t **stamps, size_t *capacity, size_t needed)
{
    return rpp_grow((void **)stamps, capacity, needed, sizeof **stamps);
}

/* Ids are dense, so this makes all functions up to the id. */
static rpp_status make_function(rpp_call_graph *g, uint32_t id)
{
    size_t needed = (size_t)id + 1;
    if (needed <= g->function_count) return RPP_OK;
    rpp_status status = rpp_grow((void **)&g->functions, &g->function_capacity, needed, sizeof *g->functions);
    if (status == RPP_OK) status = grow_stamps(&g->function_stamps, &g->function_stamp_capacity, needed);
    if (status != RPP_OK) return status;
    for (; g->function_count < needed; g->function_count++) {
        g->functions[g->function_count] = (rpp_graph_function){0};
        g->function_stamps[g->function_count] = 0;
    }
    return RPP_OK;
}

static rpp_status line_of(rpp_call_graph *g, rpp_graph_frame frame, uint32_t *id)
{
    uint32_t hash = rpp_hash_words(frame.function, frame.line);
    *id = rpp_hash_index_find(&g->by_line, hash, is_line, g->lines, &frame);
    if (*id != RPP_INDEX_NONE) return RPP_OK;
    rpp_status status = rpp_grow((void **)&g->lines, &g->line_capacity, g->line_count + 1, sizeof *g->lines);
    if (status == RPP_OK) status = grow_stamps(&g->line_stamps, &g->line_stamp_capacity, g->line_count + 1);
    if (status == RPP_OK) status = rpp_hash_index_reserve(&g->by_line, 1);
    if (status != RPP_OK) return status;
    *id = (uint32_t)g->line_count;
    g->lines[g->line_count] = (rpp_graph_line){.function = frame.function, .line = frame.line};
    g->line_stamps[g->line_count++] = 0;
    rpp_hash_index_add(&g->by_line, hash, *id);
    return RPP_OK;
}

static rpp_status edge_of(rpp_call_graph *g, uint32_t caller, uint32_t callee, uint32_t *id)
{
    rpp_graph_edge edge = {.caller = caller, .callee = callee};
    uint32_t hash = rpp_hash_words(caller, callee);
    *id = rpp_hash_index_find(&g->by_edge, hash, is_edge, g->edges, &edge);
    if (*id != RPP_INDEX_NONE) return RPP_OK;
    rpp_status status = rpp_grow((void **)&g->edges, &g->edge_capacity, g->edge_count + 1, sizeof *g->edges);
    if (status == RPP_OK) status = grow_stamps(&g->edge_stamps, &g->edge_stamp_capacity, g->edge_count + 1);
    if (status == RPP_OK) status = rpp_hash_index_reserve(&g->by_edge, 1);
    if (status != RPP_OK) return status;
    *id = (uint32_t)g->edge_count;
    g->edges[g->edge_count] = edge;
    g->edge_stamps[g->edge_count++] = 0;
    rpp_hash_index_add(&g->by_edge, hash, *id);
    return RPP_OK;
}

static bool is_first(uint64_t *stamp, uint64_t sample)
{
    if (*stamp == sample) return false;
    *stamp = sample;
    return true;
}

static rpp_status add_details(rpp_call_graph *g, const rpp_graph_frame *stack, size_t at, int64_t weight)
{
    uint32_t line, edge;
    rpp_status status = line_of(g, stack[at], &line);
    if (status != RPP_OK) return status;
    if (at == 0) g->lines[line].self += weight;
    if (is_first(&g->line_stamps[line], g->sample)) g->lines[line].total += weight;
    if (at == 0) return RPP_OK;
    status = edge_of(g, stack[at].function, stack[at - 1].function, &edge);
    if (status == RPP_OK && is_first(&g->edge_stamps[edge], g->sample)) g->edges[edge].total += weight;
    return status;
}

rpp_status rpp_call_graph_add(rpp_call_graph *graph, const rpp_graph_frame *stack, size_t depth, int64_t weight)
{
    graph->sample++;
    for (size_t i = 0; i < depth; i++) {
        uint32_t id = stack[i].function;
        rpp_status status = make_function(graph, id);
        if (status == RPP_OK && graph->detailed) status = add_details(graph, stack, i, weight);
        if (status != RPP_OK) return status;
        if (i == 0) graph->functions[id].self += weight;
        if (is_first(&graph->function_stamps[id], graph->sample)) graph->functions[id].total += weight;
    }
    return RPP_OK;
}

const rpp_graph_function *rpp_call_graph_functions(const rpp_call_graph *graph, size_t *count)
{
    *count = graph->function_count;
    return graph->functions;
}

const rpp_graph_line *rpp_call_graph_lines(const rpp_call_graph *graph, size_t *count)
{
    *count = graph->line_count;
    return graph->lines;
}

const rpp_graph_edge *rpp_call_graph_edges(const rpp_call_graph *graph, size_t *count)
{
    *count = graph->edge_count;
    return graph->edges;
}
