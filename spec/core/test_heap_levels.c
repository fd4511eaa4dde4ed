/* test_heap_levels.c - levels: allocations that a session knows, which objects live, and for how many each stands. */
#include "profile/heap_levels.h"

#include "base/alloc.h"
#include "base/stats.h"
#include "test.h"

static rpp_frame_names *names;

static rpp_levels *begin(bool ages)
{
    names = rpp_frame_names_new(4096);
    CHECK_OK(rpp_frame_names_ensure(names, 2000));
    for (int i = 0; i < 2000; i++) (void)rpp_frame_names_reserve(names);
    return rpp_levels_new(names, 1024, ages);
}

static void end(rpp_levels *levels)
{
    rpp_levels_free(levels);
    rpp_frame_names_free(names);
}

/* One that was captured itself. */
static void exact_allocation(rpp_levels *levels, uint64_t number, uint32_t window, uint32_t frame)
{
    rpp_location location = {RPP_FRAME_FIRST + frame, 7};
    rpp_sample sample = {
        .watched = number, .window = window, .depth = 1, .alloc_objects = 1, .alloc_space = 40, .thread_seq = 3};
    rpp_levels_note(levels, &sample, &location);
}

static rpp_fate lives_if_even(uintptr_t address)
{
    return address % 2 ? RPP_FATE_DIES : RPP_FATE_LIVES;
}

static uint64_t objects_in(const rpp_profile *profile)
{
    uint64_t sum = 0;
    for (size_t i = 0; profile && i < rpp_profile_row_count(profile); i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        sum += row->inuse_objects;
        CHECK_INT(row->samples, 0);
        CHECK_INT(row->thread_seq, 0);
    }
    return sum;
}

static rpp_profile *close_window(rpp_levels *levels, uint32_t window, const rpp_watched *watched)
{
    rpp_profile *profile = NULL;
    rpp_levels_tell(levels, watched, 1000 * (window + 1));
    rpp_levels_add(levels, window, &rpp_profile_default_limits, &profile);
    return profile;
}

TEST(a_level_is_who_was_alive_at_the_last_gc)
{
    rpp_levels *levels = begin(false);
    rpp_watched *watched = rpp_watched_new(1024, 1);
    for (uintptr_t i = 0; i < 100; i++) {
        uint64_t number = rpp_watched_choose(watched);
        exact_allocation(levels, number, 0, i < 50 ? 0 : 1);
        rpp_watched_add(watched, i, number);
    }
    rpp_profile *before = close_window(levels, 0, watched);
    CHECK_INT(objects_in(before), 0); /* nobody knows yet who is garbage */
    CHECK_INT(rpp_levels_allocations(levels), 100);
    rpp_profile_free(before);

    rpp_watched_marked(watched, true, lives_if_even);
    for (uint32_t window = 1; window < 4; window++) { /* a level: each window has all of it */
        rpp_profile *profile = close_window(levels, window, watched);
        CHECK_INT(rpp_profile_row_count(profile), 2);
        CHECK_INT(rpp_profile_rows(profile)[0].inuse_objects, 25);
        CHECK_INT(rpp_profile_rows(profile)[1].inuse_space, 25 * 40);
        CHECK_INT(rpp_profile_level_ns(profile), 1000 * (window + 1));
        CHECK_INT(rpp_levels_allocations(levels), 50);
        rpp_profile_free(profile);
    }
    rpp_watched_clear(watched);
    CHECK(!close_window(levels, 4, watched));
    CHECK_INT(rpp_levels_allocations(levels), 0);
    rpp_watched_free(watched);
    end(levels);
}

TEST(allocations_after_the_boundary_wait_for_their_window)
{
    rpp_levels *levels = begin(false);
    rpp_watched *watched = rpp_watched_new(1024, 1);
    exact_allocation(levels, 1, 0, 0);
    rpp_watched_add(watched, 0, 1);
    rpp_watched_marked(watched, true, lives_if_even);
    rpp_levels_tell(levels, watched, 5);
    exact_allocation(levels, 2, 1, 0);
    rpp_watched_add(watched, 2, 2);
    rpp_profile *profile = NULL;
    rpp_levels_add(levels, 0, &rpp_profile_default_limits, &profile);
    CHECK_INT(objects_in(profile), 1);
    CHECK_INT(rpp_levels_allocations(levels), 2);
    rpp_profile_free(profile);
    rpp_watched_marked(watched, true, lives_if_even);
    profile = close_window(levels, 1, watched);
    CHECK_INT(objects_in(profile), 2);
    rpp_profile_free(profile);
    rpp_watched_free(watched);
    end(levels);
}

/* Ten samples of weight 5, 1000 objects counted: each sample stands for 100. Halved once in the table: for 200. */
TEST(a_sample_stands_for_the_counted_objects_of_its_window)
{
    rpp_levels *levels = begin(false);
    rpp_watched *watched = rpp_watched_new(8, 1);
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    rpp_location location = {RPP_FRAME_FIRST, 1};
    for (uintptr_t i = 0; i < 10; i++) {
        rpp_sample sample = {
            .watched = rpp_watched_choose(watched), .depth = 1, .alloc_sampled = 5, .alloc_sampled_bytes = 5 * 80};
        CHECK_OK(rpp_profile_add(profile, &sample, &location));
        if (!sample.watched) continue;
        rpp_levels_note(levels, &sample, &location);
        rpp_watched_add(watched, 2 * i, sample.watched);
    }
    CHECK_OK(rpp_profile_add(profile, &(rpp_sample){.alloc_objects = 1000, .is_total = true}, NULL));
    rpp_carry_over carry_over = {0};
    rpp_profile_distribute(profile, 1, true, &carry_over);
    rpp_watched_marked(watched, true, lives_if_even);
    rpp_survivor list[8];
    uint64_t wanted = 0;
    for (size_t i = rpp_watched_list(watched, list, 8); i > 0; i--) wanted += 100u << list[i - 1].doublings;
    CHECK(wanted >= 200);
    rpp_levels_tell(levels, watched, 9);
    rpp_levels_add(levels, 0, &rpp_profile_default_limits, &profile);
    uint64_t objects = 0, space = 0;
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        objects += rpp_profile_rows(profile)[i].inuse_objects;
        space += rpp_profile_rows(profile)[i].inuse_space;
    }
    CHECK_INT(objects, wanted);
    CHECK_INT(space, wanted * 80);
    rpp_profile_free(profile);
    rpp_watched_free(watched);
    end(levels);
}

