/* row.h - a profile's sum for one stack, label set, thread and state.
 *
 * Threads    one at a time, like the profile.
 * Ownership  the profile owns its rows.
 */
#ifndef RPP_ROW_H
#define RPP_ROW_H

#include <stdint.h>

#include "base/value_types.h"

typedef struct rpp_row {
    RPP_VALUES(values);
    uint64_t cpu_drawn_ns, wall_drawn_ns; /* weight of the draws that came here and were given no time yet (shares.h) */
    uint32_t stack, labels, thread_seq;   /* thread_seq 0: of no thread in particular */
    uint8_t state;                        /* rpp_state */
    uint32_t samples;                     /* captures summed here */
} rpp_row;

#endif
