/* value_types.c - what is looked up in the tables of values and groups, which are in value_types.h. */
#include "base/value_types.h"

#include <stdio.h>
#include <string.h>

const rpp_value_type rpp_value_types[RPP_VALUE_COUNT] = {
#define X(context, id, field, mode, type, unit, scaled_by, group)                                                      \
    [RPP_VALUE_##id] = {mode, type, unit, scaled_by, RPP_GROUP_##group},
    RPP_VALUE_TYPES(X, )
#undef X
};

const rpp_value_group_type rpp_value_groups[RPP_GROUP_COUNT] = {
#define X(context, id, name, period_type, period_unit) [RPP_GROUP_##id] = {name, period_type, period_unit},
    RPP_VALUE_GROUPS(X, )
#undef X
};

unsigned rpp_mode_of(const char *name, size_t length)
{
    unsigned bits = 0;
    if (length == 6 && memcmp(name, "object", 6) == 0) return rpp_mode_of("alloc", 5);
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        const char *mode = rpp_value_types[value].mode;
        if (strlen(mode) == length && memcmp(mode, name, length) == 0) bits |= 1u << value;
    }
    return bits;
}

unsigned rpp_group_mode(rpp_value_group group)
{
    unsigned mode = 0;
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        if (rpp_value_types[value].group == group) mode |= 1u << value;
    }
    return mode;
}

unsigned rpp_level_mode(void)
{
    unsigned mode = 0;
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        if (rpp_value_types[value].scaled_by == RPP_LEVEL) mode |= 1u << value;
    }
    return mode;
}

rpp_value_group rpp_mode_group(unsigned mode)
{
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        if (mode >> value & 1) return rpp_value_types[value].group;
    }
    return RPP_GROUP_PROCESS_CPU;
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
