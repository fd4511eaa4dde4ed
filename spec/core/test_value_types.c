/* test_value_types.c - the table agrees with itself, and with the names that are made of it. */
#include "base/value_types.h"

#include "profile/row.h"
#include "test.h"

TEST(each_number_is_reached_by_name_and_by_place)
{
    rpp_row row = {.cpu_ns = 7, .wall_ns = 8};
    CHECK_INT(row.values[RPP_VALUE_CPU], 7);
    CHECK_INT(row.values[RPP_VALUE_WALL], 8);
    CHECK_INT(sizeof row.values, RPP_VALUE_COUNT * sizeof(uint64_t));
    CHECK_INT(RPP_MODE_WALL, 1 << RPP_VALUE_WALL);
}

TEST(a_mode_is_found_by_its_whole_name)
{
    unsigned all = 0;
    CHECK_INT(rpp_mode_of("cpu", 3), RPP_MODE_CPU);
    CHECK_INT(rpp_mode_of("wall,", 4), RPP_MODE_WALL);
    CHECK_INT(rpp_mode_of("wal", 3) | rpp_mode_of("walls", 5) | rpp_mode_of("", 0), 0);
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        const rpp_value_type *known = &rpp_value_types[value];
        CHECK(*known->mode && *known->type && *known->unit);
        all |= rpp_mode_of(known->mode, strlen(known->mode));
    }
    CHECK_INT(all, (1 << RPP_VALUE_COUNT) - 1);
    CHECK_INT(rpp_mode_of("alloc", 5), RPP_MODE_ALLOC_OBJECTS | RPP_MODE_ALLOC_SPACE);
    CHECK_INT(rpp_mode_of("object", 6), rpp_mode_of("alloc", 5));
}

TEST(each_value_is_in_one_group_and_a_mode_is_of_the_group_of_its_first)
{
    unsigned all = 0;
    for (rpp_value_group group = 0; group < RPP_GROUP_COUNT; group++) {
        unsigned mode = rpp_group_mode(group);
        CHECK(mode && !(all & mode));
        CHECK_INT(rpp_mode_group(mode), group);
        CHECK(*rpp_value_groups[group].name && *rpp_value_groups[group].period_type);
        all |= mode;
    }
    CHECK_INT(all, RPP_MODE_ALL);
    CHECK_INT(rpp_group_mode(RPP_GROUP_PROCESS_CPU), RPP_MODE_CPU | RPP_MODE_WALL);
    CHECK_INT(rpp_mode_group(RPP_MODE_ALLOC_SPACE | RPP_MODE_WALL), RPP_GROUP_PROCESS_CPU);
    CHECK_STR(rpp_value_groups[RPP_GROUP_MEMORY].name, "memory");
}

TEST(modes_are_named_in_the_order_of_the_table)
{
    char text[RPP_MODE_TEXT_MAX];
    CHECK_STR(rpp_mode_text(RPP_MODE_CPU, "+", text), "cpu");
    CHECK_STR(rpp_mode_text(RPP_MODE_WALL | RPP_MODE_CPU, "+", text), "cpu+wall");
    CHECK_STR(rpp_mode_text(RPP_MODE_CPU | RPP_MODE_ALLOC_OBJECTS | RPP_MODE_ALLOC_SPACE, ", ", text), "cpu, alloc");
    CHECK_STR(rpp_mode_text(0, "+", text), "");
}
