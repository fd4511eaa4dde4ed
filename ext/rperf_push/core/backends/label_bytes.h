/* label_bytes.h - labels as bytes, for storage with a profile. Each label is the lengths of name and value (4 bytes
 * each, little-endian), then the name, then the value.
 *
 * Threads    any thread; the functions are pure.
 * Ownership  the caller keeps bytes and labels.
 */
#ifndef RPP_LABEL_BYTES_H
#define RPP_LABEL_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "settings/pairs.h"

size_t rpp_label_bytes_length(const rpp_pairs *labels);
/* Returns the end of the written bytes. */
uint8_t *rpp_label_bytes_put(uint8_t *at, const rpp_pairs *labels);
/* Adds to the labels. RPP_INVALID: the bytes are not labels that we wrote; some may have been added. */
RPP_NODISCARD rpp_status rpp_label_bytes_read(const uint8_t *at, size_t length, rpp_pairs *labels);

void rpp_put32(uint8_t *at, uint32_t number);
uint32_t rpp_get32(const uint8_t *at);

#endif
