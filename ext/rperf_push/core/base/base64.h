/* base64.h - encodes bytes as base64 text.
 *
 * Threads    any thread; a sink has one user at a time.
 * Ownership  the caller keeps bytes and sink.
 */
#ifndef RPP_BASE64_H
#define RPP_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/byte_sink.h"

/* Writes padding and no line breaks. */
RPP_NODISCARD rpp_status rpp_base64_write(rpp_byte_sink *sink, const uint8_t *bytes, size_t length);

#endif
