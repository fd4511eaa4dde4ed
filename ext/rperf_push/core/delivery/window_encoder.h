/* window_encoder.h - encodes a window as the bytes of a file: pprof, with all labels under their own names.
 *
 * Threads    one at a time.
 * Ownership  the encoder borrows the profile and the names during a call; the caller owns the buffer.
 */
#ifndef RPP_WINDOW_ENCODER_H
#define RPP_WINDOW_ENCODER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte_sink.h"
#include "base/status.h"
#include "profile/profile.h"
#include "sampling/frame_names.h"

typedef struct rpp_window_encoder rpp_window_encoder;

/* `mode` consists of RPP_MODE_* bits, perhaps with RPP_MODE_PRECISION for readers that know its columns; with `gzip`
 * the bytes are compressed. NULL if out of memory. */
rpp_window_encoder *rpp_window_encoder_new(unsigned mode, uint32_t frequency, bool gzip);
void rpp_window_encoder_free(rpp_window_encoder *encoder);
/* Writes to the buffer. Sets *samples to the number of samples. */
RPP_NODISCARD rpp_status rpp_window_encoder_encode(const rpp_window_encoder *encoder, const rpp_profile *profile,
                                                   const rpp_frame_names *names, rpp_byte_buffer *into,
                                                   uint64_t *samples);

#endif
