/* test_spool_file.c - names in order of age, and contents that are whole or refused. */
#include "spool/spool_file.h"

#include "base/alloc.h"
#include "settings/pairs.h"
#include "test.h"

static rpp_pair items[] = {{"service_name", "shop"}, {"env", "prod"}};
static const rpp_pairs labels = {items, 2, 2};

static uint8_t *whole_file(size_t *length)
{
    static uint8_t profile[] = {0x1f, 0x8b, 0, 1, 2, 3, 4};
    rpp_payload payload = {.bytes = profile,
                           .length = sizeof profile,
                           .raw_length = 99,
                           .time_ns = UINT64_C(1700000000123456789),
                           .duration_ns = 10,
                           .sequence = 12,
                           .samples = 3,
                           .group = RPP_GROUP_MEMORY,
                           .tries = {.begun = 7, .server_errors = 2, .alone = 3, .closed = 2}};
    uint8_t *head;
    size_t head_length;
    CHECK_OK(rpp_spool_file_head(&payload, &labels, 4711, &head, &head_length));
    uint8_t *bytes = malloc(head_length + sizeof profile);
    memcpy(bytes, head, head_length);
    memcpy(bytes + head_length, profile, sizeof profile);
    rpp_free(head);
    *length = head_length + sizeof profile;
    return bytes;
}

static rpp_status read_copy(const uint8_t *bytes, size_t length, rpp_payload **payload)
{
    uint8_t *copy = malloc(length ? length : 1);
    memcpy(copy, bytes, length);
    return rpp_spool_file_read(copy, length, payload);
}

TEST(what_is_written_is_read)
{
    size_t length;
    uint8_t *bytes = whole_file(&length);
    rpp_payload *payload;
    CHECK_OK(rpp_spool_file_read(bytes, length, &payload));
    CHECK_INT(payload->length, 7);
    CHECK(memcmp(payload->bytes, "\x1f\x8b\0\1\2\3\4", 7) == 0);
    CHECK_INT(payload->raw_length, 99);
    CHECK_INT(payload->time_ns, UINT64_C(1700000000123456789));
    CHECK_INT(payload->duration_ns, 10);
    CHECK_INT(payload->sequence, 12);
    CHECK_INT(payload->samples, 3);
    CHECK_INT(payload->group, RPP_GROUP_MEMORY);
    CHECK_INT(payload->tries.begun, 7);
    CHECK_INT(payload->tries.server_errors, 2);
    CHECK_INT(payload->tries.alone, 3);
    CHECK_INT(payload->tries.closed, 2);
    CHECK_INT(payload->pid, 4711);
    CHECK_INT(payload->due_ns, 0);
    CHECK_INT(payload->labels.count, 2);
    CHECK_STR(payload->labels.items[0].key, "service_name");
    CHECK_STR(payload->labels.items[0].value, "shop");
    CHECK_STR(payload->labels.items[1].value, "prod");
    rpp_payload_free(payload);
}

TEST(every_cut_is_noticed)
{
    size_t length;
    uint8_t *bytes = whole_file(&length);
    rpp_payload *payload;
    for (size_t cut = 0; cut < length; cut++) CHECK_INT(read_copy(bytes, cut, &payload), RPP_INVALID);
    bytes = realloc(bytes, length + 1);
    bytes[length] = 0;
    CHECK_INT(read_copy(bytes, length + 1, &payload), RPP_INVALID);
    free(bytes);
}

TEST(every_flipped_bit_is_noticed_but_in_the_number_of_sends)
{
    size_t length;
    uint8_t *bytes = whole_file(&length);
    for (size_t bit = 0; bit < 8 * length; bit++) {
        rpp_payload *payload = NULL;
        size_t byte = bit / 8;
        bool counts = byte < RPP_SPOOL_TRIES_OFFSET || byte >= RPP_SPOOL_TRIES_OFFSET + RPP_SPOOL_TRIES_BYTES;
        bytes[byte] ^= (uint8_t)(1 << bit % 8);
        CHECK_INT(read_copy(bytes, length, &payload), counts ? RPP_INVALID : RPP_OK);
        if (!counts) rpp_payload_free(payload);
        bytes[byte] ^= (uint8_t)(1 << bit % 8);
    }
    free(bytes);
}

/* Labels as somebody else might write them, with the right checksum. */
static rpp_status read_with_label(const char *key, const char *value)
{
    rpp_pair pair = {(char *)key, (char *)value};
    rpp_pairs one = {&pair, 1, 1};
    uint8_t profile = 1, *head;
    rpp_payload payload = {.bytes = &profile, .length = 1}, *read = NULL;
    size_t length;
    CHECK_OK(rpp_spool_file_head(&payload, key ? &one : &(rpp_pairs){0}, 1, &head, &length));
    uint8_t *bytes = malloc(length + 1);
    memcpy(bytes, head, length);
    bytes[length] = profile;
    rpp_free(head);
    rpp_status status = rpp_spool_file_read(bytes, length + 1, &read);
    if (status == RPP_OK) rpp_payload_free(read);
    return status;
}