TEST(names_are_held_as_long_as_a_allocation_needs_them)
{
    rpp_levels *levels = begin(false);
    rpp_watched *watched = rpp_watched_new(1024, 1);
    uint32_t all = rpp_frame_names_count(names), first = RPP_FRAME_FIRST;
    exact_allocation(levels, 1, 0, 0);
    rpp_watched_add(watched, 0, 1);
    rpp_frame_names_release(names, first);
    rpp_frame_names_collect(names, first);
    CHECK_INT(rpp_frame_names_count(names), all); /* it is held */
    rpp_watched_clear(watched);
    rpp_profile_free(close_window(levels, 0, watched));
    for (uint32_t i = 0; i < 1100; i++)
        exact_allocation(levels, 2 + i, 1, 1 + i); /* so many stacks that they are renewed */
    rpp_watched_add(watched, 0, 2000);
    rpp_profile_free(close_window(levels, 1, watched));
    rpp_frame_names_collect(names, first);
    CHECK_INT(rpp_frame_names_count(names), all - 1);
    rpp_frame_names_release(names, first + 1); /* as all others that nobody needs */
    CHECK_INT(rpp_frame_names_count(names), all - 2);
    rpp_watched_free(watched);
    end(levels);
}

TEST(ages_are_labels_with_few_values)
{
    rpp_levels *levels = begin(true);
    rpp_watched *watched = rpp_watched_new(1024, 1);
    for (uintptr_t i = 0; i < 40; i++) {
        exact_allocation(levels, i + 1, 0, 0);
        rpp_watched_add(watched, 2 * i, i + 1);
        rpp_watched_marked(watched, true, lives_if_even);
    }
    rpp_profile *profile = close_window(levels, 0, watched);
    CHECK_INT(rpp_profile_row_count(profile), 5); /* 1, 2-3, 4-7, 8-15, 16-63 */
    CHECK_INT(objects_in(profile), 40);
    CHECK_STR(rpp_gcs_text(0), "0");
    CHECK_STR(rpp_gcs_text(64), "64+");
    rpp_label label;
    CHECK(rpp_label_set_find(rpp_label_sets_get(rpp_profile_label_sets(profile), rpp_profile_rows(profile)[0].labels),
                             "gcs", 3, &label));
    CHECK_STR(label.value, "16-63");
    rpp_profile_free(profile);
    rpp_watched_free(watched);
    end(levels);
}

/* The table is shared with a session that watches many more. */
TEST(allocations_are_known_however_many_others_are_watched)
{
    rpp_levels *levels = begin(false);
    rpp_watched *watched = rpp_watched_new(8192, 1);
    for (uintptr_t i = 0; i < 8000; i++) {
        uint64_t number = rpp_watched_choose(watched);
        rpp_watched_add(watched, 2 * i, number);
        if (i >= 7990) exact_allocation(levels, number, 0, 0); /* the others are not ours */
    }
    rpp_watched_marked(watched, true, lives_if_even);
    rpp_profile *profile = close_window(levels, 0, watched);
    CHECK_INT(objects_in(profile), 10);
    rpp_profile_free(profile);
    rpp_watched_free(watched);
    end(levels);
}

TEST(levels_want_their_window_to_end_before_they_are_full)
{
    rpp_levels *levels = begin(false);
    for (uint64_t i = 1; i < 3 * 1024; i++) exact_allocation(levels, i, 0, 0);
    CHECK(!rpp_levels_are_filling(levels));
    exact_allocation(levels, 3 * 1024, 0, 0);
    CHECK(rpp_levels_are_filling(levels));
    end(levels);
}

TEST(without_room_or_memory_a_allocation_is_counted_and_left_out)
{
    rpp_levels *levels = begin(false);
    for (uint64_t i = 1; i <= 4 * 1024 + 10; i++) exact_allocation(levels, i, 0, 0);
    CHECK_INT(rpp_levels_allocations(levels), 4 * 1024);
    CHECK_INT(rpp_stats_get(RPP_STAT_objects_unwatched), 10);
    end(levels);

    levels = begin(true);
    rpp_watched *watched = rpp_watched_new(1024, 1);
    for (size_t nth = 1; nth < 12; nth++) {
        rpp_alloc_fail_at(nth);
        exact_allocation(levels, nth, 0, (uint32_t)nth);
        rpp_watched_add(watched, 2 * nth, nth);
        rpp_watched_marked(watched, true, lives_if_even);
        rpp_profile *profile = close_window(levels, 0, watched);
        rpp_alloc_fail_at(0);
        rpp_profile_free(profile);
    }
    rpp_profile *profile = close_window(levels, 0, watched);
    CHECK_INT(objects_in(profile), rpp_levels_allocations(levels));
    rpp_profile_free(profile);
    for (size_t nth = 1; nth <= 3; nth++) {
        rpp_alloc_fail_at(nth);
        CHECK(!rpp_levels_new(names, 16, false));
        rpp_alloc_fail_at(0);
    }
    rpp_watched_free(watched);
    end(levels);
}
