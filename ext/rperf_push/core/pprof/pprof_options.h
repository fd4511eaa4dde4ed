/* pprof_options.h - how a profile is encoded.
 *
 * Threads    one at a time.
 * Ownership  all pointers are borrowed.
 */
#ifndef RPP_PPROF_OPTIONS_H
#define RPP_PPROF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pprof/label_policy.h"
#include "profile/row.h"

#define RPP_PPROF_MAX_VALUES 64 /* the same limit as for reading (pprof_decoder.h) */

/* Values that replace those of the rows. */
typedef struct rpp_pprof_values {
    size_t count; /* sample types, at most RPP_PPROF_MAX_VALUES; the first is the default one */
    const char *types[RPP_PPROF_MAX_VALUES], *units[RPP_PPROF_MAX_VALUES];
    const int64_t *numbers; /* `count` for each row of the profile */
} rpp_pprof_values;

/* A text that is not empty, or a number if `text` is NULL. */
typedef struct rpp_pprof_own_label {
    const char *key, *text, *unit; /* the unit of the number; may be NULL */
    size_t key_length, text_length, unit_length;
    int64_t number;
} rpp_pprof_own_label;

/* Labels that replace the labels and states of rows. They are written unchanged, without policy and limits. */
typedef struct rpp_pprof_own_labels {
    const rpp_pprof_own_label *items; /* of all sets, one set after the other */
    const uint32_t *starts;           /* set -> its first item; the next set's start is its end */
    size_t set_count;
    const uint32_t *sets; /* row of the profile -> its set */
} rpp_pprof_own_labels;

typedef struct rpp_pprof_options {
    unsigned mode;                      /* RPP_MODE_* bits: which sample types */
    const rpp_pprof_values *values;     /* NULL: the values of `mode` */
    uint64_t period_ns;                 /* the nominal sampling period */
    bool vm_state_frames;               /* [GVL wait] and so on as leaf frames */
    const char *const *comments;        /* NULL-terminated, may be NULL */
    const char *doc_url;                /* may be NULL */
    const rpp_pprof_own_labels *labels; /* NULL: those of the rows */
    const rpp_settings *settings;       /* for the label policy of the rows' labels */
    bool legal_label_names;
    rpp_label_policy *policy; /* shared by all profiles of the process; NULL: a policy for this profile alone */
    const rpp_row *rows;      /* the rows of the profile in another order; NULL: in their own */
    bool no_labels;           /* samples have none, because the series has them */
} rpp_pprof_options;

#endif
