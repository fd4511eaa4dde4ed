/* label_model.h - the label policy once more, the plainest way: lists searched from the front.
 *
 * Threads    one at a time. Limits are those of the fuzz targets, not of the policy.
 */
#ifndef RPP_LABEL_MODEL_H
#define RPP_LABEL_MODEL_H

#include "fuzz_input.h"
#include "sampling/label_sets.h"
#include "settings/settings.h"

#define MODEL_TEXT_MAX 512

typedef struct model_text {
    char bytes[MODEL_TEXT_MAX];
    size_t length;
} model_text;

typedef struct label_model {
    const rpp_settings *settings;
    bool legal_names;
    model_text (*seen)[2]; /* name and value of each value admitted */
    size_t seen_count, seen_room;
} label_model;

static inline model_text model_text_of(const char *bytes, size_t length)
{
    model_text text = {.length = length};
    FUZZ_CHECK(length < MODEL_TEXT_MAX);
    if (length) memcpy(text.bytes, bytes, length);
    return text;
}

static inline bool model_same(const model_text *a, const model_text *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

static inline void label_model_init(label_model *model, const rpp_settings *settings, bool legal_names)
{
    *model = (label_model){.settings = settings, .legal_names = legal_names};
}

static inline void label_model_destroy(label_model *model)
{
    free(model->seen);
}

static inline const rpp_pair *model_find(const rpp_pairs *pairs, const model_text *key)
{
    for (size_t i = 0; i < pairs->count; i++) {
        model_text known = model_text_of(pairs->items[i].key, strlen(pairs->items[i].key));
        if (model_same(&known, key)) return &pairs->items[i];
    }
    return NULL;
}

static inline bool model_is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static inline model_text model_spell(const label_model *model, const model_text *key)
{
    if (!model->legal_names) return *key;
    const rpp_pair *renamed = model_find(&model->settings->label_names, key);
    model_text from = renamed && renamed->value ? model_text_of(renamed->value, strlen(renamed->value)) : *key,
               to = {0};
    if (from.length && from.bytes[0] >= '0' && from.bytes[0] <= '9') to.bytes[to.length++] = '_';
    for (size_t i = 0; i < from.length; i++) {
        to.bytes[to.length++] = model_is_letter_or_digit(from.bytes[i]) ? from.bytes[i] : '_';
    }
    return to;
}

/* Whether a label is sent; then *name and *value say as what. */
static inline bool label_model_apply(label_model *model, rpp_label label, model_text *name, model_text *value)
{
    model_text key = model_text_of(label.key, label.key_length);
    if (!label.value_length) return false;
    *name = model_spell(model, &key);
    *value = model_text_of(label.value, label.value_length);
    if (!name->length || (name->length >= 2 && name->bytes[0] == '_' && name->bytes[1] == '_')) return false;
    if (model_find(&model->settings->label_deny, &key) || model_find(&model->settings->label_deny, name)) return false;

    const model_text span = model_text_of("span_id", 7), trace = model_text_of("trace_id", 8);
    if (model_same(name, &span) || model_same(name, &trace)) return true;

    size_t values = 0;
    for (size_t i = 0; i < model->seen_count; i++) {
        if (!model_same(&model->seen[i][0], name)) continue;
        if (model_same(&model->seen[i][1], value)) return true;
        values++;
    }
    if (values >= model->settings->max_label_values) {
        *value = model_text_of("other", 5);
        return true;
    }
    if (model->seen_count == model->seen_room) {
        model->seen_room = model->seen_room ? model->seen_room * 2 : 16;
        model->seen = realloc(model->seen, model->seen_room * sizeof *model->seen);
        if (!model->seen) abort();
    }
    model->seen[model->seen_count][0] = *name;
    model->seen[model->seen_count++][1] = *value;
    return true;
}

/* label_names, label_deny and max_label_values from the input. */
static inline void fuzz_label_settings(fuzz_input *input, rpp_settings *settings)
{
    rpp_errors errors = {0};
    char *names = fuzz_text(input, 120), *deny = fuzz_text(input, 60);
    rpp_status status = rpp_settings_set_integer(settings, "max_label_values", 1 + fuzz_byte(input) % 8, &errors);
    if (status == RPP_OK) status = rpp_settings_set_text(settings, "label_names", names, NULL, &errors);
    if (status == RPP_OK) status = rpp_settings_set_text(settings, "label_deny", deny, NULL, &errors);
    FUZZ_CHECK(status == RPP_OK);
    rpp_errors_destroy(&errors);
    free(names);
    free(deny);
}

#endif
