/* pprof_encoder.h - a sealed profile as the bytes of a pprof (perftools.profiles.Profile), not yet compressed.
 *
 * The only user of nanopb. What servers and `go tool pprof` ask of a profile is kept here: string 0 empty, ids 1..N in order
 * of use, one mapping that every location refers to, system_name empty, period_type and default_sample_type set, all strings
 * valid UTF-8, one value per label key, thread_seq as a numeric label, hidden frames left out, synthetic leaf frames on wish.
 *
 * Threads    one at a time; reads the profile and the frame names only.
 */
#ifndef RPP_PPROF_ENCODER_H
#define RPP_PPROF_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byte_sink.h"
#include "frame_names.h"
#include "label_policy.h"
#include "profile.h"

typedef struct rpp_pprof_options {
    unsigned mode;                /* RPP_MODE_* bits: which sample types, cpu first */
    uint64_t period_ns;           /* the nominal sampling period */
    bool vm_state_frames;         /* [GVL wait] and so on as leaf frames */
    const char *const *comments;  /* NULL-terminated, may be NULL */
    const char *doc_url;          /* may be NULL */
    const rpp_settings *settings; /* for the label policy */
    bool legal_label_names;
} rpp_pprof_options;

/* Sums of what was written: what a reader must find. */
typedef struct rpp_pprof_totals {
    uint64_t samples, cpu_ns, wall_ns;
    uint64_t labels_cut; /* samples that miss some of their labels, as a series may have 30 names */
} rpp_pprof_totals;

/* Encodes rows [first, first + count) with the profile's time plus time_offset_ns. Rows whose values are all zero in `mode`
 * are left out. `totals` may be NULL. RPP_LIMIT comes from the sink. */
RPP_NODISCARD rpp_status rpp_pprof_encode(const rpp_profile *profile, size_t first, size_t count,
                                          const rpp_frame_names *names, const rpp_pprof_options *options,
                                          uint64_t time_offset_ns, rpp_byte_sink *sink, rpp_pprof_totals *totals);

#endif
