/* pprof_labels.h - applies the label policy to the labels of samples and puts them into the string table of one pprof.
 *
 * A key occurs once in a sample. thread_seq and the VM's state come first, and no other label may use their names. If
 * two keys become one name, the first in the set's order stays. The policy sees all label sets of the profile even if
 * only some rows are encoded, so that all parts of a split window agree. Labels of the caller's own are not subject to
 * any of this.
 *
 * Threads    one at a time.
 * Ownership  settings, policy and string table must outlive the labels.
 */
#ifndef RPP_PPROF_LABELS_H
#define RPP_PPROF_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "encoding/encoder.h"
#include "encoding/label_policy.h"
#include "encoding/string_table.h"
#include "sampling/label_sets.h"
#include "sampling/sample_buffer.h"
#include "settings/settings.h"

typedef struct rpp_pprof_label {
    uint32_t key, text; /* ids in the string table; key 0: no label */
} rpp_pprof_label;

typedef struct rpp_pprof_number {
    int64_t number;
    uint32_t unit; /* id in the string table; 0: none */
} rpp_pprof_number;

/* A struct of all zeros is empty, writes no labels and may be destroyed. */
typedef struct rpp_pprof_labels {
    uint32_t thread_key;                       /* of the numeric label thread_seq */
    rpp_pprof_label of_state[RPP_STATE_COUNT]; /* rpp_state -> %GVL or %GC; none while running */
    rpp_pprof_label *items;                    /* the labels of all sets, one set after the other */
    size_t count, capacity;
    rpp_pprof_number *numbers; /* item -> the value of one whose text is 0; NULL: all are texts */
    uint32_t *starts;          /* set -> its first item; the next set's start is its end */
    bool *cut;                 /* set -> true if some of its labels were left out; NULL: of none */
    size_t longest;            /* labels of the largest set */
} rpp_pprof_labels;

/* With a NULL policy it creates its own. `used[id]`: the set is used; texts of other sets are not added. Destroy it
 * even on failure. */
RPP_NODISCARD rpp_status rpp_pprof_labels_init(rpp_pprof_labels *labels, const rpp_label_sets *sets, const bool *used,
                                               const rpp_settings *settings, bool legal_names, rpp_label_policy *policy,
                                               rpp_string_table *strings);
/* The same with labels of the caller's own; states have none. */
RPP_NODISCARD rpp_status rpp_pprof_labels_init_own(rpp_pprof_labels *labels, const rpp_encode_labels *own,
                                                   const bool *used, rpp_string_table *strings);
void rpp_pprof_labels_destroy(rpp_pprof_labels *labels);

#endif
