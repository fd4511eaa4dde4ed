/* spool_file.c - the name and the content of a spool file. */
#include "spool/spool_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "backends/label_bytes.h"
#include "base/alloc.h"

#define VERSION      1u
#define CHECKSUM_AT  16u
#define CHECKED_FROM 20u
#define LABELS_AT    96u
#define LABELS_MAX   (1u << 20)
#define BEGUN_MAX    0xffffu
#define ALONE_MAX    0x3fu
#define CLOSED_MAX   3u

static const char magic[8] = {'R', 'P', 'P', 'S', 'P', 'O', 'O', 'L'};
static const char *const states[] = {"ready", "sending", "writing"};

/* --- names
 * ---------------------------------------------------------------------------------------------------------- */

const char *rpp_spool_name_text(const rpp_spool_name *name, char text[RPP_SPOOL_NAME_MAX])
{
    snprintf(text, RPP_SPOOL_NAME_MAX, "%016" PRIx64 "-%016" PRIx64 "-%016" PRIx64 "-%" PRIx64 "-%" PRIx64 ".%s",
             name->time_ns, name->destination, name->writer, name->sequence, name->bytes, states[name->state]);
    return text;
}

static bool parse_state(const char *text, rpp_spool_state *state)
{
    const char *dot = strrchr(text, '.');
    for (unsigned i = 0; dot && i < sizeof states / sizeof *states; i++) {
        if (strcmp(dot + 1, states[i]) == 0) {
            *state = (rpp_spool_state)i;
            return true;
        }
    }
    return false;
}

