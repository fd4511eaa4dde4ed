/* spool_destination.h - a number for the destination of payloads: processes with the same number may send each other's
 * files.
 *
 * Threads    any thread; the function is pure.
 * Ownership  the caller keeps the settings.
 */
#ifndef RPP_SPOOL_DESTINATION_H
#define RPP_SPOOL_DESTINATION_H

#include <stdint.h>

#include "base/status.h"
#include "settings/settings.h"

/* RPP_NO_MEMORY is the only failure. */
RPP_NODISCARD rpp_status rpp_spool_destination(const rpp_settings *settings, uint64_t *destination);

#endif
