/* gzip_sink.h - a sink that compresses what it is given, as one gzip member, into another sink.
 *
 * Threads    one at a time.
 * Ownership  the target stays the caller's and must outlive the sink.
 */
#ifndef RPP_GZIP_SINK_H
#define RPP_GZIP_SINK_H

#include "byte_sink.h"

typedef struct rpp_gzip_sink rpp_gzip_sink;

/* Level 1..9. NULL when out of memory. */
rpp_gzip_sink *rpp_gzip_sink_new(rpp_byte_sink *target, int level);
rpp_byte_sink *rpp_gzip_sink_as_sink(rpp_gzip_sink *gzip);
/* Writes what is left and the trailer. Nothing may be written afterwards. */
RPP_NODISCARD rpp_status rpp_gzip_sink_finish(rpp_gzip_sink *gzip);
/* Bytes taken in so far. */
uint64_t rpp_gzip_sink_raw_bytes(const rpp_gzip_sink *gzip);
/* Also without finish: what was compressed is then cut. */
void rpp_gzip_sink_free(rpp_gzip_sink *gzip);

#endif