/* A text that we would write differently is refused, so each name has exactly one text. */
bool rpp_spool_name_parse(const char *text, rpp_spool_name *name)
{
    char again[RPP_SPOOL_NAME_MAX];
    rpp_spool_name read = {0};
    if (strlen(text) >= sizeof again || !parse_state(text, &read.state)) return false;
    if (sscanf(text, "%16" SCNx64 "-%16" SCNx64 "-%16" SCNx64 "-%16" SCNx64 "-%16" SCNx64, &read.time_ns,
               &read.destination, &read.writer, &read.sequence, &read.bytes) != 5)
        return false;
    if (strcmp(text, rpp_spool_name_text(&read, again)) != 0) return false;
    *name = read;
    return true;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int rpp_spool_name_compare(const rpp_spool_name *a, const rpp_spool_name *b)
{
    int order = compare(a->time_ns, b->time_ns);
    if (!order) order = compare(a->writer, b->writer);
    if (!order) order = compare(a->sequence, b->sequence);
    if (!order) order = compare(a->destination, b->destination);
    if (!order) order = compare(a->bytes, b->bytes);
    return order ? order : (int)a->state - (int)b->state;
}

/* --- numbers
 * -------------------------------------------------------------------------------------------------------- */

static void put64(uint8_t *at, uint64_t number)
{
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t get64(const uint8_t *at)
{
    return rpp_get32(at) | (uint64_t)rpp_get32(at + 4) << 32;
}

static uint32_t checksum(uint32_t begun, const uint8_t *bytes, size_t length)
{
    return (uint32_t)crc32_z(begun, bytes, length);
}

/* --- writing
 * -------------------------------------------------------------------------------------------------------- */

rpp_status rpp_spool_file_head(const rpp_payload *payload, const rpp_pairs *labels, long pid, uint8_t **head,
                               size_t *length)
{
    size_t labelled = rpp_label_bytes_length(labels);
    if (labelled > LABELS_MAX || payload->length > RPP_SPOOL_FILE_MAX - LABELS_AT - labelled) return RPP_LIMIT;
    uint8_t *bytes = rpp_malloc(LABELS_AT + labelled);
    if (!bytes) return RPP_NO_MEMORY;
    const uint64_t numbers[] = {payload->length,   payload->time_ns, payload->duration_ns, payload->raw_length,
                                payload->sequence, payload->samples, payload->group,       0,
                                (uint64_t)pid};
    memcpy(bytes, magic, sizeof magic);
    rpp_put32(bytes + 8, VERSION);
    rpp_spool_file_put_tries(payload->tries, bytes + RPP_SPOOL_TRIES_OFFSET);
    rpp_put32(bytes + CHECKED_FROM, (uint32_t)labelled);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put64(bytes + 24 + 8 * i, numbers[i]);
    rpp_label_bytes_put(bytes + LABELS_AT, labels);
    uint32_t sum = checksum(0, bytes + CHECKED_FROM, LABELS_AT + labelled - CHECKED_FROM);
    rpp_put32(bytes + CHECKSUM_AT, checksum(sum, payload->bytes, payload->length));
    *head = bytes;
    *length = LABELS_AT + labelled;
    return RPP_OK;
}

void rpp_spool_file_put_tries(rpp_tries tries, uint8_t bytes[RPP_SPOOL_TRIES_BYTES])
{
    uint32_t begun = tries.begun < BEGUN_MAX ? tries.begun : BEGUN_MAX;
    uint32_t server_errors = tries.server_errors < UINT8_MAX ? tries.server_errors : UINT8_MAX;
    uint32_t alone = tries.alone < ALONE_MAX ? tries.alone : ALONE_MAX;
    uint32_t closed = tries.closed < CLOSED_MAX ? tries.closed : CLOSED_MAX;
    rpp_put32(bytes, begun | alone << 16 | closed << 22 | server_errors << 24);
}

/* --- reading
 * -------------------------------------------------------------------------------------------------------- */

static bool is_whole(const uint8_t *bytes, size_t length)
{
    if (length < LABELS_AT || memcmp(bytes, magic, sizeof magic) != 0 || rpp_get32(bytes + 8) != VERSION) return false;
    size_t labelled = rpp_get32(bytes + CHECKED_FROM), rest = length - LABELS_AT;
    if (labelled > rest || get64(bytes + 24) != rest - labelled || rest == labelled) return false;
    return checksum(0, bytes + CHECKED_FROM, length - CHECKED_FROM) == rpp_get32(bytes + CHECKSUM_AT);
}

rpp_status rpp_spool_file_read(uint8_t *bytes, size_t length, rpp_payload **payload)
{
    if (!is_whole(bytes, length)) {
        rpp_free(bytes);
        return RPP_INVALID;
    }
    size_t labelled = rpp_get32(bytes + CHECKED_FROM), profile = length - LABELS_AT - labelled;
    rpp_payload *read = rpp_payload_new(bytes, profile); /* frees the bytes if it fails */
    if (!read) return RPP_NO_MEMORY;
    rpp_status status = rpp_label_bytes_read(bytes + LABELS_AT, labelled, &read->labels);
    if (status == RPP_OK && !read->labels.count) status = RPP_INVALID;
    if (status == RPP_OK && get64(bytes + 72) >= RPP_GROUP_COUNT) status = RPP_INVALID;
    if (status != RPP_OK) {
        rpp_payload_free(read);
        return status;
    }
    read->tries = (rpp_tries){.begun = rpp_get32(bytes + RPP_SPOOL_TRIES_OFFSET) & BEGUN_MAX,
                              .alone = bytes[RPP_SPOOL_TRIES_OFFSET + 2] & ALONE_MAX,
                              .closed = bytes[RPP_SPOOL_TRIES_OFFSET + 2] >> 6,
                              .server_errors = bytes[RPP_SPOOL_TRIES_OFFSET + 3]};
    read->time_ns = get64(bytes + 32);
    read->duration_ns = get64(bytes + 40);
    read->raw_length = (size_t)get64(bytes + 48);
    read->sequence = get64(bytes + 56);
    read->samples = get64(bytes + 64);
    read->group = (rpp_value_group)get64(bytes + 72);
    read->pid = (long)get64(bytes + 88);
    memmove(bytes, bytes + LABELS_AT + labelled, profile);
    *payload = read;
    return RPP_OK;
}
