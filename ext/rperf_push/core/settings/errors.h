/* errors.h - the list of what is wrong with the settings, one line each.
 *
 * Threads    one at a time.
 * Ownership  the list owns its lines.
 */
#ifndef RPP_ERRORS_H
#define RPP_ERRORS_H

#include <stddef.h>

#include "base/status.h"

typedef struct rpp_errors {
    char **lines;
    size_t count, capacity;
} rpp_errors;

RPP_NODISCARD rpp_status rpp_errors_add(rpp_errors *errors, const char *format, ...) RPP_PRINTF(2, 3);
void rpp_errors_destroy(rpp_errors *errors);

#endif
