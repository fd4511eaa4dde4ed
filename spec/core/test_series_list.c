/* test_series_list.c - the profiles of one request: written, read, cut at every byte. */
#include "backends/series_list.h"

#include "backends/label_bytes.h"
#include "base/alloc.h"
#include "test.h"

static rpp_pair endpoint[] = {{"endpoint", "GET /"}, {"gvl_state", "wait"}};
static const rpp_pairs both = {endpoint, 2, 2}, none = {0};

static void add(rpp_byte_buffer *list, const rpp_pairs *labels, const char *profile)
{
    size_t series;
    CHECK_OK(rpp_series_list_begin(list, labels, &series));
    CHECK_OK(rpp_byte_sink_write(&list->sink, profile, strlen(profile)));
    rpp_series_list_end(list, series);
}

static rpp_byte_buffer list_of_three(void)
{
    rpp_byte_buffer list;
    rpp_byte_buffer_init(&list, 1 << 20);
    add(&list, &none, "first");
    add(&list, &both, "second, which is longer");
    add(&list, &(rpp_pairs){endpoint, 1, 1}, "x");
    return list;
}

static void check_next(rpp_series_reader *reader, size_t labels, const char *profile)
{
    rpp_series series;
    CHECK(reader->left);
    CHECK_OK(rpp_series_reader_next(reader, &series));
    CHECK_INT(series.labels.count, labels);
    for (size_t i = 0; i < labels; i++) {
        CHECK_STR(series.labels.items[i].key, endpoint[i].key);
        CHECK_STR(series.labels.items[i].value, endpoint[i].value);
    }
    CHECK_INT(series.length, strlen(profile));
    CHECK(memcmp(series.profile, profile, series.length) == 0);
    rpp_pairs_destroy(&series.labels);
}

TEST(reads_what_was_written_in_order)
{
    rpp_byte_buffer list = list_of_three();
    rpp_series_reader reader = rpp_series_list_read(list.bytes, list.length);
    check_next(&reader, 0, "first");
    check_next(&reader, 2, "second, which is longer");
    check_next(&reader, 1, "x");
    CHECK_INT(reader.left, 0);
    rpp_byte_buffer_destroy(&list);
}

TEST(a_plain_profile_is_one_series_without_labels)
{
    static const uint8_t gzip[] = {0x1f, 0x8b, 8, 'R', 'P', 'P', 'S', 'E', 'R', 'I', 'E'};
    for (size_t length = 1; length <= sizeof gzip; length++) {
        rpp_series_reader reader = rpp_series_list_read(gzip, length);
        rpp_series series;
        CHECK_OK(rpp_series_reader_next(&reader, &series));
        CHECK(series.profile == gzip && series.length == length && !series.labels.count && !reader.left);
    }
}

/* Whether every series of it could be read. */
static bool reads(const uint8_t *bytes, size_t length)
{
    uint8_t *exact = malloc(length + !length); /* so that a sanitizer sees a step past it */
    CHECK(exact);
    memcpy(exact, bytes, length);
    rpp_series_reader reader = rpp_series_list_read(exact, length);
    bool good = true;
    while (good && reader.left) {
        rpp_series series;
        good = rpp_series_reader_next(&reader, &series) == RPP_OK;
        if (good) CHECK(series.length && series.profile + series.length <= exact + length);
        rpp_pairs_destroy(&series.labels);
    }
    free(exact);
    return good;
}

TEST(a_list_that_was_cut_reads_only_where_a_series_ends)
{
    rpp_byte_buffer list = list_of_three();
    unsigned whole = 0;
    for (size_t length = 8; length <= list.length; length++) whole += reads(list.bytes, length);
    CHECK_INT(whole, 4); /* none, one, two, three */
    rpp_byte_buffer_destroy(&list);
}

TEST(a_list_that_was_changed_never_leads_outside)
{
    rpp_byte_buffer list = list_of_three();
    for (size_t at = 8; at < list.length; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            list.bytes[at] ^= (uint8_t)(1u << bit);
            (void)reads(list.bytes, list.length);
            list.bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
    rpp_put32(list.bytes + 12, 0); /* a profile of no bytes crashes a Parca */
    CHECK(!reads(list.bytes, list.length));
    rpp_byte_buffer_destroy(&list);
}

TEST(a_list_without_room_stays_as_it_was)
{
    rpp_byte_buffer list;
    size_t series;
    rpp_byte_buffer_init(&list, 30);
    CHECK_INT(rpp_series_list_begin(&list, &both, &series), RPP_LIMIT);
    CHECK_INT(list.length, 0);
    add(&list, &none, "first");
    size_t before = list.length;
    CHECK_INT(rpp_series_list_begin(&list, &both, &series), RPP_LIMIT);
    CHECK_INT(list.length, before);
    rpp_alloc_fail_at(1);
    CHECK_INT(rpp_series_list_begin(&list, &none, &series), RPP_NO_MEMORY);
    rpp_alloc_fail_at(0);
    CHECK_INT(list.length, before);
    rpp_byte_buffer_destroy(&list);
}
