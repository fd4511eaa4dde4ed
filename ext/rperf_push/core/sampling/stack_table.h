/* stack_table.h - the stacks of one window, each stored once.
 *
 * A location is a frame at a line; a stack is a list of locations, leaf first. Both get dense ids from 0 in the order
 * of their first use. The table ends with its window, so nothing is evicted. Beyond its limits, intern returns
 * RPP_LIMIT, and the caller adds the weight to the overflow stack.
 *
 * Threads    one at a time.
 * Ownership  the table copies locations.
 */
#ifndef RPP_STACK_TABLE_H
#define RPP_STACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

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

/* NULL if out of memory. */
rpp_stack_table *rpp_stack_table_new(const rpp_stack_limits *limits);
void rpp_stack_table_free(rpp_stack_table *table);

/* RPP_LIMIT or RPP_NO_MEMORY: nothing was added. A stack of depth 0 is allowed. */
RPP_NODISCARD rpp_status rpp_stack_table_intern(rpp_stack_table *table, const rpp_location *locations, uint32_t depth,
                                                uint32_t *stack);

uint32_t rpp_stack_table_count(const rpp_stack_table *table);
/* Location ids of a stack, leaf first; valid until the next intern. */
const uint32_t *rpp_stack_table_get(const rpp_stack_table *table, uint32_t stack, uint32_t *depth);
uint32_t rpp_stack_table_location_count(const rpp_stack_table *table);
rpp_location rpp_stack_table_location(const rpp_stack_table *table, uint32_t location);
/* True if a location of the table is at this frame. */
bool rpp_stack_table_has_frame(const rpp_stack_table *table, uint32_t frame);
size_t rpp_stack_table_bytes(const rpp_stack_table *table);

#endif
