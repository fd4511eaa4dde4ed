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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/byte_sink.h"
#include "pprof/pprof_options.h"
#include "profile/profile.h"
#include "sampling/frame_names.h"

/* Sums of the written samples, which a reader must find. */
typedef struct rpp_pprof_totals {
    RPP_VALUES(values); /* for the values of the mode; the others are 0 */
    uint64_t samples;
    uint64_t labels_cut; /* samples that lost labels, because a series has a limited number of names */
} rpp_pprof_totals;

/* Encodes rows [first, first + count) with the profile's time plus time_offset_ns. Rows whose values are all zero
 * are left out. `totals` may be NULL. RPP_LIMIT comes from the sink. */
RPP_NODISCARD rpp_status rpp_pprof_encode(const rpp_profile *profile, size_t first, size_t count,
                                          const rpp_frame_names *names, const rpp_pprof_options *options,
                                          uint64_t time_offset_ns, rpp_byte_sink *sink, rpp_pprof_totals *totals);

#endif
