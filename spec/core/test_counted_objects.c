/* test_counted_objects.c - counters decide totals, samples decide the distribution: of objects to the object, of bytes
 * by their samples. */
#include "profile/counted_objects.h"

#include "base/clock.h"
#include "profile/profile.h"
#include "test.h"

TEST(the_sum_is_the_counters_whatever_was_sampled)
{
    uint64_t random = 5;
    for (int round = 0; round < 2000; round++) {
        rpp_row rows[20] = {{.cpu_ns = 0}};
        uint64_t objects = rpp_random_next(&random) % 1000000000, sampled = 0, given = 0;
        for (size_t i = 0; i < 20; i++) {
            rows[i].alloc_sampled = rpp_random_next(&random) % 3 ? rpp_random_next(&random) % 5000 : 0;
            rows[i].alloc_sampled_bytes = 40 * rows[i].alloc_sampled;
            sampled += rows[i].alloc_sampled;
        }
        CHECK_INT(rpp_counted_distribute(rows, 20, objects), sampled ? 0 : objects);
        for (size_t i = 0; i < 20; i++) {
            given += rows[i].alloc_objects;
            CHECK_INT(rows[i].alloc_space, 40 * rows[i].alloc_objects);
            CHECK_INT(rows[i].alloc_sampled, objects && sampled ? 0 : rows[i].alloc_sampled);
        }
        CHECK_INT(given, sampled ? objects : 0);
    }
}

TEST(shares_are_those_of_the_samples_and_bytes_those_of_their_objects)
{
    rpp_row rows[3] = {{.alloc_sampled = 300, .alloc_sampled_bytes = 300 * 40},
                       {.alloc_sampled = 100, .alloc_sampled_bytes = 100 * 640},
                       {.cpu_ns = 5}};
    CHECK_INT(rpp_counted_distribute(rows, 3, 4000), 0);
    CHECK_INT(rows[0].alloc_objects, 3000);
    CHECK_INT(rows[0].alloc_space, 3000 * 40);
    CHECK_INT(rows[1].alloc_objects, 1000);
    CHECK_INT(rows[1].alloc_space, 1000 * 640);
    CHECK_INT(rows[2].alloc_objects + rows[2].alloc_space, 0);
}

/* --- in a profile
 * --------------------------------------------------------------------------------------------------- */

static void add(rpp_profile *profile, rpp_sample sample, uint32_t frame)
{
    sample.depth = 1;
    CHECK_OK(rpp_profile_add(profile, &sample, &(rpp_location){frame, 1}));
}

static void distribute(rpp_profile *profile)
{
    rpp_carry_over carry_over = {.cpu_ns = {0}};
    rpp_profile_distribute(profile, RPP_NS_PER_MS, true, &carry_over);
}

static uint64_t objects_at(const rpp_profile *profile, uint32_t frame)
{
    uint64_t objects = 0;
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        const rpp_row *row = &rpp_profile_rows(profile)[i];
        uint32_t depth;
        const uint32_t *stack = rpp_stack_table_get(rpp_profile_stacks(profile), row->stack, &depth);
        if (rpp_stack_table_location(rpp_profile_stacks(profile), stack[0]).frame == frame)
            objects += row->alloc_objects;
    }
    return objects;
}

TEST(a_window_without_its_sum_keeps_its_samples)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    add(profile, (rpp_sample){.thread_seq = 1, .alloc_sampled = 64, .alloc_sampled_bytes = 64 * 40}, 100);
    distribute(profile);
    CHECK_INT(objects_at(profile, 100), 0);
    add(profile, (rpp_sample){.thread_seq = 2, .alloc_sampled = 192, .alloc_sampled_bytes = 192 * 40}, 101);
    CHECK_OK(rpp_profile_add(profile, &(rpp_sample){.alloc_objects = 1000, .is_total = true}, NULL));
    distribute(profile);
    CHECK_INT(objects_at(profile, 100), 250);
    CHECK_INT(objects_at(profile, 101), 750);
    rpp_profile_free(profile);
}

TEST(objects_without_a_sample_have_no_stack)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    CHECK_OK(rpp_profile_add(profile, &(rpp_sample){.alloc_objects = 12, .is_total = true}, NULL));
    distribute(profile);
    CHECK_INT(objects_at(profile, RPP_FRAME_UNKNOWN), 12);
    CHECK_INT(rpp_profile_rows(profile)[0].alloc_space, 12 * 40);
    rpp_profile_free(profile);
}

TEST(objects_seen_one_by_one_are_counted_once)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    for (int i = 0; i < 5; i++)
        add(profile, (rpp_sample){.thread_seq = 1, .alloc_objects = 7, .alloc_space = 280}, 100);
    CHECK_OK(rpp_profile_add(profile, &(rpp_sample){.alloc_objects = 37, .is_total = true}, NULL));
    distribute(profile);
    CHECK_INT(objects_at(profile, 100), 35);
    CHECK_INT(objects_at(profile, RPP_FRAME_UNKNOWN), 2);
    rpp_profile_free(profile);
}
