/* byte_sink.h - where bytes go: the seam between encoder, compressor and memory; and a growing buffer with a ceiling.
 *
 * Threads    one at a time.
 */
#ifndef RPP_BYTE_SINK_H
#define RPP_BYTE_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

typedef struct rpp_byte_sink {
    rpp_status (*write)(struct rpp_byte_sink *sink, const void *bytes, size_t length);
} rpp_byte_sink;

RPP_NODISCARD rpp_status rpp_byte_sink_write(rpp_byte_sink *sink, const void *bytes, size_t length);

/* Collects bytes in memory; RPP_LIMIT past the ceiling it was born with. */
typedef struct rpp_byte_buffer {
    rpp_byte_sink sink; /* first: a buffer is a sink */
    uint8_t *bytes;
    size_t length, capacity, max_bytes;
} rpp_byte_buffer;

void rpp_byte_buffer_init(rpp_byte_buffer *buffer, size_t max_bytes);
void rpp_byte_buffer_destroy(rpp_byte_buffer *buffer);
/* Gives the bytes away (free with rpp_free) and empties the buffer. NULL when it is empty. */
uint8_t *rpp_byte_buffer_take(rpp_byte_buffer *buffer, size_t *length);

#endif
