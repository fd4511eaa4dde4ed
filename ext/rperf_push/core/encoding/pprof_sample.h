/* pprof_sample.h - encodes one row as a pprof Sample message.
 *
 * It does not use nanopb: nearly all bytes of a large window are location ids, and nanopb would write each of them
 * three times, through function calls.
 *
 * Threads    one at a time.
 * Ownership  the caller keeps index and bytes.
 */
#ifndef RPP_PPROF_SAMPLE_H
#define RPP_PPROF_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "encoding/pprof_index.h"

/* The maximum number of bytes of a sample of these rows. */
size_t rpp_pprof_sample_max_bytes(const rpp_pprof_index *index);
/* Writes the message without tag and length; returns its length. */
size_t rpp_pprof_sample_write(const rpp_pprof_index *index, const rpp_encode_options *options, size_t row,
                              uint8_t *bytes);

#endif
