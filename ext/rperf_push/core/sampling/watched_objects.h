/* watched_objects.h - the table of watched objects: which of the objects that were sampled at their allocation are
 * still alive.
 *
 * An object has a number, that of its allocation, and its address. At the end of each GC's marking the caller asks for
 * each address whether the object is marked. One that is not will be freed by the sweep that follows, so it leaves the
 * table first: no address in the table is ever that of another object. Nothing else is known of an object: neither a
 * reference to it, nor a flag on it.
 *
 * The table is bounded. When it is full, each object stays with a chance of one half, and those that stay weigh twice
 * as much. From then on only half as many allocations are chosen, until there is room again.
 *
 * Objects that cannot die in a minor GC are kept apart, and looked at in major ones only.
 *
 * Threads    one at a time (in the gem: the thread that holds the GVL, or that runs the GC). Only new and grow
 *            allocate.
 * Ownership  the table owns nothing but itself.
 */
#ifndef RPP_WATCHED_OBJECTS_H
#define RPP_WATCHED_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* No table has room for more. */
#define RPP_WATCHED_MAX 1048576u

typedef struct rpp_watched rpp_watched;

/* What the VM says of an object when marking has ended. */
typedef enum rpp_fate {
    RPP_FATE_DIES,
    RPP_FATE_LIVES,
    RPP_FATE_STAYS /* it lives, and no minor GC will free it */
} rpp_fate;

typedef struct rpp_survivor {
    uint64_t allocation;
    uint32_t gcs;       /* how many it has survived */
    uint32_t doublings; /* it stands for 2^doublings objects that were chosen like it */
} rpp_survivor;

/* NULL if out of memory. */
rpp_watched *rpp_watched_new(uint32_t capacity, uint64_t seed);
void rpp_watched_free(rpp_watched *watched);
/* Makes room for so many; never for fewer. */
RPP_NODISCARD rpp_status rpp_watched_grow(rpp_watched *watched, uint32_t capacity);

/* The number of an object that was just born; 0: it is not to be watched. */
uint64_t rpp_watched_choose(rpp_watched *watched);
/* Watches the object that was chosen last. */
void rpp_watched_add(rpp_watched *watched, uintptr_t address, uint64_t allocation);

/* Marking has ended: discards what dies. `all`: the GC was a major one. */
void rpp_watched_marked(rpp_watched *watched, bool all, rpp_fate (*fate)(uintptr_t address));
/* Objects have moved. */
void rpp_watched_moved(rpp_watched *watched, uintptr_t (*where)(uintptr_t address));
/* Discards all: what was born until now is not known any more. */
void rpp_watched_clear(rpp_watched *watched);

size_t rpp_watched_count(const rpp_watched *watched);
uint32_t rpp_watched_capacity(const rpp_watched *watched);
/* Allocations from this number on are not in the list. */
uint64_t rpp_watched_next_allocation(const rpp_watched *watched);
/* Lists all that are watched, in no order. Returns their number, at most `room`. */
size_t rpp_watched_list(const rpp_watched *watched, rpp_survivor *list, size_t room);
/* The address of the n-th, for tests and checks. */
uintptr_t rpp_watched_address(const rpp_watched *watched, size_t index, uint64_t *allocation);

#endif
