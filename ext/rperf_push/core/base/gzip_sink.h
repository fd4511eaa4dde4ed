/* gzip_sink.h - a sink that compresses its bytes into another sink, as one gzip member.
 *
 * Threads    one at a time.
 * Ownership  the caller owns the target, which must outlive the sink.
 */
#ifndef RPP_GZIP_SINK_H
#define RPP_GZIP_SINK_H

#include "base/byte_sink.h"

typedef struct rpp_gzip_sink rpp_gzip_sink;

/* Level 1..9. NULL if out of memory. */
rpp_gzip_sink *rpp_gzip_sink_new(rpp_byte_sink *target, int level);
rpp_byte_sink *rpp_gzip_sink_as_sink(rpp_gzip_sink *gzip);
/* Writes the remaining bytes and the trailer. Do not write to the sink afterwards. */
RPP_NODISCARD rpp_status rpp_gzip_sink_finish(rpp_gzip_sink *gzip);
/* Uncompressed bytes so far. */
uint64_t rpp_gzip_sink_raw_bytes(const rpp_gzip_sink *gzip);
/* May be called without finish; the output is then incomplete. */
void rpp_gzip_sink_free(rpp_gzip_sink *gzip);

#endif
