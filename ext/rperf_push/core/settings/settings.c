/* settings.c - stores each option's value and notes wrong types. */
#include "settings/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/quote.h"
#include "settings/options.h"
#include "settings/pairs.h"

#define SHOWN_NUMBER_MAX 32

static void *field_of(rpp_settings *settings, const rpp_option *option)
{
    return (char *)settings + option->offset;
}

rpp_settings *rpp_settings_new(void)
{
    rpp_settings *settings = rpp_calloc(1, sizeof *settings);
    if (!settings) return NULL;
    rpp_errors none = {0};
    rpp_status status = RPP_OK;
    for (size_t i = 0; i < rpp_option_count() && status == RPP_OK; i++) {
        const rpp_option *option = rpp_option_at(i);
        if (option->initial) status = rpp_settings_set_text(settings, option->name, option->initial, NULL, &none);
    }
    settings->backend_given = false;
    if (none.count) status = RPP_INVALID; /* the table contradicts itself */
    rpp_errors_destroy(&none);
    if (status == RPP_OK) return settings;
    rpp_settings_free(settings);
    return NULL;
}

void rpp_settings_free(rpp_settings *settings)
{
    if (!settings) return;
    for (size_t i = 0; i < rpp_option_count(); i++) {
        const rpp_option *option = rpp_option_at(i);
        if (option->type == RPP_OPTION_STRING) rpp_free(*(char **)field_of(settings, option));
        if (option->type == RPP_OPTION_PAIRS || option->type == RPP_OPTION_LIST) {
            rpp_pairs_destroy(field_of(settings, option));
        }
    }
    rpp_free(settings->ruby_description);
    rpp_free(settings);
}

/* --- storing: each function notes an error and keeps the old value, or stores the new one --- */

static rpp_status store_integer(rpp_settings *settings, const rpp_option *option, int64_t value, const char *source,
                                rpp_errors *errors)
{
    if (value < option->min || value > option->max) {
        char shown[SHOWN_NUMBER_MAX];
        snprintf(shown, sizeof shown, "%lld", (long long)value);
        return rpp_option_note(option, source, shown, errors);
    }
    if (option->width == sizeof(uint32_t)) {
        *(uint32_t *)field_of(settings, option) = (uint32_t)value;
    } else {
        *(uint64_t *)field_of(settings, option) = (uint64_t)value;
    }
    return RPP_OK;
}

/* For SECONDS and SHARE, and for INTEGER with whole numbers. */
static rpp_status store_real(rpp_settings *settings, const rpp_option *option, double value, const char *source,
                             rpp_errors *errors)
{
    if (option->type == RPP_OPTION_SECONDS && value * 1e9 >= 1 && value <= (double)option->max) {
        *(uint64_t *)field_of(settings, option) = (uint64_t)(value * (double)RPP_NS_PER_S + 0.5);
        return RPP_OK;
    }
    if (option->type == RPP_OPTION_SHARE && value > 0 && value <= 1) {
        *(double *)field_of(settings, option) = value;
        return RPP_OK;
    }
    if (option->type == RPP_OPTION_INTEGER && fabs(value) < 1e15 && value == (double)(int64_t)value) {
        return store_integer(settings, option, (int64_t)value, source, errors);
    }
    char shown[SHOWN_NUMBER_MAX];
    snprintf(shown, sizeof shown, "%.15g", value);
    return rpp_option_note(option, source, shown, errors);
}

static rpp_status store_boolean(rpp_settings *settings, const rpp_option *option, bool value)
{
    bool *field = field_of(settings, option);
    *field = value;
    if (field == &settings->vm_state_frames) settings->vm_state_frames_given = true;
    return RPP_OK;
}

/* NULL restores the option's default. */
static rpp_status store_string(rpp_settings *settings, const rpp_option *option, const char *bytes, size_t length,
                               const char *source, rpp_errors *errors)
{
    char *copy = NULL;
    if (!bytes) {
        bytes = option->initial;
        length = bytes ? strlen(bytes) : 0;
    }
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\0' || bytes[i] == '\r' || bytes[i] == '\n') {
            return rpp_option_note_bytes(option, source, bytes, length, errors);
        }
    }
    if (bytes) {
        copy = rpp_strndup(bytes, length);
        if (!copy) return RPP_NO_MEMORY;
    }
    char **field = field_of(settings, option);
    rpp_free(*field);
    *field = copy;
    return RPP_OK;
}

