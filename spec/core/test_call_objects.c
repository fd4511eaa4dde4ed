/* test_call_objects.c - objects are counted by their class, code, line and node; those past the limit together. */
#include "calls/call_fold.h"
#include "calls/call_objects.h"

#include "base/alloc.h"
#include "test.h"

static rpp_call_object kind_of(uint64_t klass, uint64_t code, uint32_t node, uint32_t line)
{
    return (rpp_call_object){.klass = klass, .code = code, .node = node, .line = line};
}

static uint64_t count_of(const rpp_call_objects *objects, rpp_call_object kind, uint64_t *bytes)
{
    uint64_t count = 0;
    *bytes = 0;
    for (uint32_t i = 0; i < rpp_call_objects_count(objects); i++) {
        const rpp_call_object *one = rpp_call_objects_at(objects, i);
        if (one->klass != kind.klass || one->code != kind.code || one->node != kind.node || one->line != kind.line)
            continue;
        CHECK_INT(count, 0); /* each kind once */
        count = one->count;
        *bytes = one->bytes;
    }
    return count;
}

TEST(objects_that_differ_in_one_thing_are_told_apart)
{
    rpp_call_object kinds[] = {kind_of(8, 16, 1, 7), kind_of(24, 16, 1, 7), kind_of(8, 32, 1, 7),
                               kind_of(8, 16, 2, 7), kind_of(8, 16, 1, 8),  kind_of(0, 0, 0, 0)};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    rpp_call_objects *objects = rpp_call_objects_new(KINDS);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < KINDS; i++) {
            for (uint32_t times = 0; times <= i; times++) rpp_call_objects_add(objects, &kinds[i], 40 + i);
        }
    }
    CHECK_INT(rpp_call_objects_count(objects), KINDS);
    for (uint32_t i = 0; i < KINDS; i++) {
        uint64_t bytes;
        CHECK_INT(count_of(objects, kinds[i], &bytes), 3 * (i + 1));
        CHECK_INT(bytes, 3 * (i + 1) * (40 + i));
    }
    CHECK_INT(rpp_call_objects_unattributed(objects), 0);
    rpp_call_objects_free(objects);
}

TEST(kinds_past_the_limit_are_counted_together_and_known_ones_go_on)
{
    rpp_call_objects *objects = rpp_call_objects_new(100);
    rpp_alloc_fail_at(1); /* nothing is allocated from now on */
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t line = 1; line <= 150; line++) {
            rpp_call_object kind = kind_of(8, 16, 3, line);
            rpp_call_objects_add(objects, &kind, 40);
        }
    }
    CHECK_INT(rpp_alloc_count(), 0);
    rpp_alloc_fail_at(0);
    uint64_t bytes;
    CHECK_INT(rpp_call_objects_count(objects), 100);
    CHECK_INT(count_of(objects, kind_of(8, 16, 3, 100), &bytes), 2);
    CHECK_INT(count_of(objects, kind_of(8, 16, 3, 101), &bytes), 0);
    CHECK_INT(rpp_call_objects_unattributed(objects), 100);
    rpp_call_objects_free(objects);
    rpp_call_objects_free(NULL);
}

TEST(objects_without_memory)
{
    for (size_t nth = 1; nth <= 3; nth++) {
        rpp_alloc_fail_at(nth);
        CHECK(!rpp_call_objects_new(10));
    }
    rpp_alloc_fail_at(0);
}

/* What a hidden method creates is its caller's. */
TEST(a_copy_of_a_tree_tells_where_each_node_went)
{
    rpp_call_tree *tree = rpp_call_tree_new(10);
    uint32_t root = rpp_call_tree_root(tree, 0), outer = rpp_call_tree_child(tree, root, 1);
    uint32_t hidden = rpp_call_tree_child(tree, outer, 2), same = rpp_call_tree_child(tree, outer, 3);
    uint32_t below = rpp_call_tree_child(tree, hidden, 3), places[5];
    rpp_call_tree *copy = rpp_call_tree_folded_to(tree, (uint32_t[]){0, 1, RPP_CALL_HIDDEN, 3}, places);
    CHECK_INT(rpp_call_tree_count(copy), 3);
    CHECK_INT(places[hidden], places[outer]);
    CHECK_INT(places[below], places[same]);
    CHECK(places[root] != places[outer] && places[outer] != places[same]);
    rpp_call_tree_free(copy);
    rpp_call_tree_free(tree);
}
