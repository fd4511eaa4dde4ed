/* fuzz_spool_file.c - files of the spool: any bytes are read without harm, and what is taken is what they say; what was
 * written is read again as it was, and not when a byte of it was changed or it was cut. Names likewise.
 */
#include <zlib.h>

#include "base/alloc.h"
#include "fuzz_input.h"
#include "settings/pairs.h"
#include "spool/spool_file.h"

#define HEAD 96u

static uint64_t number_at(const uint8_t *at, unsigned bytes)
{
    uint64_t number = 0;
    while (bytes--) number = number << 8 | at[bytes];
    return number;
}

static rpp_status read_copy(const uint8_t *bytes, size_t length, rpp_payload **payload)
{
    uint8_t *copy = rpp_malloc(length + 1);
    FUZZ_CHECK(copy);
    if (length) memcpy(copy, bytes, length);
    return rpp_spool_file_read(copy, length, payload);
}

/* --- bytes from anywhere
 * -------------------------------------------------------------------------------------------- */

/* How many labels there are, each under the last value that the file has for it; 0: they are not as they must be. */
static size_t expected_labels(const uint8_t *at, uint64_t left, rpp_pairs *labels)
{
    while (left >= 8) {
        uint64_t key = number_at(at, 4), value = number_at(at + 4, 4);
        if (!key || key + value > left - 8 || memchr(at + 8, 0, key + value)) return 0;
        if (key > 1 && at[8] == '_' && at[9] == '_') return 0;
        FUZZ_CHECK(rpp_pairs_put(labels, (const char *)at + 8, key, (const char *)at + 8 + key, value) == RPP_OK);
        left -= 8 + key + value;
        at += 8 + key + value;
    }
    return left ? 0 : labels->count;
}

static void check_read(const uint8_t *bytes, size_t length)
{
    rpp_payload *payload = NULL;
    rpp_pairs labels = {0};
    rpp_status status = read_copy(bytes, length, &payload);
    uint64_t labelled = length >= HEAD ? number_at(bytes + 20, 4) : 0,
             profile = length >= HEAD ? number_at(bytes + 24, 8) : 0;
    bool whole = length > HEAD && !memcmp(bytes, "RPPSPOOL\1\0\0\0", 12) && labelled <= length - HEAD && profile &&
                 profile == length - HEAD - labelled &&
                 number_at(bytes + 16, 4) == crc32(0, bytes + 20, (uInt)length - 20) &&
                 number_at(bytes + 72, 8) < RPP_GROUP_COUNT && expected_labels(bytes + HEAD, labelled, &labels);
    FUZZ_CHECK(status == (whole ? RPP_OK : RPP_INVALID));
    if (whole) {
        FUZZ_CHECK(payload->length == profile && !memcmp(payload->bytes, bytes + HEAD + labelled, profile));
        FUZZ_CHECK(payload->tries.begun == number_at(bytes + 12, 3) && payload->tries.server_errors == bytes[15]);
        FUZZ_CHECK(payload->time_ns == number_at(bytes + 32, 8));
        FUZZ_CHECK(payload->group == number_at(bytes + 72, 8));
        FUZZ_CHECK(payload->labels.count == labels.count);
        for (size_t i = 0; i < labels.count; i++) {
            FUZZ_CHECK(!strcmp(payload->labels.items[i].key, labels.items[i].key));
            FUZZ_CHECK(!strcmp(payload->labels.items[i].value, labels.items[i].value));
        }
    }
    rpp_pairs_destroy(&labels);
    rpp_payload_free(payload);
}

static void try_bytes(const uint8_t *bytes, size_t length)
{
    check_read(bytes, length);
    if (length < HEAD) return;
    /* The same with what a fuzzer cannot guess set right: magic, version and checksum, then the profile's length,
     * too. */
    uint8_t *copy = malloc(length);
    FUZZ_CHECK(copy);
    memcpy(copy, bytes, length);
    memcpy(copy, "RPPSPOOL\1\0\0\0", 12);
    for (int round = 0; round < 2; round++) {
        uint64_t labelled = number_at(copy + 20, 4) & 0x3ff, rest = length - HEAD;
        for (int i = 0; round && i < 4; i++) copy[20 + i] = (uint8_t)(labelled >> 8 * i);
        for (int i = 0; round && i < 8; i++) copy[24 + i] = (uint8_t)((rest - labelled) >> 8 * i);
        uint32_t sum = (uint32_t)crc32(0, copy + 20, (uInt)length - 20);
        for (int i = 0; i < 4; i++) copy[16 + i] = (uint8_t)(sum >> 8 * i);
        check_read(copy, length);
    }
    free(copy);
}

/* --- what was written
 * ----------------------------------------------------------------------------------------------- */

