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

/* Of each value that is drawn: the sum of the squared weights of its draws. */
typedef struct rpp_squares {
    double of[RPP_DRAWN_VALUES];
} rpp_squares;

typedef struct rpp_row {
    RPP_VALUES(values);
    rpp_squares squares, squares_drawn;      /* of draws that have got their share of a sum; of those that have not */
    uint64_t cpu_drawn_ns, wall_drawn_ns;    /* weight of its draws that have not got their time yet (shares.h) */
    uint64_t waits_drawn;                    /* waits of its draws that have not got their time yet, in RPP_ONE_WAIT */
    uint64_t alloc_drawn, alloc_drawn_bytes; /* the same of allocations (counted.h) */
    uint32_t stack, labels, thread_seq;      /* thread_seq 0: no particular thread */
    uint8_t state;                           /* rpp_state */
    uint8_t custom_id;                       /* which value `custom` is of (custom_values.h) */
    uint32_t samples;                        /* number of captures in the sum */
} rpp_row;

static inline void rpp_squares_add(rpp_squares *to, const rpp_squares *squares)
{
    for (unsigned value = 0; value < RPP_DRAWN_VALUES; value++) to->of[value] += squares->of[value];
}

/* Of draws with the weight `drawn`, when they get `given` instead. */
static inline double rpp_squares_scaled(double squares, uint64_t given, uint64_t drawn)
{
    double scale = drawn ? (double)given / (double)drawn : 0;
    return squares * scale * scale;
}

/* The row's draws of a value have got their share. */
static inline void rpp_row_give_squares(rpp_row *row, rpp_value value, uint64_t given, uint64_t drawn)
{
    row->squares.of[value] += rpp_squares_scaled(row->squares_drawn.of[value], given, drawn);
    row->squares_drawn.of[value] = 0;
}

/* Its leaf may be a class, where no time is spent. */
static inline bool rpp_row_is_of_objects(const rpp_row *row)
{
    return row->alloc_drawn || row->alloc_objects || row->inuse_objects;
}

#endif
