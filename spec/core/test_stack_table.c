/* test_stack_table.c - stacks stored once, compared with a plain list. */
#include "sampling/stack_table.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

static const rpp_stack_limits roomy = {.max_locations = 100000, .max_stacks = 100000, .max_depth_total = 10000000};

static void check_stack(const rpp_stack_table *table, uint32_t stack, const rpp_location *expected, uint32_t depth)
{
    uint32_t actual_depth;
    const uint32_t *row = rpp_stack_table_get(table, stack, &actual_depth);
    CHECK_INT(actual_depth, depth);
    for (uint32_t i = 0; i < depth; i++) {
        rpp_location location = rpp_stack_table_location(table, row[i]);
        CHECK_INT(location.frame, expected[i].frame);
        CHECK_INT(location.line, expected[i].line);
    }
}

TEST(a_stack_is_stored_once)
{
    rpp_location one[] = {{10, 1}, {11, 2}, {10, 1}}, other[] = {{10, 1}, {11, 3}};
    rpp_stack_table *table = rpp_stack_table_new(&roomy);
    uint32_t stack;
    CHECK_OK(rpp_stack_table_intern(table, one, 3, &stack));
    CHECK_INT(stack, 0);
    CHECK_OK(rpp_stack_table_intern(table, other, 2, &stack));
    CHECK_INT(stack, 1);
    CHECK_OK(rpp_stack_table_intern(table, one, 3, &stack));
    CHECK_INT(stack, 0);
    CHECK_INT(rpp_stack_table_count(table), 2);
    CHECK_INT(rpp_stack_table_location_count(table), 3);
    check_stack(table, 0, one, 3);
    check_stack(table, 1, other, 2);
    CHECK(rpp_stack_table_has_frame(table, 11));
    CHECK(!rpp_stack_table_has_frame(table, 1));
    CHECK(rpp_stack_table_bytes(table) > 0);
    rpp_stack_table_free(table);
}

TEST(a_stack_may_be_empty)
{
    rpp_stack_table *table = rpp_stack_table_new(&roomy);
    rpp_location one = {10, 1};
    uint32_t stack, depth;
    CHECK_OK(rpp_stack_table_intern(table, NULL, 0, &stack));
    CHECK_INT(stack, 0);
    CHECK_OK(rpp_stack_table_intern(table, &one, 1, &stack));
    CHECK_OK(rpp_stack_table_intern(table, NULL, 0, &stack));
    CHECK_INT(stack, 0);
    rpp_stack_table_get(table, 0, &depth);
    CHECK_INT(depth, 0);
    rpp_stack_table_free(table);
    rpp_stack_table_free(NULL);
}

/* Interns and expects RPP_LIMIT and nothing changed. */
static void check_full(rpp_stack_table *table, const rpp_location *locations, uint32_t depth)
{
    uint32_t stack = 77, stacks = rpp_stack_table_count(table), known = rpp_stack_table_location_count(table);
    CHECK_INT(rpp_stack_table_intern(table, locations, depth, &stack), RPP_LIMIT);
    CHECK_INT(stack, 77);
    CHECK_INT(rpp_stack_table_count(table), stacks);
    CHECK_INT(rpp_stack_table_location_count(table), known);
}

