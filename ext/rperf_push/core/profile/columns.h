/* columns.h - the values of a profile as formats list them: those of a mode, and each one that the program counts itself.
 *
 * Threads    any thread; the profile must not change meanwhile.
 * Ownership  texts live as long as the process.
 */
#ifndef RPP_COLUMNS_H
#define RPP_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/custom_values.h"
#include "base/value_types.h"
#include "profile/profile.h"

#define RPP_COLUMNS_MAX (RPP_VALUE_COUNT + RPP_CUSTOM_MAX)

typedef struct rpp_column {
    const char *type, *unit;
    rpp_value value;
    uint8_t custom_id;
} rpp_column;

/* Returns their number. Of RPP_MODE_CUSTOM, those that some row has. */
size_t rpp_columns_of(const rpp_profile *profile, unsigned mode, rpp_column columns[RPP_COLUMNS_MAX]);
static inline uint64_t rpp_column_at(const rpp_column *column, const rpp_row *row)
{
    return column->custom_id && column->custom_id != row->custom_id ? 0 : row->values[column->value];
}

#endif
