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

/* Of each value that is sampled: the sum of the squared weights of its samples. */
typedef struct rpp_squares {
    double of[RPP_SAMPLED_VALUES];
} rpp_squares;

typedef struct rpp_row {
    RPP_VALUES(values);
    rpp_squares squares, squares_sampled; /* of samples that have got their share of a sum; of those that have not */
    uint64_t cpu_sampled_ns,
        wall_sampled_ns;    /* weight of its samples that have not got their time yet (distribution.h) */
    uint64_t waits_sampled; /* waits of its samples that have not got their time yet, in RPP_ONE_WAIT */
    uint64_t alloc_sampled, alloc_sampled_bytes; /* the same of allocations (counted_objects.h) */
    uint32_t stack, labels, thread_seq;          /* thread_seq 0: no particular thread */
    uint8_t state;                               /* rpp_state */
    uint8_t custom_id;                           /* which value `custom` is of (custom_values.h) */
    uint32_t samples;                            /* number of captures in the sum */
} rpp_row;

static inline void rpp_squares_add(rpp_squares *to, const rpp_squares *squares)
{
    for (unsigned value = 0; value < RPP_SAMPLED_VALUES; value++) to->of[value] += squares->of[value];
}

/* Of samples with the weight `sampled`, when they get `given` instead. */
static inline double rpp_squares_scaled(double squares, uint64_t given, uint64_t sampled)
{
    double scale = sampled ? (double)given / (double)sampled : 0;
    return squares * scale * scale;
}

/* The row's samples of a value have got their share. */
static inline void rpp_row_give_squares(rpp_row *row, rpp_value value, uint64_t given, uint64_t sampled)
{
    row->squares.of[value] += rpp_squares_scaled(row->squares_sampled.of[value], given, sampled);
    row->squares_sampled.of[value] = 0;
}

/* Its leaf may be a class, where no time is spent. */
static inline bool rpp_row_is_of_objects(const rpp_row *row)
{
    return row->alloc_sampled || row->alloc_objects || row->inuse_objects;
}

#endif
