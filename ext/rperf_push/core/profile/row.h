/* row.h - a profile's sum for one stack, label set, thread and state.
 *
 * Threads    one at a time, like the profile.
 * Ownership  the profile owns its rows.
 */
#ifndef RPP_ROW_H
#define RPP_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/value_types.h"

typedef struct rpp_row {
    RPP_VALUES(values);
    uint64_t cpu_drawn_ns, wall_drawn_ns;    /* weight of its draws that have not got their time yet (shares.h) */
    uint64_t waits_drawn;                    /* waits of its draws that have not got their time yet, in RPP_ONE_WAIT */
    uint64_t alloc_drawn, alloc_drawn_bytes; /* the same of allocations (counted.h) */
    uint32_t stack, labels, thread_seq;      /* thread_seq 0: no particular thread */
    uint8_t state;                           /* rpp_state */
    uint8_t custom_id;                       /* which value `custom` is of (custom_values.h) */
    uint32_t samples;                        /* number of captures in the sum */
} rpp_row;

/* Its leaf may be a class, where no time is spent. */
static inline bool rpp_row_is_of_objects(const rpp_row *row)
{
    return row->alloc_drawn || row->alloc_objects || row->inuse_objects;
}

#endif
