/* call_methods.h - the methods of a call tree: three words identify one, and it gets a small id.
 *
 * The table has a fixed number of places. Methods beyond them are one: RPP_CALL_OTHER.
 *
 * Threads    one at a time. intern allocates nothing, so it may run in a hook of the VM.
 * Ownership  the caller owns the table.
 */
#ifndef RPP_CALL_METHODS_H
#define RPP_CALL_METHODS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Ids begin after it. */
#define RPP_CALL_OTHER 0u

/* What the words mean is the caller's business. */
typedef struct rpp_call_key {
    uint64_t code, name, owner;
} rpp_call_key;

typedef struct rpp_call_methods rpp_call_methods;

/* NULL if out of memory. */
rpp_call_methods *rpp_call_methods_new(uint32_t max);
void rpp_call_methods_free(rpp_call_methods *methods);

/* The id of the method, or RPP_CALL_OTHER past the limit. *is_new: it is the first time that it gets an id. */
uint32_t rpp_call_methods_intern(rpp_call_methods *methods, rpp_call_key key, bool *is_new);
/* Ids are below this. */
uint32_t rpp_call_methods_end(const rpp_call_methods *methods);
/* Whether a method has met the limit. */
bool rpp_call_methods_is_full(const rpp_call_methods *methods);
rpp_call_key rpp_call_methods_key(const rpp_call_methods *methods, uint32_t id);

#endif
