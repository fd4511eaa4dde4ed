/* value_columns.c - the values of a profile as formats list them. */
#include "profile/value_columns.h"

#include <string.h>

static size_t add_custom(unsigned used, rpp_column *columns)
{
    size_t count = 0;
    for (uint8_t id = 1; id <= rpp_custom_value_count(); id++) {
        const rpp_custom_value *known = rpp_custom_value_get(id);
        if (!(used >> id & 1)) continue;
        columns[count++] = (rpp_column){known->name, known->unit, RPP_VALUE_CUSTOM, id, RPP_COLUMN_VALUE};
    }
    return count;
}

static const char *const squares_types[RPP_SAMPLED_VALUES] = {
    [RPP_VALUE_CPU] = "cpu_squares",
    [RPP_VALUE_WALL] = "wall_squares",
    [RPP_VALUE_ALLOC_OBJECTS] = "alloc_objects_squares",
    [RPP_VALUE_ALLOC_SPACE] = "alloc_space_squares",
};

static bool is_taken(const char *type, const rpp_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(columns[i].type, type) == 0) return true;
    }
    return false;
}

/* A value that the program counts under such a name keeps it. */
static size_t add_precision(size_t count, rpp_column *columns)
{
    static const rpp_column samples = {"samples", RPP_PRECISION_UNIT, RPP_VALUE_CUSTOM, 0, RPP_COLUMN_SAMPLES};
    size_t values = count;
    if (!values || columns[0].value == RPP_VALUE_CUSTOM) return values; /* nothing is sampled */
    if (!is_taken(samples.type, columns, values)) columns[count++] = samples;
    for (size_t i = 0; i < values; i++) {
        rpp_value value = columns[i].value;
        if (value >= RPP_SAMPLED_VALUES) continue;
        const char *type = i == 0 ? "weight_squares" : squares_types[value];
        if (is_taken(type, columns, values)) continue;
        columns[count++] = (rpp_column){type, RPP_PRECISION_UNIT, value, RPP_CUSTOM_NONE, RPP_COLUMN_SQUARES};
    }
    return count;
}

uint64_t rpp_column_at(const rpp_column *column, const rpp_row *row)
{
    if (column->kind == RPP_COLUMN_SAMPLES) return row->samples;
    if (column->kind == RPP_COLUMN_VALUE) {
        return column->custom_id && column->custom_id != row->custom_id ? 0 : row->values[column->value];
    }
    double squares = rpp_column_squares_at(column, row);
    return squares < (double)INT64_MAX ? (uint64_t)squares : INT64_MAX;
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
            columns[count++] = (rpp_column){known->type, known->unit, value, RPP_CUSTOM_NONE, RPP_COLUMN_VALUE};
        }
    }
    return mode & RPP_MODE_PRECISION ? add_precision(count, columns) : count;
}
