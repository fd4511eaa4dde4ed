/* encoder.h - the interface of an encoder: a function that writes a closed profile as bytes of one format.
 *
 * Each format is one file. A backend says which one its payloads have (backends/backend.h).
 *
 * Threads    one at a time; an encoder only reads the profile and the frame names.
 * Ownership  all pointers are borrowed.
 */
#ifndef RPP_ENCODER_H
#define RPP_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/byte_sink.h"
#include "encoding/label_policy.h"
#include "profile/profile.h"
#include "sampling/frame_names.h"

#define RPP_ENCODE_MAX_VALUES 64 /* the same limit as for reading (pprof_decoder.h) */

/* Values that replace those of the rows. */
typedef struct rpp_encode_values {
    size_t count; /* sample types, at most RPP_ENCODE_MAX_VALUES; the first is the default one */
    const char *types[RPP_ENCODE_MAX_VALUES], *units[RPP_ENCODE_MAX_VALUES];
    const int64_t *numbers; /* `count` for each row of the profile */
} rpp_encode_values;

/* A text that is not empty, or a number if `text` is NULL. */
typedef struct rpp_encode_label {
    const char *key, *text, *unit; /* the unit of the number; may be NULL */
    size_t key_length, text_length, unit_length;
    int64_t number;
} rpp_encode_label;

/* Labels that replace the labels and states of rows. They are written unchanged, without policy and limits. */
typedef struct rpp_encode_labels {
    const rpp_encode_label *items; /* of all sets, one set after the other */
    const uint32_t *starts;        /* set -> its first item; the next set's start is its end */
    size_t set_count;
    const uint32_t *sets; /* row of the profile -> its set */
} rpp_encode_labels;

typedef struct rpp_encode_options {
    unsigned mode;                   /* RPP_MODE_* bits: which sample types */
    const rpp_encode_values *values; /* NULL: the values of `mode` */
    uint64_t period_ns;              /* the nominal sampling period */
    bool vm_state_frames;            /* [GVL wait] and so on as leaf frames */
    const char *const *comments;     /* NULL-terminated, may be NULL */
    const char *doc_url;             /* may be NULL */
    const rpp_encode_labels *labels; /* NULL: those of the rows */
    const rpp_settings *settings;    /* for the label policy of the rows' labels */
    bool legal_label_names;
    rpp_label_policy *policy; /* shared by all profiles of the process; NULL: a policy for this profile alone */
    const rpp_row *rows;      /* the rows of the profile in another order; NULL: in their own */
    bool no_labels;           /* samples have none, because the series has them */
} rpp_encode_options;

/* Sums of the written samples, which a reader must find. */
typedef struct rpp_encode_totals {
    RPP_VALUES(values); /* for the values of the mode; the others are 0 */
    uint64_t samples;
    uint64_t labels_cut; /* samples that lost labels, because a series has a limited number of names */
} rpp_encode_totals;

/* Encodes rows [first, first + count) with the profile's time plus time_offset_ns. Rows whose values are all zero
 * are left out. `totals` may be NULL. RPP_LIMIT comes from the sink. */
typedef rpp_status rpp_encode(const rpp_profile *profile, size_t first, size_t count, const rpp_frame_names *names,
                              const rpp_encode_options *options, uint64_t time_offset_ns, rpp_byte_sink *sink,
                              rpp_encode_totals *totals);

#endif
