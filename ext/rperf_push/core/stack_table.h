/* stack_table.h - the stacks of one window, each stored once.
 *
 * A location is a frame at a line; a stack is a row of locations, leaf first. Both get dense ids from 0 in order of first
 * sight. The table dies with its window, so nothing is ever evicted; past its limits intern answers RPP_LIMIT and the caller
 * adds the weight to the overflow stack.
 *
 * Threads    one at a time.
 */
#ifndef RPP_STACK_TABLE_H
#define RPP_STACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

typedef struct rpp_location {
    uint32_t frame; /* id of frame_names */
    uint32_t line;  /* 0: unknown */
} rpp_location;

typedef struct rpp_stack_limits {
    uint32_t max_locations;
    uint32_t max_stacks;
    uint64_t max_depth_total; /* sum of the depths of all stacks: 4 bytes each */
} rpp_stack_limits;

typedef struct rpp_stack_table rpp_stack_table;

/* NULL when out of memory. */
rpp_stack_table *rpp_stack_table_new(const rpp_stack_limits *limits);
void rpp_stack_table_free(rpp_stack_table *table);

/* RPP_LIMIT or RPP_NO_MEMORY: nothing was added. A depth of 0 is a stack like any other. */
RPP_NODISCARD rpp_status rpp_stack_table_intern(rpp_stack_table *table, const rpp_location *locations, uint32_t depth,
                                                uint32_t *stack);

uint32_t rpp_stack_table_count(const rpp_stack_table *table);
/* Location ids of a stack, leaf first; valid until the next intern. */
const uint32_t *rpp_stack_table_get(const rpp_stack_table *table, uint32_t stack, uint32_t *depth);
uint32_t rpp_stack_table_location_count(const rpp_stack_table *table);
rpp_location rpp_stack_table_location(const rpp_stack_table *table, uint32_t location);
/* Whether any location of the table is at this frame. */
bool rpp_stack_table_has_frame(const rpp_stack_table *table, uint32_t frame);
size_t rpp_stack_table_bytes(const rpp_stack_table *table);

#endif
