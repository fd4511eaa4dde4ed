/* pprof_sample.h - one row as the bytes of a pprof Sample message.
 *
 * By hand and not through nanopb: of a large window nearly all bytes are location ids, and each would be written three
 * times over, by function calls.
 *
 * Threads    one at a time.
 */
#ifndef RPP_PPROF_SAMPLE_H
#define RPP_PPROF_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "pprof_index.h"

/* The most bytes that a sample of these rows can take. */
size_t rpp_pprof_sample_max_bytes(const rpp_pprof_index *index);
/* Writes the message without tag and length; returns its length. */
size_t rpp_pprof_sample_write(const rpp_pprof_index *index, const rpp_pprof_options *options, const rpp_row *row,
                              uint8_t *bytes);

#endif
