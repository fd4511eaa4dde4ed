/* byte_sink.c - a growing buffer with a size limit, as a sink. */
#include "base/byte_sink.h"

#include <string.h>

#include "base/alloc.h"

#define FIRST_CAPACITY 4096u

rpp_status rpp_byte_sink_write(rpp_byte_sink *sink, const void *bytes, size_t length)
{
    return length ? sink->write(sink, bytes, length) : RPP_OK;
}

static size_t next_capacity(const rpp_byte_buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    while (capacity < needed && capacity <= buffer->max_bytes / 2) capacity *= 2;
    return capacity < needed || capacity > buffer->max_bytes ? buffer->max_bytes : capacity;
}

static rpp_status make_room(rpp_byte_buffer *buffer, size_t length)
{
    if (length > buffer->max_bytes - buffer->length) return RPP_LIMIT;
    size_t needed = buffer->length + length;
    if (needed <= buffer->capacity) return RPP_OK;

    size_t capacity = next_capacity(buffer, needed);
    uint8_t *bytes = rpp_realloc(buffer->bytes, capacity);
    if (!bytes) return RPP_NO_MEMORY;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return RPP_OK;
}

static rpp_status buffer_write(rpp_byte_sink *sink, const void *bytes, size_t length)
{
    rpp_byte_buffer *buffer = (rpp_byte_buffer *)sink;
    rpp_status status = make_room(buffer, length);
    if (status != RPP_OK) return status;

    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return RPP_OK;
}

void rpp_byte_buffer_init(rpp_byte_buffer *buffer, size_t max_bytes)
{
    *buffer = (rpp_byte_buffer){.sink = {buffer_write}, .max_bytes = max_bytes};
}

void rpp_byte_buffer_destroy(rpp_byte_buffer *buffer)
{
    rpp_free(buffer->bytes);
    rpp_byte_buffer_init(buffer, buffer->max_bytes);
}

uint8_t *rpp_byte_buffer_take(rpp_byte_buffer *buffer, size_t *length)
{
    *length = buffer->length;
    if (!buffer->length) return NULL;

    /* The bytes may wait for a long time, so shrink the memory to their length. A failure to shrink does no harm. */
    uint8_t *bytes = buffer->bytes, *shrunk = rpp_realloc(bytes, buffer->length);
    rpp_byte_buffer_init(buffer, buffer->max_bytes);
    return shrunk ? shrunk : bytes;
}