static void check_same(const rpp_payload *read, const rpp_payload *written, const rpp_pairs *labels, long pid)
{
    FUZZ_CHECK(read->length == written->length && !memcmp(read->bytes, written->bytes, read->length));
    FUZZ_CHECK(read->time_ns == written->time_ns && read->duration_ns == written->duration_ns);
    FUZZ_CHECK(read->raw_length == written->raw_length && read->sequence == written->sequence);
    FUZZ_CHECK(read->samples == written->samples);
    FUZZ_CHECK(read->tries.begun == (written->tries.begun < 0xffffff ? written->tries.begun : 0xffffff));
    FUZZ_CHECK(read->tries.server_errors == written->tries.server_errors && read->pid == pid &&
               read->labels.count == labels->count);
    for (size_t i = 0; i < labels->count; i++) {
        FUZZ_CHECK(!strcmp(read->labels.items[i].key, labels->items[i].key));
        FUZZ_CHECK(!strcmp(read->labels.items[i].value, labels->items[i].value));
    }
}

static void check_damaged(uint8_t *file, size_t length, size_t at, uint8_t change)
{
    rpp_payload *read = NULL;
    bool harmless = at >= RPP_SPOOL_TRIES_OFFSET && at < RPP_SPOOL_TRIES_OFFSET + RPP_SPOOL_TRIES_BYTES;
    FUZZ_CHECK(read_copy(file, at, &read) == RPP_INVALID); /* cut there */
    file[at] ^= change;
    FUZZ_CHECK(read_copy(file, length, &read) == (harmless ? RPP_OK : RPP_INVALID));
    rpp_payload_free(read);
}

static void try_round_trip(fuzz_input *input)
{
    rpp_pairs labels = {0};
    FUZZ_CHECK(rpp_pairs_put(&labels, "service_name", 12, "shop", 4) == RPP_OK);
    for (unsigned i = fuzz_byte(input) % 8; i; i--) {
        char *key = fuzz_text(input, 40), *value = fuzz_text(input, 300);
        bool fit = *key && strncmp(key, "__", 2) != 0;
        FUZZ_CHECK(!fit || rpp_pairs_put(&labels, key, strlen(key), value, strlen(value)) == RPP_OK);
        free(key);
        free(value);
    }
    size_t length, head_length, at = (size_t)fuzz_number(input);
    uint8_t change = fuzz_byte(input), *head = NULL;
    rpp_payload written = {.time_ns = fuzz_number(input), .duration_ns = fuzz_number(input)};
    written.raw_length = (size_t)fuzz_number(input);
    written.sequence = fuzz_number(input);
    written.samples = fuzz_number(input);
    (void)fuzz_number(input); /* two that the corpus has */
    (void)fuzz_number(input);
    written.tries.begun = (uint32_t)fuzz_number(input);
    written.tries.server_errors = written.tries.begun % 4;
    long pid = (long)fuzz_number(input);
    char *profile = fuzz_bytes(input, 200, &length);
    written.bytes = (uint8_t *)profile;
    written.length = length ? length : 1; /* the NUL behind it */
    FUZZ_CHECK(rpp_spool_file_head(&written, &labels, pid, &head, &head_length) == RPP_OK);

    size_t file_length = head_length + written.length;
    uint8_t *file = malloc(file_length);
    FUZZ_CHECK(file);
    memcpy(file, head, head_length);
    memcpy(file + head_length, written.bytes, written.length);
    rpp_payload *read = NULL;
    FUZZ_CHECK(read_copy(file, file_length, &read) == RPP_OK);
    check_same(read, &written, &labels, pid);
    rpp_payload_free(read);
    check_damaged(file, file_length, at % file_length, change ? change : 1);
    free(file);
    free(profile);
    rpp_free(head);
    rpp_pairs_destroy(&labels);
}

/* --- names
 * ---------------------------------------------------------------------------------------------------------- */

static rpp_spool_name any_name(fuzz_input *input)
{
    rpp_spool_name name = {
        .time_ns = fuzz_number(input), .destination = fuzz_number(input), .writer = fuzz_number(input)};
    name.sequence = fuzz_number(input);
    name.bytes = fuzz_number(input);
    name.state = (rpp_spool_state)(fuzz_byte(input) % 3);
    return name;
}

static void try_names(fuzz_input *input)
{
    char text[RPP_SPOOL_NAME_MAX], again[RPP_SPOOL_NAME_MAX];
    rpp_spool_name a = any_name(input), b = any_name(input), read;
    FUZZ_CHECK(rpp_spool_name_parse(rpp_spool_name_text(&a, text), &read) && rpp_spool_name_compare(&a, &read) == 0);
    int order = rpp_spool_name_compare(&a, &b), turned = rpp_spool_name_compare(&b, &a);
    FUZZ_CHECK((order < 0) == (turned > 0) && (order == 0) == (turned == 0));
    FUZZ_CHECK((order == 0) == !strcmp(text, rpp_spool_name_text(&b, again)));
    FUZZ_CHECK(a.time_ns == b.time_ns || (order < 0) == (strcmp(text, again) < 0));

    char *any = fuzz_text(input, 150);
    if (rpp_spool_name_parse(any, &read))
        FUZZ_CHECK(!strcmp(rpp_spool_name_text(&read, text), any) && !strchr(any, '/'));
    free(any);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    unsigned what = fuzz_byte(&input) % 3;
    if (what == 0) try_bytes(input.at, input.left);
    if (what == 1) try_round_trip(&input);
    if (what == 2) try_names(&input);
    return 0;
}
