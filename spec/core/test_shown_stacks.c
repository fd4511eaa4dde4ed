/* test_shown_stacks.c - what profiles do not show leaves the stacks, and no number changes. */
#include "profile/shown_stacks.h"

#include "test.h"

static uint32_t named(rpp_frame_names *names, const char *name, const char *path, bool hidden)
{
    CHECK_OK(rpp_frame_names_ensure(names, 1));
    uint32_t id = rpp_frame_names_reserve(names);
    CHECK_OK(rpp_frame_names_set(names, id, name, strlen(name), path, strlen(path), 0, hidden));
    return id;
}

static rpp_profile *three_rows(rpp_frame_names *names, bool separate)
{
    rpp_profile_limits limits = rpp_profile_default_limits;
    limits.separate_rows = separate;
    rpp_profile *profile = rpp_profile_new(&limits);
    uint32_t book = named(names, "Book", RPP_CLASS_PATH, false), shop = named(names, "Shop#buy", "shop.rb", false);
    uint32_t ours = named(names, "Outcome.follow", "ours.rb", true), label = named(names, "RperfPush.label", "", true);
    rpp_location stacks[][3] = {
        {{shop, 1}, {ours, 1}, {shop, 2}}, {{shop, 1}, {label, 2}, {shop, 2}}, {{book, 0}, {shop, 1}, {ours, 1}}};
    for (int i = 0; i < 3; i++) {
        rpp_sample sample = {.wall_ns = 1u + (unsigned)i, .thread_seq = 1, .depth = 3};
        CHECK_OK(rpp_profile_add(profile, &sample, stacks[i]));
    }
    rpp_location only_ours = {ours, 3};
    CHECK_OK(rpp_profile_add(profile, &(rpp_sample){.wall_ns = 10, .thread_seq = 1, .depth = 1}, &only_ours));
    return profile;
}

static uint32_t depth_of(const rpp_profile *profile, size_t row)
{
    uint32_t depth;
    rpp_stack_table_get(rpp_profile_stacks(profile), rpp_profile_rows(profile)[row].stack, &depth);
    return depth;
}

TEST(rows_that_differ_in_hidden_frames_only_become_one)
{
    rpp_frame_names *names = rpp_frame_names_new(RPP_FRAME_FIRST + 8);
    rpp_profile *profile = three_rows(names, false);
    rpp_show_stacks(profile, names, false);
    CHECK_INT(rpp_profile_row_count(profile), 3);
    CHECK_INT(rpp_profile_rows(profile)[0].wall_ns, 3);
    CHECK_INT(rpp_profile_rows(profile)[0].samples, 2);
    CHECK_INT(depth_of(profile, 0), 2);
    CHECK_INT(depth_of(profile, 1), 2);
    CHECK_INT(rpp_profile_rows(profile)[1].labels, 0);
    CHECK_INT(rpp_profile_rows(profile)[2].wall_ns, 10);
    CHECK_INT(depth_of(profile, 2), 1);
    rpp_show_stacks(profile, names, false); /* nothing is left to do */
    CHECK_INT(rpp_profile_row_count(profile), 3);
    rpp_profile_free(profile);
    rpp_frame_names_free(names);
}

TEST(rows_stay_apart_where_each_sample_is_one)
{
    rpp_frame_names *names = rpp_frame_names_new(RPP_FRAME_FIRST + 8);
    rpp_profile *profile = three_rows(names, true);
    rpp_show_stacks(profile, names, false);
    CHECK_INT(rpp_profile_row_count(profile), 4);
    CHECK_INT(depth_of(profile, 1), 2);
    rpp_profile_free(profile);
    rpp_frame_names_free(names);
}

TEST(a_class_becomes_a_label)
{
    rpp_frame_names *names = rpp_frame_names_new(RPP_FRAME_FIRST + 8);
    rpp_profile *profile = three_rows(names, false);
    rpp_show_stacks(profile, names, true);
    const rpp_row *row = &rpp_profile_rows(profile)[1];
    const rpp_label_set *labels = rpp_label_sets_get(rpp_profile_label_sets(profile), row->labels);
    rpp_label found;
    CHECK(rpp_label_set_find(labels, "class", 5, &found));
    CHECK_INT(found.value_length, 4);
    CHECK(memcmp(found.value, "Book", 4) == 0);
    CHECK_INT(depth_of(profile, 1), 1);
    CHECK_INT(row->wall_ns, 3);
    rpp_profile_free(profile);
    rpp_frame_names_free(names);
}

TEST(a_class_stays_in_its_stack_where_labels_have_no_room)
{
    char keys[RPP_LABELS_OF_A_FIBER_MAX][8];
    rpp_label full[RPP_LABELS_OF_A_FIBER_MAX];
    for (unsigned i = 0; i < RPP_LABELS_OF_A_FIBER_MAX; i++) {
        int length = snprintf(keys[i], sizeof keys[i], "key%u", i);
        full[i] = (rpp_label){keys[i], "x", (uint32_t)length, 1};
    }
    rpp_frame_names *names = rpp_frame_names_new(RPP_FRAME_FIRST + 8);
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    rpp_location stack[] = {{named(names, "Book", RPP_CLASS_PATH, false), 0},
                            {named(names, "Shop#buy", "shop.rb", false), 1}};
    rpp_sample sample = {.wall_ns = 1, .depth = 2};
    CHECK_OK(rpp_label_set_merge(NULL, full, RPP_LABELS_OF_A_FIBER_MAX, &sample.labels));
    CHECK_OK(rpp_profile_add(profile, &sample, stack));
    rpp_show_stacks(profile, names, true);
    CHECK_INT(depth_of(profile, 0), 2);
    rpp_label_set_release(sample.labels);
    rpp_profile_free(profile);
    rpp_frame_names_free(names);
}
