/* pprof_labels.c - state labels first, then set by set, each label through the policy. */
#include "pprof_labels.h"

#include <string.h>

#include "alloc.h"
#include "label_policy.h"

/* Pyroscope takes 30 names a series, those of the samples among them, and refuses the whole profile for one that has more. */
#define MAX_SERIES_NAMES 30u
#define OWN_SERIES_NAMES 3u /* __name__, service_name, __delta__ */

#define TEXT(literal) (literal), sizeof(literal) - 1

/* What filling needs beside the result. */
typedef struct label_pass {
    rpp_pprof_labels *labels;
    rpp_label_policy *policy;
    rpp_string_table *strings;
    size_t max_in_set;
} label_pass;

static const rpp_label state_labels[RPP_STATE_COUNT] = {
    [RPP_STATE_BLOCKED] = {"%GVL", "blocked", 4, 7},
    [RPP_STATE_WAITING] = {"%GVL", "wait", 4, 4},
    [RPP_STATE_GC_MARKING] = {"%GC", "mark", 3, 4},
    [RPP_STATE_GC_SWEEPING] = {"%GC", "sweep", 3, 5},
};

/* Labels that a set may have, one more being the state's. */
static size_t max_in_set(const rpp_settings *settings, bool legal_names)
{
    if (!legal_names) return SIZE_MAX;
    size_t taken = OWN_SERIES_NAMES + settings->tags.count + settings->report_hostname + settings->report_pid + 1;
    return taken < MAX_SERIES_NAMES ? MAX_SERIES_NAMES - taken : 0;
}

static rpp_status intern_label(rpp_string_table *strings, const rpp_label *sent, rpp_pprof_label *label)
{
    rpp_status status = rpp_string_table_intern(strings, sent->key, sent->key_length, &label->key);
    if (status != RPP_OK) return status;
    return rpp_string_table_intern(strings, sent->value, sent->value_length, &label->text);
}

static rpp_status fill_states(label_pass *filling)
{
    for (size_t state = 0; state < RPP_STATE_COUNT; state++) {
        if (!state_labels[state].key) continue;
        rpp_label sent;
        bool keep;
        rpp_status status = rpp_label_policy_apply(filling->policy, state_labels[state], &sent, &keep);
        if (status == RPP_OK && keep) status = intern_label(filling->strings, &sent, &filling->labels->of_state[state]);
        if (status != RPP_OK) return status;
    }
    return RPP_OK;
}

static bool is_taken(const rpp_pprof_labels *labels, size_t start, uint32_t key)
{
    if (key == labels->thread_key) return true;
    for (size_t state = 0; state < RPP_STATE_COUNT; state++) {
        if (key == labels->of_state[state].key) return true;
    }
    for (size_t i = start; i < labels->count; i++) {
        if (key == labels->items[i].key) return true;
    }
    return false;
}

static rpp_status add_item(label_pass *filling, uint32_t set, const rpp_label *sent)
{
    rpp_pprof_labels *labels = filling->labels;
    uint32_t start = labels->starts[set];
    if (labels->count - start >= filling->max_in_set) {
        labels->cut[set] = true;
        return RPP_OK;
    }
    rpp_pprof_label label;
    rpp_status status = intern_label(filling->strings, sent, &label);
    if (status != RPP_OK || is_taken(labels, start, label.key)) return status;
    status = rpp_grow((void **)&labels->items, &labels->capacity, labels->count + 1, sizeof *labels->items);
    if (status == RPP_OK) labels->items[labels->count++] = label;
    return status;
}

static rpp_status fill_set(label_pass *filling, uint32_t id, const rpp_label_set *set, bool used)
{
    rpp_pprof_labels *labels = filling->labels;
    size_t start = labels->starts[id];
    for (size_t i = 0; i < rpp_label_set_count(set); i++) {
        rpp_label sent;
        bool keep;
        rpp_status status = rpp_label_policy_apply(filling->policy, rpp_label_set_at(set, i), &sent, &keep);
        if (status == RPP_OK && keep && used) status = add_item(filling, id, &sent);
        if (status != RPP_OK) return status;
    }
    if (labels->count - start > labels->longest) labels->longest = labels->count - start;
    return RPP_OK;
}

rpp_status rpp_pprof_labels_init(rpp_pprof_labels *labels, const rpp_label_sets *sets, const bool *used,
                                 const rpp_settings *settings, bool legal_names, rpp_string_table *strings)
{
    *labels = (rpp_pprof_labels){0};
    rpp_status status = RPP_NO_MEMORY;
    uint32_t count = rpp_label_sets_count(sets);
    label_pass filling = {labels, rpp_label_policy_new(settings, legal_names), strings,
                          max_in_set(settings, legal_names)};
    labels->starts = rpp_calloc((size_t)count + 1, sizeof *labels->starts);
    labels->cut = rpp_calloc((size_t)count + 1, sizeof *labels->cut);
    if (!filling.policy || !labels->starts || !labels->cut) goto done;

    status = rpp_string_table_intern(strings, TEXT("thread_seq"), &labels->thread_key);
    if (status == RPP_OK) status = fill_states(&filling);
    for (uint32_t set = 0; set < count && status == RPP_OK; set++) {
        status = fill_set(&filling, set, rpp_label_sets_get(sets, set), used[set]);
        labels->starts[set + 1] = (uint32_t)labels->count;
    }

done:
    rpp_label_policy_free(filling.policy);
    return status;
}

void rpp_pprof_labels_destroy(rpp_pprof_labels *labels)
{
    rpp_free(labels->items);
    rpp_free(labels->starts);
    rpp_free(labels->cut);
    *labels = (rpp_pprof_labels){0};
}