TEST(each_limit_holds_and_leaves_the_table_as_it_was)
{
    rpp_location a[] = {{10, 1}, {11, 1}}, b[] = {{12, 1}, {13, 1}, {12, 2}, {14, 1}}, c[] = {{10, 1}};
    uint32_t stack;

    rpp_stack_limits few_locations = roomy;
    few_locations.max_locations = 4;
    rpp_stack_table *table = rpp_stack_table_new(&few_locations);
    CHECK_OK(rpp_stack_table_intern(table, a, 2, &stack));
    check_full(table, b, 4);
    CHECK(!rpp_stack_table_has_frame(table, 12) && !rpp_stack_table_has_frame(table, 13));
    CHECK(rpp_stack_table_has_frame(table, 10));
    CHECK_OK(rpp_stack_table_intern(table, b, 2, &stack));
    CHECK_OK(rpp_stack_table_intern(table, c, 1, &stack));
    check_stack(table, 1, b, 2);
    rpp_stack_table_free(table);

    rpp_stack_limits few_stacks = roomy;
    few_stacks.max_stacks = 1;
    table = rpp_stack_table_new(&few_stacks);
    CHECK_OK(rpp_stack_table_intern(table, a, 2, &stack));
    check_full(table, c, 1);
    CHECK_OK(rpp_stack_table_intern(table, a, 2, &stack));
    rpp_stack_table_free(table);

    rpp_stack_limits shallow = roomy;
    shallow.max_depth_total = 5;
    table = rpp_stack_table_new(&shallow);
    CHECK_OK(rpp_stack_table_intern(table, b, 4, &stack));
    check_full(table, a, 2);
    CHECK_OK(rpp_stack_table_intern(table, c, 1, &stack));
    check_full(table, a, 1 + 1);
    CHECK_OK(rpp_stack_table_intern(table, NULL, 0, &stack));
    rpp_stack_table_free(table);
}

TEST(a_stack_deeper_than_a_chunk_fits)
{
    enum { DEPTH = 200000 };
    static rpp_location deep[DEPTH];
    for (uint32_t i = 0; i < DEPTH; i++) deep[i] = (rpp_location){10 + i % 100, i % 7};
    rpp_stack_table *table = rpp_stack_table_new(&roomy);
    uint32_t stack;
    CHECK_OK(rpp_stack_table_intern(table, deep, 3, &stack));
    CHECK_OK(rpp_stack_table_intern(table, deep, DEPTH, &stack));
    check_stack(table, 1, deep, DEPTH);
    CHECK_OK(rpp_stack_table_intern(table, deep, 4, &stack));
    check_stack(table, 0, deep, 3);
    rpp_stack_table_free(table);
}

/* --- the same as a plain list, with room and without --- */

enum { LIST_MAX = 600, DEPTH_MAX = 9 };

typedef struct plain {
    rpp_location stacks[LIST_MAX][DEPTH_MAX];
    uint32_t depths[LIST_MAX], count;
    rpp_location locations[LIST_MAX];
    uint32_t location_count;
    uint64_t depth_total;
} plain;

static rpp_status plain_intern(plain *list, const rpp_stack_limits *limits, const rpp_location *stack, uint32_t depth,
                               uint32_t *id)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->depths[i] == depth && memcmp(list->stacks[i], stack, depth * sizeof *stack) == 0) {
            *id = i;
            return RPP_OK;
        }
    }
    uint32_t before = list->location_count;
    if (list->count == limits->max_stacks || list->depth_total + depth > limits->max_depth_total) return RPP_LIMIT;
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t at = 0;
        while (at < list->location_count && memcmp(&list->locations[at], &stack[i], sizeof *stack) != 0) at++;
        if (at < list->location_count) continue;
        if (at == limits->max_locations) {
            list->location_count = before;
            return RPP_LIMIT;
        }
        list->locations[list->location_count++] = stack[i];
    }
    memcpy(list->stacks[list->count], stack, depth * sizeof *stack);
    list->depths[list->count] = depth;
    list->depth_total += depth;
    *id = list->count++;
    return RPP_OK;
}

