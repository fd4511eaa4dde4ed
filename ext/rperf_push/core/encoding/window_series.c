/* window_series.c - finds the text set of each row, numbers sets on first use, and sorts the rows by these numbers. */
#include "encoding/window_series.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "encoding/pprof_index.h"
#include "settings/pairs.h"

#define UNKNOWN   UINT32_MAX
#define MAX_ITEMS 65u /* of a label set, and the state */

typedef struct rpp_text_set {
    size_t first, count; /* of items */
    uint64_t weight, rows;
    size_t place;    /* among the series */
    bool unlabelled; /* there was no room: its rows are in series 0 */
} text_set;

static size_t place_of(const rpp_row *row)
{
    return (size_t)row->labels * RPP_STATE_COUNT + row->state;
}

uint32_t rpp_window_series_of(const rpp_window_series *series, const rpp_row *row)
{
    uint32_t id = series->of[place_of(row)];
    return series->sets[id].unlabelled ? 0 : id;
}

/* --- sets of texts
 * -------------------------------------------------------------------------------------------------- */

static const char *text_of(const rpp_window_series *series, uint32_t id, size_t *length)
{
    return rpp_string_table_get(series->strings, id, length);
}

/* Names that do not distinguish series: those that all series have, and those with a value for each request. */
static bool is_left_out(const rpp_window_series *series, const rpp_pairs *taken, uint32_t key)
{
    size_t length;
    const char *name = text_of(series, key, &length);
    if (rpp_label_is_of_one_request(name, length)) return true;
    for (size_t i = 0; i < taken->count; i++) {
        if (strcmp(taken->items[i].key, name) == 0) return true;
    }
    return false;
}

typedef struct item_list {
    rpp_pprof_label items[MAX_ITEMS];
    size_t count;
} item_list;

/* Sorted by key, because different label sets may become the same names and values. */
static void add_item(item_list *list, rpp_pprof_label item)
{
    size_t at = list->count++;
    for (; at && list->items[at - 1].key > item.key; at--) list->items[at] = list->items[at - 1];
    list->items[at] = item;
}

static void collect(const rpp_window_series *series, const rpp_pairs *taken, const rpp_row *row, item_list *list)
{
    const rpp_pprof_labels *labels = &series->labels;
    rpp_pprof_label state = labels->of_state[row->state];
    list->count = 0;
    if (state.key && !is_left_out(series, taken, state.key)) add_item(list, state);
    for (uint32_t i = labels->starts[row->labels]; i < labels->starts[row->labels + 1]; i++) {
        if (!is_left_out(series, taken, labels->items[i].key)) add_item(list, labels->items[i]);
    }
}

static bool is_set(const void *table, uint32_t id, const void *wanted)
{
    const rpp_window_series *series = table;
    const text_set *set = &series->sets[id];
    const item_list *list = wanted;
    if (set->count != list->count) return false;
    return !set->count || memcmp(&series->items[set->first], list->items, set->count * sizeof *list->items) == 0;
}

static rpp_status intern(rpp_window_series *series, const item_list *list, uint32_t *id)
{
    uint32_t hash = rpp_hash_bytes(list->items, list->count * sizeof *list->items);
    *id = rpp_hash_index_find(&series->by_items, hash, is_set, series, list);
    if (*id != RPP_INDEX_NONE) return RPP_OK;
    *id = UNKNOWN;
    rpp_status status =
        rpp_grow((void **)&series->sets, &series->set_capacity, series->set_count + 1, sizeof *series->sets);
    if (status == RPP_OK) {
        status = rpp_grow((void **)&series->items, &series->item_capacity, series->item_count + list->count + 1,
                          sizeof *series->items);
    }
    if (status == RPP_OK) status = rpp_hash_index_reserve(&series->by_items, 1);
    if (status != RPP_OK) return status;
    *id = (uint32_t)series->set_count;
    series->sets[series->set_count++] = (text_set){.first = series->item_count, .count = list->count};
    memcpy(&series->items[series->item_count], list->items, list->count * sizeof *list->items);
    series->item_count += list->count;
    rpp_hash_index_add(&series->by_items, hash, *id);
    return RPP_OK;
}

/* --- rows
 * ----------------------------------------------------------------------------------------------------------- */

static uint64_t weight_of(const rpp_row *row, unsigned mode)
{
    uint64_t weight = 0, weighed = rpp_group_mode(rpp_mode_group(mode));
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        if (weighed >> value & 1) weight += row->values[value];
    }
    return weight;
}

static rpp_status number_rows(rpp_window_series *series, const rpp_profile *profile, const rpp_encode_options *options,
                              const rpp_pairs *taken)
{
    const rpp_row *rows = rpp_profile_rows(profile);
    item_list list;
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        uint32_t *id = &series->of[place_of(&rows[i])];
        if (!rpp_pprof_shows(options, rows, i)) continue;
        if (*id == UNKNOWN) {
            collect(series, taken, &rows[i], &list);
            rpp_status status = intern(series, &list, id);
            if (status != RPP_OK) return status;
        }
        series->sets[*id].rows++;
        series->sets[*id].weight += weight_of(&rows[i], options->mode);
        series->labels_cut += series->labels.cut[rows[i].labels];
        series->row_count++;
    }
    return RPP_OK;
}

