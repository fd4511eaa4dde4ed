/* value_types.c - the table of values that a profile counts. */
#include "base/value_types.h"

#include <stdio.h>
#include <string.h>

const rpp_value_type rpp_value_types[RPP_VALUE_COUNT] = {
#define X(context, id, field, mode, type, unit, scaled_by) [RPP_VALUE_##id] = {mode, type, unit, scaled_by},
    RPP_VALUE_TYPES(X, )
#undef X
};

unsigned rpp_mode_of(const char *name, size_t length)
{
    unsigned bits = 0;
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        const char *mode = rpp_value_types[value].mode;
        if (strlen(mode) == length && memcmp(mode, name, length) == 0) bits |= 1u << value;
    }
    return bits;
}

/* In the table, values of the same mode are neighbours. */
const char *rpp_mode_text(unsigned mode, const char *separator, char text[RPP_MODE_TEXT_MAX])
{
    const char *last = "";
    size_t at = 0;
    text[0] = '\0';
    for (unsigned value = 0; value < RPP_VALUE_COUNT && at < RPP_MODE_TEXT_MAX; value++) {
        const char *name = rpp_value_types[value].mode;
        if (!(mode >> value & 1) || strcmp(name, last) == 0) continue;
        at += (size_t)snprintf(text + at, RPP_MODE_TEXT_MAX - at, "%s%s", at ? separator : "", name);
        last = name;
    }
    return text;
}