static void compare_with_list(const rpp_stack_limits *limits, uint64_t seed)
{
    static plain list;
    memset(&list, 0, sizeof list);
    rpp_stack_table *table = rpp_stack_table_new(limits);
    for (int round = 0; round < 3000; round++) {
        rpp_location stack[DEPTH_MAX];
        uint32_t depth = (uint32_t)(rpp_random_next(&seed) >> 33) % (DEPTH_MAX + 1);
        for (uint32_t i = 0; i < depth; i++) {
            uint32_t some = (uint32_t)(rpp_random_next(&seed) >> 33);
            stack[i] = (rpp_location){some % 5, some / 5 % (round < 1500 ? 2 : 20)};
        }
        uint32_t expected = 77, actual = 77;
        rpp_status wanted = plain_intern(&list, limits, stack, depth, &expected);
        CHECK_INT(rpp_stack_table_intern(table, stack, depth, &actual), wanted);
        CHECK_INT(actual, expected);
        CHECK_INT(rpp_stack_table_location_count(table), list.location_count);
    }
    CHECK_INT(rpp_stack_table_count(table), list.count);
    for (uint32_t i = 0; i < list.count; i++) check_stack(table, i, list.stacks[i], list.depths[i]);
    for (uint32_t i = 0; i < list.location_count; i++) {
        CHECK_INT(rpp_stack_table_location(table, i).frame, list.locations[i].frame);
        CHECK_INT(rpp_stack_table_location(table, i).line, list.locations[i].line);
    }
    for (uint32_t frame = 0; frame < 6; frame++) {
        bool there = false;
        for (uint32_t i = 0; i < list.location_count; i++) there |= list.locations[i].frame == frame;
        CHECK_INT(rpp_stack_table_has_frame(table, frame), there);
    }
    rpp_stack_table_free(table);
}

TEST(it_is_the_same_as_a_plain_list)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        rpp_stack_limits limits[] = {{LIST_MAX, LIST_MAX, 100000}, {20, LIST_MAX, 100000}, {LIST_MAX, 50, 100000},
                                     {LIST_MAX, LIST_MAX, 333},    {0, 10, 100},           {10, 0, 100}};
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) compare_with_list(&limits[i], seed);
    }
}

TEST(a_large_window_fits)
{
    enum { STACKS = 34000, DEPTH = 150 };
    rpp_stack_limits limits = {.max_locations = 200000, .max_stacks = 200000, .max_depth_total = 11 << 20};
    rpp_stack_table *table = rpp_stack_table_new(&limits);
    rpp_location stack[DEPTH];
    uint32_t id;
    for (int round = 0; round < 2; round++) {
        uint64_t seed = 3;
        for (uint32_t i = 0; i < STACKS; i++) {
            for (uint32_t j = 0; j < DEPTH; j++) {
                uint32_t some = (uint32_t)(rpp_random_next(&seed) >> 33);
                stack[j] = (rpp_location){some % 20000, some % 3};
            }
            CHECK_OK(rpp_stack_table_intern(table, stack, DEPTH, &id));
            CHECK_INT(id, i);
        }
    }
    CHECK(rpp_stack_table_bytes(table) < 32 << 20);
    rpp_stack_table_free(table);
}

TEST(it_survives_every_failing_allocation)
{
    for (size_t nth = 1, failed = 1; failed; nth++) {
        failed = 0;
        rpp_alloc_fail_at(nth);
        rpp_stack_table *table = rpp_stack_table_new(&roomy);
        if (!table) failed++;
        for (uint32_t i = 0; table && i < 300; i++) {
            rpp_location stack[20];
            for (uint32_t j = 0; j < 20; j++) stack[j] = (rpp_location){i, j};
            uint32_t id = 77;
            rpp_status status = rpp_stack_table_intern(table, stack, 20, &id);
            if (status == RPP_NO_MEMORY) {
                failed++;
                CHECK_INT(id, 77);
                CHECK_INT(rpp_stack_table_count(table), i);
                CHECK_INT(rpp_stack_table_location_count(table), i * 20);
                CHECK(!rpp_stack_table_has_frame(table, i));
                status = rpp_stack_table_intern(table, stack, 20, &id);
            }
            CHECK_OK(status);
            CHECK_INT(id, i);
        }
        rpp_alloc_fail_at(0);
        rpp_stack_table_free(table);
    }
}
