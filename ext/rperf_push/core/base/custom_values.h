/* custom_values.h - the values that a program counts itself (RperfPush.sample): a name and a unit for each.
 *
 * They share one number of samples and rows (value_types.h: CUSTOM). Each sample and row says which of them its number
 * is, so rows are no larger for values that the program does not count.
 *
 * Threads    declare: one at a time (in the gem: under the GVL). All else: any thread, because a value never changes or
 *            goes.
 * Ownership  the process has one table of them. A forked child keeps it.
 */
#ifndef RPP_CUSTOM_VALUES_H
#define RPP_CUSTOM_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define RPP_CUSTOM_MAX      16u
#define RPP_CUSTOM_TEXT_MAX 64u /* of a name or a unit, with its NUL */
#define RPP_CUSTOM_NONE     0u

typedef struct rpp_custom_value {
    char name[RPP_CUSTOM_TEXT_MAX], unit[RPP_CUSTOM_TEXT_MAX];
} rpp_custom_value;

/* Sets *id, from 1 on. A value that is known keeps its id. RPP_INVALID: the name or the unit is none that all servers
 * take ([a-zA-Z_][a-zA-Z0-9_]*), the profiler has a value of this name, or it was declared with another unit.
 * RPP_LIMIT: there are RPP_CUSTOM_MAX of them. */
RPP_NODISCARD rpp_status rpp_custom_value_declare(const char *name, size_t name_length, const char *unit,
                                                  size_t unit_length, uint8_t *id);
/* RPP_CUSTOM_NONE: there is no such value. */
uint8_t rpp_custom_value_find(const char *name, size_t length);
/* The number of ids in use. */
uint8_t rpp_custom_value_count(void);
const rpp_custom_value *rpp_custom_value_get(uint8_t id);

#endif
