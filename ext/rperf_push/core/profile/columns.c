/* columns.c - the values of a profile as formats list them. */
#include "profile/columns.h"

static size_t add_custom(unsigned used, rpp_column *columns)
{
    size_t count = 0;
    for (uint8_t id = 1; id <= rpp_custom_value_count(); id++) {
        const rpp_custom_value *known = rpp_custom_value_get(id);
        if (!(used >> id & 1)) continue;
        columns[count++] = (rpp_column){known->name, known->unit, RPP_VALUE_CUSTOM, id};
    }
    return count;
}

size_t rpp_columns_of(const rpp_profile *profile, unsigned mode, rpp_column columns[RPP_COLUMNS_MAX])
{
    size_t count = 0;
    for (rpp_value value = 0; value < RPP_VALUE_COUNT; value++) {
        const rpp_value_type *known = &rpp_value_types[value];
        if (!(mode >> value & 1)) continue;
        if (value == RPP_VALUE_CUSTOM) {
            count += add_custom(rpp_profile_custom_values(profile), columns + count);
        } else {
            columns[count++] = (rpp_column){known->type, known->unit, value, RPP_CUSTOM_NONE};
        }
    }
    return count;
}
