/* test_current_stacks.c - where threads were last seen, and for how long that is told. */
#include "profile/current_stacks.h"
#include "test.h"

static void note(rpp_current_stacks *w, uint32_t thread_seq, uint32_t window, uint32_t depth, uint32_t leaf)
{
    rpp_location locations[RPP_SIGHTING_DEPTH_MAX + 10] = {{.frame = leaf, .line = 7}};
    rpp_sample sample = {.thread_seq = thread_seq, .window = window, .depth = depth, .state = RPP_STATE_BLOCKED};
    rpp_current_stacks_note(w, &sample, locations, 1000 + leaf);
}

TEST(tells_of_the_last_sighting)
{
    rpp_current_stacks *w = rpp_current_stacks_new();
    rpp_sighting seen;
    CHECK(!rpp_current_stacks_get(w, 1, &seen));
    note(w, 1, 0, 3, 40);
    note(w, 2, 0, 1, 50);
    note(w, 1, 0, 2, 41);
    CHECK(rpp_current_stacks_get(w, 1, &seen));
    CHECK_INT(seen.locations[0].frame, 41);
    CHECK_INT(seen.depth, 2);
    CHECK_INT(seen.state, RPP_STATE_BLOCKED);
    CHECK_INT(seen.at_ns, 1041);
    rpp_current_stacks_free(w);
}

TEST(a_sighting_is_not_told_when_its_frames_may_be_gone)
{
    rpp_current_stacks *w = rpp_current_stacks_new();
    rpp_sighting seen;
    note(w, 1, 4, 1, 40);
    rpp_current_stacks_begin_window(w, 6);
    CHECK(rpp_current_stacks_get(w, 1, &seen));
    rpp_current_stacks_begin_window(w, 7);
    CHECK(!rpp_current_stacks_get(w, 1, &seen));
    rpp_current_stacks_free(w);
}

TEST(a_thread_is_not_taken_for_another_one_in_its_place)
{
    rpp_current_stacks *w = rpp_current_stacks_new();
    rpp_sighting seen;
    note(w, 1, 0, 1, 40);
    note(w, 257, 0, 1, 50);
    CHECK(!rpp_current_stacks_get(w, 1, &seen));
    CHECK(rpp_current_stacks_get(w, 257, &seen));
    rpp_current_stacks_clear(w);
    CHECK(!rpp_current_stacks_get(w, 257, &seen));
    rpp_current_stacks_free(w);
}

TEST(of_a_deep_stack_the_leaf_is_kept)
{
    rpp_current_stacks *w = rpp_current_stacks_new();
    rpp_sighting seen;
    note(w, 1, 0, RPP_SIGHTING_DEPTH_MAX + 10, 40);
    CHECK(rpp_current_stacks_get(w, 1, &seen));
    CHECK_INT(seen.depth, RPP_SIGHTING_DEPTH_MAX);
    CHECK_INT(seen.locations[0].frame, 40);
    rpp_current_stacks_free(w);
}