static int by_weight(const void *a, const void *b)
{
    const text_set *one = *(text_set *const *)a, *other = *(text_set *const *)b;
    if (one->weight != other->weight) return one->weight > other->weight ? -1 : 1;
    return one->first < other->first ? -1 : one->first > other->first; /* in the order of first use */
}

static rpp_status place_sets(rpp_window_series *series, uint32_t max_series)
{
    size_t count = series->set_count - 1, last = count < max_series ? count : max_series;
    text_set **sets = rpp_calloc(count + 1, sizeof *sets);
    if (!sets) return RPP_NO_MEMORY;
    for (size_t i = 0; i < count; i++) sets[i] = &series->sets[i + 1];
    qsort(sets, count, sizeof *sets, by_weight);
    for (size_t i = 0; i < count; i++) {
        sets[i]->unlabelled = i >= last;
        sets[i]->place = i < last ? i : last;
        if (i >= last) series->unlabelled += sets[i]->rows;
    }
    series->sets[0].place = last;
    rpp_free(sets);
    return RPP_OK;
}

/* A counting sort: rows of the same series become neighbours and keep their order. */
static rpp_status order_rows(rpp_window_series *series, const rpp_profile *profile, const rpp_encode_options *options)
{
    const rpp_row *rows = rpp_profile_rows(profile);
    size_t count = rpp_profile_row_count(profile), places = series->sets[0].place + 1;
    size_t *next = rpp_calloc(places + 1, sizeof *next);
    series->rows = rpp_calloc(series->row_count + 1, sizeof *series->rows);
    if (!next || !series->rows) {
        rpp_free(next);
        return RPP_NO_MEMORY;
    }
    for (size_t id = 0; id < series->set_count; id++) next[series->sets[id].place + 1] += series->sets[id].rows;
    for (size_t place = 1; place <= places; place++) next[place] += next[place - 1];
    for (size_t i = 0; i < count; i++) {
        if (!rpp_pprof_shows(options, rows, i)) continue;
        series->rows[next[series->sets[series->of[place_of(&rows[i])]].place]++] = rows[i];
    }
    rpp_free(next);
    return RPP_OK;
}

/* --- all of it
 * ------------------------------------------------------------------------------------------------------ */

static rpp_status read_labels(rpp_window_series *series, const rpp_label_sets *sets, const rpp_encode_options *options)
{
    uint32_t count = rpp_label_sets_count(sets);
    bool *used = rpp_calloc((size_t)count + 1, sizeof *used);
    if (!used) return RPP_NO_MEMORY;
    memset(used, true, count);
    rpp_status status = rpp_pprof_labels_init(&series->labels, sets, used, options->settings,
                                              options->legal_label_names, options->policy, series->strings);
    rpp_free(used);
    return status;
}

rpp_status rpp_window_series_init(rpp_window_series *series, const rpp_profile *profile,
                                  const rpp_encode_options *options, const rpp_pairs *taken, uint32_t max_series)
{
    const rpp_label_sets *sets = rpp_profile_label_sets(profile);
    size_t places = (size_t)rpp_label_sets_count(sets) * RPP_STATE_COUNT;
    item_list none = {.count = 0};
    uint32_t id;
    *series = (rpp_window_series){.strings = rpp_string_table_new(), .of = rpp_calloc(places + 1, sizeof *series->of)};
    if (!series->strings || !series->of) return RPP_NO_MEMORY;
    memset(series->of, 0xff, places * sizeof *series->of); /* UNKNOWN */

    rpp_status status = read_labels(series, sets, options);
    if (status == RPP_OK) status = intern(series, &none, &id); /* series 0 */
    if (status == RPP_OK) status = number_rows(series, profile, options, taken);
    if (status == RPP_OK) status = place_sets(series, max_series);
    return status == RPP_OK ? order_rows(series, profile, options) : status;
}

void rpp_window_series_destroy(rpp_window_series *series)
{
    rpp_string_table_free(series->strings);
    rpp_pprof_labels_destroy(&series->labels);
    rpp_hash_index_destroy(&series->by_items);
    rpp_free(series->rows);
    rpp_free(series->of);
    rpp_free(series->items);
    rpp_free(series->sets);
    *series = (rpp_window_series){0};
}

rpp_status rpp_window_series_labels(const rpp_window_series *series, uint32_t id, rpp_pairs *labels)
{
    *labels = (rpp_pairs){0};
    const text_set *set = &series->sets[id];
    for (size_t i = set->first; i < set->first + set->count; i++) {
        size_t key_length, value_length;
        const char *key = text_of(series, series->items[i].key, &key_length);
        const char *value = text_of(series, series->items[i].text, &value_length);
        rpp_status status = rpp_pairs_put(labels, key, key_length, value, value_length);
        if (status != RPP_OK) return status;
    }
    return RPP_OK;
}