/* "a, b" means "a,b". */
static bool is_choice(const char *choice, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (i && bytes[i] == ' ' && (bytes[i - 1] == ',' || bytes[i - 1] == ' ')) continue;
        if (bytes[i] != *choice || !*choice) return false;
        choice++;
    }
    return !*choice;
}

static rpp_status store_choice(rpp_settings *settings, const rpp_option *option, const char *bytes, size_t length,
                               const char *source, rpp_errors *errors)
{
    for (int i = 0; option->choices[i]; i++) {
        if (is_choice(option->choices[i], bytes, length)) {
            int *field = field_of(settings, option);
            *field = i;
            if (field == &settings->backend) settings->backend_given = true;
            return RPP_OK;
        }
    }
    return rpp_option_note_bytes(option, source, bytes, length, errors);
}

/* --- text --- */

bool rpp_settings_read_real(const char *text, double *value)
{
    char *end;
    if (!*text || text[strspn(text, "+-.0123456789eE")]) return false;
    *value = strtod(text, &end);
    return !*end && isfinite(*value);
}

static bool read_integer(const char *text, int64_t *value)
{
    char *end;
    if (!*text || text[strspn(text, "+-0123456789")]) return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return !*end && !errno;
}

static bool read_boolean(const char *text, bool *value)
{
    static const char *const words[] = {"false", "true", "0", "1", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *value = i % 2;
            return true;
        }
    }
    return false;
}

static rpp_status set_mode_text(rpp_settings *settings, const rpp_option *option, const char *text, const char *source,
                                rpp_errors *errors)
{
    rpp_pairs names = {0};
    unsigned mode = 0;
    bool good = true;
    rpp_status status = rpp_pairs_parse_list(&names, text);
    for (size_t i = 0; i < names.count; i++) {
        unsigned bits = rpp_mode_of(names.items[i].key, strlen(names.items[i].key));
        if (!bits) good = false;
        mode |= bits;
    }
    rpp_pairs_destroy(&names);
    if (status != RPP_OK) return status;
    if (!good || !mode) return rpp_option_note_bytes(option, source, text, strlen(text), errors);
    *(unsigned *)field_of(settings, option) = mode;
    return RPP_OK;
}

static rpp_status set_pairs_text(rpp_settings *settings, const rpp_option *option, const char *text, const char *source,
                                 rpp_errors *errors)
{
    rpp_pairs read = {0};
    rpp_status status =
        option->type == RPP_OPTION_PAIRS ? rpp_pairs_parse(&read, text) : rpp_pairs_parse_list(&read, text);
    if (status != RPP_OK) {
        rpp_pairs_destroy(&read);
        return status == RPP_INVALID ? rpp_option_note_bytes(option, source, text, strlen(text), errors) : status;
    }
    rpp_pairs *field = field_of(settings, option);
    rpp_pairs_destroy(field);
    *field = read;
    return RPP_OK;
}

rpp_status rpp_settings_set_text(rpp_settings *settings, const char *name, const char *text, const char *source,
                                 rpp_errors *errors)
{
    const rpp_option *option = rpp_option_find(name);
    if (!option) return rpp_option_note_unknown(name, errors);
    size_t length = strlen(text);
    int64_t integer;
    double real;
    bool boolean;
    switch (option->type) {
    case RPP_OPTION_STRING:
        /* An empty environment variable means unset. */
        return store_string(settings, option, length ? text : NULL, length, source, errors);
    case RPP_OPTION_CHOICE: return store_choice(settings, option, text, length, source, errors);
    case RPP_OPTION_MODE: return set_mode_text(settings, option, text, source, errors);
    case RPP_OPTION_PAIRS:
    case RPP_OPTION_LIST: return set_pairs_text(settings, option, text, source, errors);
    case RPP_OPTION_BOOLEAN:
        if (read_boolean(text, &boolean)) return store_boolean(settings, option, boolean);
        break;
    case RPP_OPTION_INTEGER:
        if (read_integer(text, &integer)) return store_integer(settings, option, integer, source, errors);
        break;
    case RPP_OPTION_SECONDS:
    case RPP_OPTION_SHARE:
        if (rpp_settings_read_real(text, &real)) return store_real(settings, option, real, source, errors);
        break;
    }
    return rpp_option_note_bytes(option, source, text, length, errors);
}

