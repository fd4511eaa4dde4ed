/* pprof_encoder.h - encodes a closed profile as uncompressed pprof (perftools.profiles.Profile).
 *
 * It is the only user of nanopb. It meets the requirements of servers and of `go tool pprof`: string 0 is empty, ids
 * are 1..N in order of use, one mapping serves every location, system_name is empty, period_type and
 * default_sample_type are set, all strings are valid UTF-8, each label key has one value, thread_seq is a numeric
 * label, hidden frames are left out, and synthetic leaf frames are optional.
 *
 * Threads    one at a time; it only reads the profile and the frame names.
 * Ownership  the caller keeps everything.
 */
#ifndef RPP_PPROF_ENCODER_H
#define RPP_PPROF_ENCODER_H

#include "encoding/encoder.h"

RPP_NODISCARD rpp_encode rpp_pprof_encode;

#endif
