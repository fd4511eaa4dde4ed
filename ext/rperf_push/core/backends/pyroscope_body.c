/* pyroscope_body.c - encodes Pyroscope's PushRequest: one series with one profile. */
#include "backends/pyroscope_body.h"

#include <string.h>

#include "base/alloc.h"

/* All fields have number 1 or 2, and a length before their bytes: one byte of tag, then a varint. */
#define TAG(field) ((uint8_t)((field) << 3 | 2))

static size_t varint_size(size_t value)
{
    size_t size = 1;
    while (value >>= 7) size++;
    return size;
}

static size_t field_size(size_t length)
{
    return 1 + varint_size(length) + length;
}

static uint8_t *put_field_head(uint8_t *out, unsigned field, size_t length)
{
    *out++ = TAG(field);
    for (; length >= 0x80; length >>= 7) *out++ = (uint8_t)(length | 0x80);
    *out++ = (uint8_t)length;
    return out;
}

static uint8_t *put_field(uint8_t *out, unsigned field, const void *bytes, size_t length)
{
    out = put_field_head(out, field, length);
    if (length) memcpy(out, bytes, length);
    return out + length;
}

static size_t pair_size(const rpp_pair *label)
{
    return field_size(strlen(label->key)) + field_size(strlen(label->value));
}

rpp_status rpp_pyroscope_body_encode(const rpp_pairs *labels, const uint8_t *profile, size_t profile_length,
                                     uint8_t **bytes, size_t *length)
{
    size_t sample = field_size(profile_length), series = field_size(sample);
    for (size_t i = 0; i < labels->count; i++) series += field_size(pair_size(&labels->items[i]));

    uint8_t *request = rpp_malloc(field_size(series));
    if (!request) return RPP_NO_MEMORY;
    uint8_t *out = put_field_head(request, 1, series); /* PushRequest.series */
    for (size_t i = 0; i < labels->count; i++) {
        const rpp_pair *label = &labels->items[i];
        out = put_field_head(out, 1, pair_size(label)); /* RawProfileSeries.labels */
        out = put_field(out, 1, label->key, strlen(label->key));
        out = put_field(out, 2, label->value, strlen(label->value));
    }
    out = put_field_head(out, 2, sample); /* RawProfileSeries.samples */
    out = put_field(out, 1, profile, profile_length);
    *bytes = request;
    *length = (size_t)(out - request);
    return RPP_OK;
}
