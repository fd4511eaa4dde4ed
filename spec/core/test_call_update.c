/* test_call_update.c - what is new in a call tree, as text: each member, and negative numbers. */
#include "calls/call_update.h"

#include "calls/call_trace.h"
#include "test.h"

static rpp_call_trace trace;
static rpp_call_stack stack;
static rpp_call_changes *changes;
static const rpp_call_cost costs[] = {{0, 0}, {30, 0}};

static rpp_call_reading at(uint64_t now_ns)
{
    return (rpp_call_reading){.wall_ns = now_ns};
}

static void begin(void)
{
    trace = (rpp_call_trace){.tree = rpp_call_tree_new(100), .last = at(1000)};
    rpp_call_stack_init(&stack, rpp_call_tree_root(trace.tree, 4), 1000);
    changes = rpp_call_changes_new(trace.tree, costs, 2);
    for (uint32_t id = 0; id < 4; id++) CHECK_OK(rpp_call_changes_name(changes, id == 3, id));
    rpp_call_trace_switch(&trace, &stack, at(1000));
}

static void end(void)
{
    rpp_call_changes_free(changes);
    rpp_call_stack_destroy(&stack);
    rpp_call_tree_free(trace.tree);
}

static void take(uint64_t now_ns)
{
    rpp_call_trace_charge(&trace, at(now_ns));
    rpp_call_changes_take(changes, trace.tree, UINT32_MAX, now_ns - 1000, now_ns - 1000);
    rpp_call_stack_touch(&stack, trace.tree);
}

static void check_text(uint32_t told, const rpp_call_position *positions, size_t count, const char *expected)
{
    rpp_byte_buffer text;
    rpp_byte_buffer_init(&text, 4096);
    CHECK_OK(rpp_call_update_write(&text.sink, changes, told, positions, count));
    CHECK_OK(rpp_byte_sink_write(&text.sink, "", 1));
    CHECK_STR((const char *)text.bytes, expected);
    rpp_byte_buffer_destroy(&text);
}

TEST(nodes_come_once_and_changes_as_they_happen)
{
    begin();
    rpp_call_trace_enter(&trace, 1, 1, at(1100));
    rpp_call_trace_enter(&trace, 2, 3, at(1200));
    rpp_call_tree_pass(trace.tree, 2, RPP_CALL_WAITING, 7);
    take(1300);
    rpp_call_position positions[] = {{4, 2, "running"}, {5, 0, "blocked"}};
    check_text(0, positions, 2,
               "\"nodes\":[-1,4,0,1,1,3],\"changes\":[2,1,70,0,0,7,0,0,0,1,1,100,0,0,0,0,0,0,0,0,100,0,0,0,0,0,0],"
               "\"at\":[[4,2,\"running\"],[5,0,\"blocked\"]]");
    check_text(3, NULL, 0, "\"nodes\":[],\"changes\":[],\"at\":[]");
    for (uint32_t i = 0; i < 2; i++) {
        rpp_call_trace_leave(&trace, 2, at(1300));
        rpp_call_trace_enter(&trace, 2, 3, at(1300));
    }
    take(1300);
    check_text(3, NULL, 0, "\"nodes\":[],\"changes\":[2,2,-60,0,0,0,0,0,0],\"at\":[]");
    end();
}

TEST(a_sink_that_is_full_says_so)
{
    begin();
    rpp_call_trace_enter(&trace, 1, 1, at(1100));
    for (size_t max = 0; max < 30; max++) {
        rpp_byte_buffer text;
        take(1200 + max);
        rpp_byte_buffer_init(&text, max);
        CHECK_INT(rpp_call_update_write(&text.sink, changes, 0, NULL, 0), RPP_LIMIT);
        rpp_byte_buffer_destroy(&text);
    }
    end();
}
