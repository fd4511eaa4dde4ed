/* test_call_graph.c - what stacks say of functions, lines and calls. */
#include "profile/call_graph.h"

#include "base/alloc.h"
#include "test.h"

/* main (line 9) calls fib (line 2) calls fib (line 3). */
static const rpp_graph_frame RECURSIVE[] = {{1, 3}, {1, 2}, {0, 9}};
static const rpp_graph_frame MAIN[] = {{0, 9}};

static rpp_call_graph *graph_of_two(bool detailed)
{
    rpp_call_graph *graph = rpp_call_graph_new(detailed);
    CHECK(graph);
    CHECK_OK(rpp_call_graph_add(graph, RECURSIVE, 3, 10));
    CHECK_OK(rpp_call_graph_add(graph, MAIN, 1, 5));
    return graph;
}

TEST(a_sample_counts_once_for_a_function_that_calls_itself)
{
    size_t count;
    rpp_call_graph *graph = graph_of_two(false);
    const rpp_graph_function *functions = rpp_call_graph_functions(graph, &count);
    CHECK_INT(count, 2);
    CHECK_INT(functions[0].self, 5);
    CHECK_INT(functions[0].total, 15);
    CHECK_INT(functions[1].self, 10);
    CHECK_INT(functions[1].total, 10);
    rpp_call_graph_lines(graph, &count);
    CHECK_INT(count, 0);
    rpp_call_graph_free(graph);
}

TEST(lines_and_calls_are_kept_on_wish)
{
    size_t count;
    rpp_call_graph *graph = graph_of_two(true);
    const rpp_graph_line *lines = rpp_call_graph_lines(graph, &count);
    CHECK_INT(count, 3);
    CHECK_INT(lines[0].line, 3);
    CHECK_INT(lines[0].self, 10);
    CHECK_INT(lines[1].line, 2);
    CHECK_INT(lines[1].self, 0);
    CHECK_INT(lines[1].total, 10);
    CHECK_INT(lines[2].self, 5);
    CHECK_INT(lines[2].total, 15);
    const rpp_graph_edge *edges = rpp_call_graph_edges(graph, &count);
    CHECK_INT(count, 2);
    CHECK_INT(edges[0].caller, 1);
    CHECK_INT(edges[0].callee, 1);
    CHECK_INT(edges[1].caller, 0);
    CHECK_INT(edges[1].total, 10);
    rpp_call_graph_free(graph);
}

TEST(out_of_memory_is_told)
{
    for (size_t nth = 1;; nth++) {
        rpp_status status = RPP_NO_MEMORY;
        rpp_alloc_fail_at(nth);
        rpp_call_graph *graph = rpp_call_graph_new(true);
        if (graph) status = rpp_call_graph_add(graph, RECURSIVE, 3, 10);
        rpp_alloc_fail_at(0);
        rpp_call_graph_free(graph);
        if (status == RPP_OK) break;
        CHECK_INT(status, RPP_NO_MEMORY);
    }
}
