/* pprof_labels.c - adds the labels of states, then set by set each label that the policy admits; or those of the
 * caller. */
#include "encoding/pprof_labels.h"

#include <string.h>

#include "base/alloc.h"
#include "base/label_caps.h"
#include "encoding/label_policy.h"

#define OWN_SERIES_NAMES 3u /* __name__, service_name, __delta__ */

#define TEXT(literal) (literal), sizeof(literal) - 1

/* State that only filling needs. */
typedef struct label_pass {
    rpp_pprof_labels *labels;
    rpp_label_policy *policy;
    rpp_string_table *strings;
    size_t max_in_set;
} label_pass;

/* The most labels that a set may have, in addition to the label of the state. */
static size_t max_in_set(const rpp_settings *settings, bool legal_names)
{
    if (!legal_names) return SIZE_MAX;
    size_t taken = OWN_SERIES_NAMES + settings->tags.count + settings->report_hostname + settings->report_pid + 1;
    return taken < RPP_NAMES_OF_A_SERIES_MAX ? RPP_NAMES_OF_A_SERIES_MAX - taken : 0;
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
        const rpp_state_name *named = &rpp_state_names[state];
        if (!named->key) continue;
        const rpp_label label = {named->key, named->value, (uint32_t)strlen(named->key),
                                 (uint32_t)strlen(named->value)};
        rpp_label sent;
        bool keep;
        rpp_status status = rpp_label_policy_apply(filling->policy, label, &sent, &keep);
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
        rpp_status status = rpp_label_policy_apply(filling->policy, rpp_label_set_sent_at(set, i), &sent, &keep);
        if (status == RPP_OK && keep && used) status = add_item(filling, id, &sent);
        if (status != RPP_OK) return status;
    }
    if (labels->count - start > labels->longest) labels->longest = labels->count - start;
    return RPP_OK;
}

rpp_status rpp_pprof_labels_init(rpp_pprof_labels *labels, const rpp_label_sets *sets, const bool *used,
                                 const rpp_settings *settings, bool legal_names, rpp_label_policy *policy,
                                 rpp_string_table *strings)
{
    *labels = (rpp_pprof_labels){0};
    rpp_status status = RPP_NO_MEMORY;
    uint32_t count = rpp_label_sets_count(sets);
    rpp_label_policy *own = policy ? NULL : rpp_label_policy_new(settings, legal_names);
    label_pass filling = {labels, policy ? policy : own, strings, max_in_set(settings, legal_names)};
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
    rpp_label_policy_free(own);
    return status;
}

static rpp_status add_own(rpp_pprof_labels *labels, const rpp_encode_label *own, rpp_string_table *strings)
{
    rpp_pprof_label *item = &labels->items[labels->count];
    rpp_pprof_number *number = &labels->numbers[labels->count++];
    rpp_status status = rpp_string_table_intern(strings, own->key, own->key_length, &item->key);
    if (status != RPP_OK) return status;
    if (own->text) return rpp_string_table_intern(strings, own->text, own->text_length, &item->text);
    number->number = own->number;
    return own->unit ? rpp_string_table_intern(strings, own->unit, own->unit_length, &number->unit) : RPP_OK;
}

rpp_status rpp_pprof_labels_init_own(rpp_pprof_labels *labels, const rpp_encode_labels *own, const bool *used,
                                     rpp_string_table *strings)
{
    *labels = (rpp_pprof_labels){0};
    size_t count = own->starts[own->set_count];
    labels->starts = rpp_calloc(own->set_count + 1, sizeof *labels->starts);
    labels->items = rpp_calloc(count + 1, sizeof *labels->items);
    labels->numbers = rpp_calloc(count + 1, sizeof *labels->numbers);
    if (!labels->starts || !labels->items || !labels->numbers) return RPP_NO_MEMORY;

    rpp_status status = rpp_string_table_intern(strings, TEXT("thread_seq"), &labels->thread_key);
    for (size_t set = 0; set < own->set_count && status == RPP_OK; set++) {
        size_t end = used[set] ? own->starts[set + 1] : own->starts[set];
        for (size_t i = own->starts[set]; i < end && status == RPP_OK; i++) {
            status = add_own(labels, &own->items[i], strings);
        }
        labels->starts[set + 1] = (uint32_t)labels->count;
        size_t length = labels->count - labels->starts[set];
        if (length > labels->longest) labels->longest = length;
    }
    return status;
}

void rpp_pprof_labels_destroy(rpp_pprof_labels *labels)
{
    rpp_free(labels->items);
    rpp_free(labels->numbers);
    rpp_free(labels->starts);
    rpp_free(labels->cut);
    *labels = (rpp_pprof_labels){0};
}
