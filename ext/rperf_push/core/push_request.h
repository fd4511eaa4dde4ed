/* push_request.h - Pyroscope's PushRequest, written by hand: one series with one profile (proto/push.proto).
 *
 * Four messages of two fields each are less code than callbacks for a generated writer, which would run each one twice.
 */
#ifndef RPP_PUSH_REQUEST_H
#define RPP_PUSH_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "settings.h"
#include "status.h"

/* RPP_NO_MEMORY only. The bytes are the caller's: rpp_free. */
RPP_NODISCARD rpp_status rpp_push_request_encode(const rpp_pairs *labels, const uint8_t *profile, size_t profile_length,
                                                 uint8_t **bytes, size_t *length);

#endif
