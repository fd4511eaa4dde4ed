/* window_series.h - divides a window's rows into series, for a backend that drops the labels of samples.
 *
 * A series is one set of labels as they are sent, including the state's label. Series 0 has no labels. It also receives
 * the rows of sets that have no room: a request has a limited number of series, and the sets with the most time, or the
 * most of what the profile counts instead, keep theirs.
 *
 * Threads    one at a time.
 * Ownership  the profile must outlive it. A struct of all zeros is empty and may be destroyed.
 */
#ifndef RPP_WINDOW_SERIES_H
#define RPP_WINDOW_SERIES_H

#include "encoding/pprof_encoder.h"
#include "encoding/pprof_labels.h"

typedef struct rpp_window_series {
    /* The profile's rows by series: series with the most first, series 0 last; each keeps its order. Rows without a
     * shown value are left out. */
    rpp_row *rows;
    size_t row_count;
    uint64_t unlabelled; /* rows in series 0 that lost their labels */
    uint64_t labels_cut; /* rows that lost some of their labels */
    /* private */
    rpp_string_table *strings;
    rpp_pprof_labels labels;
    uint32_t *of; /* label set and state -> text set, or not known yet */
    rpp_pprof_label *items;
    size_t item_count, item_capacity;
    struct rpp_text_set *sets; /* 0 is the empty one */
    size_t set_count, set_capacity;
    rpp_hash_index by_items;
} rpp_window_series;

/* Uses the options' settings, policy and mode. `taken`: names that every series already has. Destroy it even on
 * failure. */
RPP_NODISCARD rpp_status rpp_window_series_init(rpp_window_series *series, const rpp_profile *profile,
                                                const rpp_encode_options *options, const rpp_pairs *taken,
                                                uint32_t max_series);
void rpp_window_series_destroy(rpp_window_series *series);

/* The series of a row among `rows`. */
uint32_t rpp_window_series_of(const rpp_window_series *series, const rpp_row *row);
/* The labels of a series. Destroy them, even on failure. */
RPP_NODISCARD rpp_status rpp_window_series_labels(const rpp_window_series *series, uint32_t id, rpp_pairs *labels);

#endif
