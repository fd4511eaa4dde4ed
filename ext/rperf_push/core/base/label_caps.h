/* label_caps.h - the limits on labels, each with its reason. Labels beyond a limit are left out or cut, and counted.
 *
 * Threads    any thread: constants only.
 * Ownership  nothing to own.
 */
#ifndef RPP_LABEL_CAPS_H
#define RPP_LABEL_CAPS_H

#include <stdint.h>

/* Bytes of a label, as the program sets it. */
#define RPP_LABEL_KEY_MAX   200
#define RPP_LABEL_VALUE_MAX 200

/* Labels of one fiber: they are copied in a hook (labels_dropped). */
#define RPP_LABELS_OF_A_FIBER_MAX 64
/* Names of a series, including the labels of its samples. If one series has more, Pyroscope refuses the whole profile
 * (samples_labels_cut). */
#define RPP_NAMES_OF_A_SERIES_MAX 30
/* Keys that the process remembers. A program has few; if it generates keys, the table is emptied whenever it is
 * full. */
#define RPP_LABEL_KEYS_KNOWN_MAX  1024u

/* Label sets of one window whose request has not ended yet: nearly every request has its own
 * (samples_without_outcome). */
#define RPP_OUTCOME_SETS_MAX 4096

/* Names for which max_label_values does not hold: each request has its own value, and servers store these values with
 * the samples. */
#define RPP_VALUES_UNCAPPED UINT32_MAX
#define RPP_LABEL_VALUE_CAPS(X)                                                                                        \
    X("span_id", RPP_VALUES_UNCAPPED)                                                                                  \
    X("trace_id", RPP_VALUES_UNCAPPED)

/* For the texts of stats. */
#define RPP_CAP_TEXT_(cap)    #cap
#define RPP_CAP_TEXT(cap)     RPP_CAP_TEXT_(cap)
#define RPP_LABELS_CAP_TEXT   RPP_CAP_TEXT(RPP_LABELS_OF_A_FIBER_MAX)
#define RPP_NAMES_CAP_TEXT    RPP_CAP_TEXT(RPP_NAMES_OF_A_SERIES_MAX)
#define RPP_OUTCOMES_CAP_TEXT RPP_CAP_TEXT(RPP_OUTCOME_SETS_MAX)

#endif
