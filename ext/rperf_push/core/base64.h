/* base64.h - bytes as text.
 *
 * Threads    any.
 */
#ifndef RPP_BASE64_H
#define RPP_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "byte_sink.h"

/* With padding, without line breaks. */
RPP_NODISCARD rpp_status rpp_base64_write(rpp_byte_sink *sink, const uint8_t *bytes, size_t length);

#endif
