/* mistakes.h - the list of what is wrong with the settings, one line each.
 *
 * Threads    one at a time.
 * Ownership  the list owns its lines.
 */
#ifndef RPP_MISTAKES_H
#define RPP_MISTAKES_H

#include <stddef.h>

#include "base/status.h"

typedef struct rpp_mistakes {
    char **lines;
    size_t count, capacity;
} rpp_mistakes;

RPP_NODISCARD rpp_status rpp_mistakes_add(rpp_mistakes *mistakes, const char *format, ...) RPP_PRINTF(2, 3);
void rpp_mistakes_destroy(rpp_mistakes *mistakes);

#endif