/* --- typed values --- */

rpp_status rpp_settings_set_integer(rpp_settings *settings, const char *name, int64_t value, rpp_errors *errors)
{
    const rpp_option *option = rpp_option_find(name);
    if (!option) return rpp_option_note_unknown(name, errors);
    if (option->type == RPP_OPTION_INTEGER) return store_integer(settings, option, value, NULL, errors);
    return store_real(settings, option, (double)value, NULL, errors);
}

rpp_status rpp_settings_set_real(rpp_settings *settings, const char *name, double value, rpp_errors *errors)
{
    const rpp_option *option = rpp_option_find(name);
    if (!option) return rpp_option_note_unknown(name, errors);
    return store_real(settings, option, value, NULL, errors);
}

rpp_status rpp_settings_set_boolean(rpp_settings *settings, const char *name, bool value, rpp_errors *errors)
{
    const rpp_option *option = rpp_option_find(name);
    if (!option) return rpp_option_note_unknown(name, errors);
    if (option->type == RPP_OPTION_BOOLEAN) return store_boolean(settings, option, value);
    return rpp_option_note(option, NULL, value ? "true" : "false", errors);
}

rpp_status rpp_settings_set_string(rpp_settings *settings, const char *name, const char *bytes, size_t length,
                                   rpp_errors *errors)
{
    const rpp_option *option = rpp_option_find(name);
    if (!option) return rpp_option_note_unknown(name, errors);
    if (option->type == RPP_OPTION_STRING) return store_string(settings, option, bytes, length, NULL, errors);
    if (!bytes) return rpp_option_note(option, NULL, "nothing", errors);
    if (option->type == RPP_OPTION_CHOICE) return store_choice(settings, option, bytes, length, NULL, errors);
    return rpp_option_note_bytes(option, NULL, bytes, length, errors);
}

rpp_status rpp_settings_clear(rpp_settings *settings, const char *name, rpp_errors *errors)
{
    const rpp_option *option = rpp_option_find(name);
    if (!option) return rpp_option_note_unknown(name, errors);
    switch (option->type) {
    case RPP_OPTION_PAIRS:
    case RPP_OPTION_LIST: rpp_pairs_destroy(field_of(settings, option)); return RPP_OK;
    case RPP_OPTION_MODE: *(unsigned *)field_of(settings, option) = 0; return RPP_OK;
    default: return rpp_option_note(option, NULL, "a list", errors);
    }
}

rpp_status rpp_settings_put(rpp_settings *settings, const char *name, const char *key, size_t key_length,
                            const char *value, size_t value_length, rpp_errors *errors)
{
    const rpp_option *option = rpp_option_find(name);
    if (!option) return rpp_option_note_unknown(name, errors);
    if (option->type == RPP_OPTION_MODE) {
        unsigned bits = rpp_mode_of(key, key_length);
        if (!bits) return rpp_option_note_bytes(option, NULL, key, key_length, errors);
        *(unsigned *)field_of(settings, option) |= bits;
        return RPP_OK;
    }
    if (option->type != RPP_OPTION_PAIRS && option->type != RPP_OPTION_LIST) {
        return rpp_option_note(option, NULL, "a list", errors);
    }

    bool wants_value = option->type == RPP_OPTION_PAIRS;
    char quoted[RPP_QUOTED_MAX];
    rpp_quote(quoted, key, key_length);
    if (key_length == 0) return rpp_errors_add(errors, "%s: a name is empty", name);
    if (memchr(key, '\0', key_length)) return rpp_errors_add(errors, "%s: the name %s holds NUL", name, quoted);
    if (!wants_value) return rpp_pairs_put(field_of(settings, option), key, key_length, NULL, 0);
    if (!value) return rpp_errors_add(errors, "%s: %s has no value", name, quoted);
    if (memchr(value, '\0', value_length)) {
        return rpp_errors_add(errors, "%s: the value of %s holds NUL", name, quoted);
    }
    return rpp_pairs_put(field_of(settings, option), key, key_length, value, value_length);
}

rpp_status rpp_settings_reject(const char *name, const char *got, rpp_errors *errors)
{
    const rpp_option *option = rpp_option_find(name);
    if (!option) return rpp_option_note_unknown(name, errors);
    return rpp_option_note(option, NULL, got, errors);
}
