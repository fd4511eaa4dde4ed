/* call_objects.h - the objects that calls create: how many, by the node that creates them, their class, and the code
 * and line.
 *
 * Memory is reserved at the beginning; the system provides it where it is first used. Objects past the limit are
 * counted together: of them nothing else is known.
 *
 * Threads    one at a time. add allocates nothing, so it may run in a hook of the VM.
 * Ownership  the caller owns the table. What the words mean is its business.
 */
#ifndef RPP_CALL_OBJECTS_H
#define RPP_CALL_OBJECTS_H

#include <stdint.h>

#define RPP_CALL_OBJECTS_MAX (UINT32_C(1) << 17)

/* One kind of objects. */
typedef struct rpp_call_object {
    uint64_t klass, code;
    uint32_t node, line;
    uint64_t count, bytes;
} rpp_call_object;

typedef struct rpp_call_objects rpp_call_objects;

/* With room for so many kinds. NULL if out of memory. */
rpp_call_objects *rpp_call_objects_new(uint32_t max);
void rpp_call_objects_free(rpp_call_objects *objects);

/* One object of this kind, whose count and bytes do not matter. */
void rpp_call_objects_add(rpp_call_objects *objects, const rpp_call_object *kind, uint64_t bytes);

uint32_t rpp_call_objects_count(const rpp_call_objects *objects);
const rpp_call_object *rpp_call_objects_at(const rpp_call_objects *objects, uint32_t index);
/* Objects past the limit. */
uint64_t rpp_call_objects_unattributed(const rpp_call_objects *objects);

#endif
