/* durations.h - how long the last requests of each endpoint took, to tell which are slow for their endpoint.
 *
 * Durations are counted in classes, eight to an octave, so a percentile is exact to an eighth. If there are more
 * endpoints than fit, the one that was not seen for the longest time is forgotten.
 *
 * Threads    one at a time.
 * Ownership  the durations own copies of the endpoints' names.
 */
#ifndef RPP_DURATIONS_H
#define RPP_DURATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "requests/outcome.h"

#define RPP_DURATIONS_REMEMBERED    400u /* requests of an endpoint */
#define RPP_DURATIONS_ENOUGH        40u  /* requests of an endpoint before any of them is slow */
#define RPP_DURATIONS_ENDPOINTS_MAX 256u

typedef struct rpp_durations rpp_durations;

/* NULL if out of memory. */
rpp_durations *rpp_durations_new(void);
void rpp_durations_free(rpp_durations *durations);

/* YES if fewer than a twentieth of the endpoint's last requests took as long, so this one is above their 95th
 * percentile. UNKNOWN if too few are known. Afterwards it remembers this request. */
rpp_slow rpp_durations_note(rpp_durations *durations, const char *endpoint, size_t length, uint64_t duration_ns);

#endif
