/* test_string_table.c - strings to ids and back. */
#include "encoding/string_table.h"

#include "base/alloc.h"
#include "test.h"

static uint32_t intern(rpp_string_table *table, const char *text)
{
    uint32_t id = UINT32_MAX;
    CHECK_OK(rpp_string_table_intern(table, text, strlen(text), &id));
    return id;
}

static const char *get(const rpp_string_table *table, uint32_t id)
{
    size_t length;
    const char *text = rpp_string_table_get(table, id, &length);
    return length == strlen(text) ? text : "(lengths differ)";
}

TEST(ids_are_dense_and_zero_is_the_empty_string)
{
    rpp_string_table *table = rpp_string_table_new();
    CHECK_INT(rpp_string_table_count(table), 1);
    CHECK_STR(get(table, 0), "");
    CHECK_INT(intern(table, ""), 0);
    CHECK_INT(intern(table, "cpu"), 1);
    CHECK_INT(intern(table, "nanoseconds"), 2);
    CHECK_INT(intern(table, "cpu"), 1);
    CHECK_INT(rpp_string_table_count(table), 3);
    CHECK_STR(get(table, 1), "cpu");
    CHECK_STR(get(table, 2), "nanoseconds");
    rpp_string_table_free(table);
    rpp_string_table_free(NULL);
}

TEST(bytes_are_repaired_before_they_are_compared)
{
    rpp_string_table *table = rpp_string_table_new();
    uint32_t id = intern(table, "a\xff");
    CHECK_STR(get(table, id), "a?");
    CHECK_INT(intern(table, "a?"), id);
    CHECK_INT(intern(table, "a\xfe"), id);
    CHECK_INT(rpp_string_table_count(table), 2);
    CHECK_INT(intern(table, "next"), 2);
    CHECK_STR(get(table, 2), "next");
    CHECK_STR(get(table, 1), "a?");
    rpp_string_table_free(table);
}

TEST(strings_with_nul_are_strings)
{
    rpp_string_table *table = rpp_string_table_new();
    uint32_t one, other;
    size_t length;
    CHECK_OK(rpp_string_table_intern(table, "a\0b", 3, &one));
    CHECK_OK(rpp_string_table_intern(table, "a\0c", 3, &other));
    CHECK(one != other);
    CHECK(memcmp(rpp_string_table_get(table, one, &length), "a\0b", 4) == 0);
    CHECK_INT(length, 3);
    rpp_string_table_free(table);
}

TEST(long_strings_are_cut_at_a_character)
{
    size_t size = 70001, length;
    char *text = rpp_malloc(size);
    for (size_t i = 0; i < size; i++) text[i] = "\xe2\x80\xa6"[(i + 1) % 3];
    text[0] = text[1] = 'a'; /* the cut would fall within a character */
    rpp_string_table *table = rpp_string_table_new();
    uint32_t id, again;
    CHECK_OK(rpp_string_table_intern(table, text, size, &id));
    const char *kept = rpp_string_table_get(table, id, &length);
    CHECK(length <= 65535 && length > 65531);
    CHECK_INT(rpp_utf8_prefix(kept, length, length), length);
    CHECK(memcmp(kept, text, length) == 0);
    CHECK_OK(rpp_string_table_intern(table, text, size - 1, &again));
    CHECK_INT(again, id);
    rpp_string_table_free(table);
    rpp_free(text);
}

TEST(many_strings_keep_their_ids)
{
    rpp_string_table *table = rpp_string_table_new();
    char text[32];
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i < 20000; i++) {
            snprintf(text, sizeof text, "Shop::Cart#m%" PRIu32, i);
            CHECK_INT(intern(table, text), i);
        }
    }
    CHECK_STR(get(table, 777), "Shop::Cart#m777");
    rpp_string_table_free(table);
}

TEST(it_survives_every_failing_allocation)
{
    for (size_t nth = 1, failed = 1; failed; nth++) {
        failed = 0;
        rpp_alloc_fail_at(nth);
        rpp_string_table *table = rpp_string_table_new();
        if (!table) failed++;
        for (uint32_t i = 1; table && i < 60; i++) {
            char text[32];
            uint32_t id = 77;
            int length = snprintf(text, sizeof text, "%s%" PRIu32, i % 2 ? "clean" : "\xff", i);
            rpp_status status = rpp_string_table_intern(table, text, (size_t)length, &id);
            if (status == RPP_NO_MEMORY) {
                failed++;
                CHECK_INT(id, 77);
                CHECK_INT(rpp_string_table_count(table), i);
                status = rpp_string_table_intern(table, text, (size_t)length, &id);
            }
            CHECK_OK(status);
            CHECK_INT(id, i);
        }
        rpp_alloc_fail_at(0);
        rpp_string_table_free(table);
    }
}
