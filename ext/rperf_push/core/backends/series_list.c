/* series_list.c - the profiles of a request with several series, as the bytes of one payload. */
#include "backends/series_list.h"

#include <string.h>

#include "backends/label_bytes.h"
#include "base/alloc.h"

#define HEAD_BYTES 8u

static const char magic[8] = {'R', 'P', 'P', 'S', 'E', 'R', 'I', 'E'};

/* --- writing
 * -------------------------------------------------------------------------------------------------------- */

rpp_status rpp_series_list_begin(rpp_byte_buffer *list, const rpp_pairs *labels, size_t *series)
{
    size_t labelled = rpp_label_bytes_length(labels), started = list->length;
    uint8_t *head = rpp_malloc(HEAD_BYTES + labelled);
    if (!head) return RPP_NO_MEMORY;
    rpp_put32(head, (uint32_t)labelled);
    rpp_put32(head + 4, 0);
    rpp_label_bytes_put(head + HEAD_BYTES, labels);

    rpp_status status = started ? RPP_OK : rpp_byte_sink_write(&list->sink, magic, sizeof magic);
    *series = list->length;
    if (status == RPP_OK) status = rpp_byte_sink_write(&list->sink, head, HEAD_BYTES + labelled);
    if (status != RPP_OK) list->length = started;
    rpp_free(head);
    return status;
}

void rpp_series_list_end(rpp_byte_buffer *list, size_t series)
{
    size_t labelled = rpp_get32(list->bytes + series);
    rpp_put32(list->bytes + series + 4, (uint32_t)(list->length - series - HEAD_BYTES - labelled));
}

/* --- reading
 * -------------------------------------------------------------------------------------------------------- */

/* A gzip begins with other bytes. */
static bool is_list(const uint8_t *bytes, size_t length)
{
    return length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

rpp_series_reader rpp_series_list_read(const uint8_t *bytes, size_t length)
{
    if (!is_list(bytes, length)) return (rpp_series_reader){bytes, length, true};
    return (rpp_series_reader){bytes + sizeof magic, length - sizeof magic, false};
}

static rpp_status read_one(rpp_series_reader *reader, rpp_series *series)
{
    if (reader->left < HEAD_BYTES) return RPP_INVALID;
    size_t labelled = rpp_get32(reader->at), profile = rpp_get32(reader->at + 4), left = reader->left - HEAD_BYTES;
    if (labelled > left || !profile || profile > left - labelled) return RPP_INVALID;
    const uint8_t *labels = reader->at + HEAD_BYTES;
    series->profile = labels + labelled;
    series->length = profile;
    reader->at = series->profile + profile;
    reader->left = left - labelled - profile;
    return rpp_label_bytes_read(labels, labelled, &series->labels);
}

rpp_status rpp_series_reader_next(rpp_series_reader *reader, rpp_series *series)
{
    *series = (rpp_series){0};
    if (!reader->plain) return read_one(reader, series);
    series->profile = reader->at;
    series->length = reader->left;
    reader->left = 0;
    return RPP_OK;
}