TEST(labels_that_no_series_has_are_refused)
{
    CHECK_OK(read_with_label("a", ""));
    CHECK_INT(read_with_label(NULL, NULL), RPP_INVALID);
    CHECK_INT(read_with_label("", "x"), RPP_INVALID);
    CHECK_INT(read_with_label("__name__", "x"), RPP_INVALID);
}

TEST(what_is_too_large_is_not_written)
{
    static char value[(1 << 20) + 1];
    memset(value, 'x', sizeof value - 1);
    rpp_pair pair = {(char *)"a", value};
    rpp_pairs large = {&pair, 1, 1};
    uint8_t *head;
    size_t length;
    rpp_payload payload = {.length = 1};
    CHECK_INT(rpp_spool_file_head(&payload, &large, 1, &head, &length), RPP_LIMIT);
    payload.length = RPP_SPOOL_FILE_MAX;
    CHECK_INT(rpp_spool_file_head(&payload, &labels, 1, &head, &length), RPP_LIMIT);
}

TEST(every_allocation_may_fail)
{
    size_t length;
    uint8_t *bytes = whole_file(&length);
    for (size_t nth = 1;; nth++) {
        rpp_payload *payload = NULL;
        uint8_t *copy = malloc(length);
        memcpy(copy, bytes, length);
        rpp_alloc_fail_at(nth);
        rpp_status status = rpp_spool_file_read(copy, length, &payload);
        bool failed = rpp_alloc_count() >= nth;
        rpp_alloc_fail_at(0);
        CHECK_INT(status, failed ? RPP_NO_MEMORY : RPP_OK);
        if (failed) continue;
        rpp_payload_free(payload);
        break;
    }
    rpp_payload payload = {.bytes = bytes, .length = 1};
    uint8_t *head;
    rpp_alloc_fail_at(1);
    CHECK_INT(rpp_spool_file_head(&payload, &labels, 1, &head, &length), RPP_NO_MEMORY);
    rpp_alloc_fail_at(0);
    free(bytes);
}

/* --- names
 * ---------------------------------------------------------------------------------------------------------- */

TEST(a_name_is_read_as_it_was_written)
{
    rpp_spool_name read, name = {UINT64_MAX, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX, RPP_SPOOL_SENDING};
    char text[RPP_SPOOL_NAME_MAX];
    CHECK(rpp_spool_name_parse(rpp_spool_name_text(&name, text), &read));
    CHECK_INT(rpp_spool_name_compare(&read, &name), 0);
    CHECK_STR(text, "ffffffffffffffff-0000000000000001-ffffffffffffffff-ffffffffffffffff-ffffffffffffffff.sending");
}

TEST(other_names_are_none)
{
    static const char good[] = "0000000000000001-0000000000000002-0000000000000003-4-5.ready";
    static const char *const bad[] = {"",
                                      ".",
                                      "notes.txt",
                                      "0000000000000001-0000000000000002-0000000000000003-4-5",
                                      "0000000000000001-0000000000000002-0000000000000003-4-5.Ready",
                                      "0000000000000001-0000000000000002-0000000000000003-4-5.ready~",
                                      "0000000000000001-0000000000000002-0000000000000003-4.ready",
                                      "0000000000000001-0000000000000002-0000000000000003-4-05.ready",
                                      "0000000000000001-0000000000000002-0000000000000003-4--5.ready",
                                      "0000000000000001-0000000000000002-0000000000000003-4- 5.ready",
                                      "0000000000000001-0000000000000002-0000000000000003-4-0x5.ready",
                                      "000000000000000A-0000000000000002-0000000000000003-4-5.ready",
                                      "1-0000000000000002-0000000000000003-4-5.ready",
                                      ".0000000000000001-0000000000000002-0000000000000003-4-5.ready",
                                      "0000000000000001-0000000000000002-0000000000000003-4-5.ready.ready"};
    rpp_spool_name name;
    char long_name[300];
    CHECK(rpp_spool_name_parse(good, &name));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (rpp_spool_name_parse(bad[i], &name)) FAIL("%s was taken", bad[i]);
    }
    memset(long_name, '0', sizeof long_name);
    strcpy(long_name + 250, ".ready");
    CHECK(!rpp_spool_name_parse(long_name, &name));
}

TEST(names_are_ordered_by_age)
{
    static const rpp_spool_name ordered[] = {
        {1, 9, 9, 9, 9, RPP_SPOOL_WRITING}, {2, 9, 1, 2, 9, RPP_SPOOL_READY},
        {2, 9, 1, 10, 1, RPP_SPOOL_READY},  {2, 9, 1, 10, 1, RPP_SPOOL_SENDING},
        {2, 1, 2, 1, 1, RPP_SPOOL_READY},   {UINT64_MAX, 0, 0, 0, 0, RPP_SPOOL_READY}};
    for (size_t a = 0; a < 6; a++) {
        for (size_t b = 0; b < 6; b++) {
            int order = rpp_spool_name_compare(&ordered[a], &ordered[b]);
            CHECK(a < b ? order < 0 : a > b ? order > 0 : order == 0);
        }
    }
}
