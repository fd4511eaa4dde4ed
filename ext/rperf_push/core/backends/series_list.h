/* series_list.h - the profiles of a request with several series, as the bytes of one payload.
 *
 *   "RPPSERIE", then for each series: the length of its labels, the length of its profile (4 bytes each,
 *   little-endian), its labels (label_bytes.h), its profile, a gzip pprof
 *
 * The labels are in addition to the payload's own. Queue, retries and spool handle only payloads, and the series of one
 * request stay together.
 *
 * Threads    one at a time.
 * Ownership  the caller owns the list; a reader points into its bytes.
 */
#ifndef RPP_SERIES_LIST_H
#define RPP_SERIES_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/byte_sink.h"
#include "base/status.h"
#include "settings/pairs.h"

/* --- writing --- */

/* Begins a series; the first call also begins the list. The bytes written to the list until `end` are its profile.
 * RPP_LIMIT: the list has no room for it. */
RPP_NODISCARD rpp_status rpp_series_list_begin(rpp_byte_buffer *list, const rpp_pairs *labels, size_t *series);
/* Ends the series that begin returned. */
void rpp_series_list_end(rpp_byte_buffer *list, size_t series);

/* --- reading --- */

typedef struct rpp_series {
    rpp_pairs labels;
    const uint8_t *profile; /* in the list */
    size_t length;
} rpp_series;

typedef struct rpp_series_reader {
    const uint8_t *at;
    size_t left; /* 0: no more series */
    bool plain;  /* the bytes are a profile, not a list */
} rpp_series_reader;

/* Reads any payload's bytes: a plain profile reads as one series without labels. */
rpp_series_reader rpp_series_list_read(const uint8_t *bytes, size_t length);
/* Reads the next series. Destroy its labels, even on failure. RPP_INVALID: the list is damaged. */
RPP_NODISCARD rpp_status rpp_series_reader_next(rpp_series_reader *reader, rpp_series *series);

#endif
