/* pprof_labels.h - the labels of samples, through the label policy, as places in the string table of one pprof.
 *
 * Each key occurs once in a sample: thread_seq and the VM's state come first and their names are nobody else's; of two
 * keys that became one name the first in the set's order holds. The policy sees all label sets of the profile, also when
 * only some rows are encoded, so that every part of a split window decides alike.
 *
 * Threads    one at a time.
 */
#ifndef RPP_PPROF_LABELS_H
#define RPP_PPROF_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "label_sets.h"
#include "sample_buffer.h"
#include "settings.h"
#include "status.h"
#include "string_table.h"

typedef struct rpp_pprof_label {
    uint32_t key, text; /* places in the string table; key 0: no label */
} rpp_pprof_label;

/* All zero is empty and may be destroyed. */
typedef struct rpp_pprof_labels {
    uint32_t thread_key;                       /* of the numeric label thread_seq */
    rpp_pprof_label of_state[RPP_STATE_COUNT]; /* rpp_state -> %GVL or %GC; none while running */
    rpp_pprof_label *items;                    /* of all sets, one after the other */
    size_t count, capacity;
    uint32_t *starts; /* set -> its first item; the next set's start is its end */
    bool *cut;        /* set -> whether some of its labels had to be left out */
    size_t longest;   /* labels of the largest set */
} rpp_pprof_labels;

/* `used[id]`: whether the set is referred to; of others no text is taken up. Partly filled on failure: destroy it. */
RPP_NODISCARD rpp_status rpp_pprof_labels_init(rpp_pprof_labels *labels, const rpp_label_sets *sets, const bool *used,
                                               const rpp_settings *settings, bool legal_names,
                                               rpp_string_table *strings);
void rpp_pprof_labels_destroy(rpp_pprof_labels *labels);

#endif
