/* custom_values.c - the values that a program counts itself. */
#include "base/custom_values.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/value_types.h"

static rpp_custom_value values[RPP_CUSTOM_MAX];
static _Atomic uint8_t count; /* published after the value */

uint8_t rpp_custom_value_count(void)
{
    return atomic_load_explicit(&count, memory_order_acquire);
}

const rpp_custom_value *rpp_custom_value_get(uint8_t id)
{
    return &values[id - 1];
}

static bool is(const char *known, const char *text, size_t length)
{
    return strlen(known) == length && memcmp(known, text, length) == 0;
}

uint8_t rpp_custom_value_find(const char *name, size_t length)
{
    for (uint8_t id = 1; id <= rpp_custom_value_count(); id++) {
        if (is(values[id - 1].name, name, length)) return id;
    }
    return RPP_CUSTOM_NONE;
}

static bool is_legal(const char *text, size_t length)
{
    if (!length || length >= RPP_CUSTOM_TEXT_MAX || (*text >= '0' && *text <= '9')) return false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
    }
    return true;
}

static bool is_taken(const char *name, size_t length)
{
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        if (is(rpp_value_types[value].type, name, length)) return true;
    }
    return false;
}

rpp_status rpp_custom_value_declare(const char *name, size_t name_length, const char *unit, size_t unit_length,
                                    uint8_t *id)
{
    if (!is_legal(name, name_length) || !is_legal(unit, unit_length) || is_taken(name, name_length)) return RPP_INVALID;
    uint8_t known = rpp_custom_value_find(name, name_length), at = rpp_custom_value_count();
    if (known) {
        if (!is(values[known - 1].unit, unit, unit_length)) return RPP_INVALID;
        *id = known;
        return RPP_OK;
    }
    if (at == RPP_CUSTOM_MAX) return RPP_LIMIT;
    memcpy(values[at].name, name, name_length);
    memcpy(values[at].unit, unit, unit_length);
    atomic_store_explicit(&count, (uint8_t)(at + 1), memory_order_release);
    *id = (uint8_t)(at + 1);
    return RPP_OK;
}
