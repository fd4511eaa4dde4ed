/* pyroscope_body.h - encodes Pyroscope's PushRequest: one series with one profile (proto/push.proto).
 *
 * It is written by hand: four messages of two fields each need less code than callbacks for a generated writer, which
 * would also run each callback twice.
 *
 * Threads    any thread; the function is pure.
 * Ownership  the caller frees the bytes with rpp_free.
 */
#ifndef RPP_PYROSCOPE_BODY_H
#define RPP_PYROSCOPE_BODY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "settings/settings.h"

/* The only failure is RPP_NO_MEMORY. */
RPP_NODISCARD rpp_status rpp_pyroscope_body_encode(const rpp_pairs *labels, const uint8_t *profile,
                                                   size_t profile_length, uint8_t **bytes, size_t *length);

#endif
