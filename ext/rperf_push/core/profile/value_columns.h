/* value_columns.h - the values of a profile as formats list them: those of a mode, and each one that the program counts
 * itself. With RPP_MODE_PRECISION there are more columns behind them, which say how precise a row is: `samples`, its
 * captures; `weight_squares`, the sum of the squared weights of its samples, of the first value of the mode; and
 * TYPE_squares, that sum of each other value that is sampled. What was measured exactly adds nothing to it. A value
 * that is not sampled has no such column.
 *
 * Threads    any thread; the profile must not change meanwhile.
 * Ownership  texts live as long as the process.
 */
#ifndef RPP_VALUE_COLUMNS_H
#define RPP_VALUE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/custom_values.h"
#include "base/value_types.h"
#include "profile/profile.h"

#define RPP_COLUMNS_MAX    (RPP_VALUE_COUNT + RPP_CUSTOM_MAX + 1 + RPP_SAMPLED_VALUES)
/* What a reader tells these columns from values by. */
#define RPP_PRECISION_UNIT "precision"

typedef enum rpp_column_kind { RPP_COLUMN_VALUE, RPP_COLUMN_SAMPLES, RPP_COLUMN_SQUARES } rpp_column_kind;

typedef struct rpp_column {
    const char *type, *unit;
    rpp_value value;
    uint8_t custom_id;
    rpp_column_kind kind;
} rpp_column;

/* Returns their number. Of RPP_MODE_CUSTOM, those that some row has. */
size_t rpp_columns_of(const rpp_profile *profile, unsigned mode, rpp_column columns[RPP_COLUMNS_MAX]);
/* Of a column of squares, which may be more than any integer has room for. */
static inline double rpp_column_squares_at(const rpp_column *column, const rpp_row *row)
{
    return column->value < RPP_SAMPLED_VALUES ? row->squares.of[column->value] : 0;
}
/* Of squares, at most INT64_MAX. */
uint64_t rpp_column_at(const rpp_column *column, const rpp_row *row);

#endif
