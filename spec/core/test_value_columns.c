/* test_value_columns.c - the values of a mode, and those that the program counts, side by side. */
#include "profile/value_columns.h"

#include "test.h"

static uint8_t declared(const char *name, const char *unit)
{
    uint8_t id = 0;
    CHECK_OK(rpp_custom_value_declare(name, strlen(name), unit, strlen(unit), &id));
    return id;
}

static void add(rpp_profile *profile, uint8_t custom_id, uint64_t number)
{
    rpp_location stack = {100, 1};
    rpp_sample sample = {.custom_id = custom_id, .thread_seq = 1, .depth = 1};
    sample.values[custom_id ? RPP_VALUE_CUSTOM : RPP_VALUE_WALL] = number;
    CHECK_OK(rpp_profile_add(profile, &sample, &stack));
}

TEST(only_what_some_row_counts_has_a_column)
{
    uint8_t unused = declared("unused", "count"), bytes = declared("bytes_sent", "bytes"),
            misses = declared("misses", "count");
    rpp_column columns[RPP_COLUMNS_MAX];
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    add(profile, 0, 9);
    CHECK_INT(rpp_columns_of(profile, RPP_MODE_WALL | RPP_MODE_CUSTOM, columns), 1);
    CHECK_STR(columns[0].type, "wall");
    add(profile, misses, 5);
    add(profile, bytes, 512);
    add(profile, misses, 6);
    CHECK_INT(rpp_columns_of(profile, RPP_MODE_CUSTOM, columns), 2);
    CHECK_INT(rpp_columns_of(profile, RPP_MODE_WALL, columns), 1);
    CHECK_INT(rpp_columns_of(profile, RPP_MODE_WALL | RPP_MODE_CUSTOM, columns), 3);
    CHECK_STR(columns[1].type, "bytes_sent");
    CHECK_STR(columns[1].unit, "bytes");
    CHECK_STR(columns[2].type, "misses");
    CHECK(unused != bytes);

    static const uint64_t expected[3][3] = {{9, 0, 0}, {0, 0, 11}, {0, 512, 0}};
    CHECK_INT(rpp_profile_row_count(profile), 3);
    for (size_t row = 0; row < 3; row++) {
        for (size_t c = 0; c < 3; c++) {
            CHECK_INT(rpp_column_at(&columns[c], &rpp_profile_rows(profile)[row]), expected[row][c]);
        }
    }
    rpp_profile_free(profile);
}
