/* byte_sink.h - the interface through which encoder and compressor write bytes, and a growing buffer with a size limit.
 *
 * Threads    one at a time.
 * Ownership  the caller owns the sink; write copies the bytes. A buffer owns its bytes until take.
 */
#ifndef RPP_BYTE_SINK_H
#define RPP_BYTE_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct rpp_byte_sink {
    rpp_status (*write)(struct rpp_byte_sink *sink, const void *bytes, size_t length);
} rpp_byte_sink;

RPP_NODISCARD rpp_status rpp_byte_sink_write(rpp_byte_sink *sink, const void *bytes, size_t length);

/* Collects bytes in memory. A write beyond max_bytes returns RPP_LIMIT. */
typedef struct rpp_byte_buffer {
    rpp_byte_sink sink; /* first: a buffer is a sink */
    uint8_t *bytes;
    size_t length, capacity, max_bytes;
} rpp_byte_buffer;

void rpp_byte_buffer_init(rpp_byte_buffer *buffer, size_t max_bytes);
void rpp_byte_buffer_destroy(rpp_byte_buffer *buffer);
/* Returns the bytes, which the caller frees with rpp_free, and empties the buffer. NULL if it is empty. */
uint8_t *rpp_byte_buffer_take(rpp_byte_buffer *buffer, size_t *length);

#endif
