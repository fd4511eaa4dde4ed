/* alloc.h - all heap allocation of the core.
 *
 * Everything in the core allocates here, so that a test can make the n-th allocation fail.
 *
 * Threads    any thread. Not async-signal-safe: do not call it from a hook or signal handler.
 * Ownership  the caller owns what a function returns and frees it with rpp_free.
 */
#ifndef RPP_ALLOC_H
#define RPP_ALLOC_H

#include <stddef.h>

#include "base/status.h"

RPP_NODISCARD void *rpp_malloc(size_t size);
RPP_NODISCARD void *rpp_calloc(size_t count, size_t size);
RPP_NODISCARD void *rpp_realloc(void *block, size_t size);
/* A NUL-terminated copy of `length` bytes. */
RPP_NODISCARD char *rpp_strndup(const char *bytes, size_t length);
RPP_NODISCARD char *rpp_strdup(const char *text);
void rpp_free(void *block);

/* Zeros, for a table that may stay mostly empty: the system provides memory where it is first used, and takes it back
 * at once. calloc clears what was in use before, and keeps it. Given back with the same numbers. */
RPP_NODISCARD void *rpp_reserve(size_t count, size_t size);
void rpp_unreserve(void *block, size_t count, size_t size);

/* Grows *items to hold at least `needed` elements (doubles it, at least 16) and updates *capacity. RPP_NO_MEMORY
 * changes neither. */
RPP_NODISCARD rpp_status rpp_grow(void **items, size_t *capacity, size_t needed, size_t item_size);

/* For tests: the n-th allocation from now on fails (1 = the next); later ones succeed. 0 switches it off. */
void rpp_alloc_fail_at(size_t nth);
/* For tests: the number of allocations since the last call of rpp_alloc_fail_at. */
size_t rpp_alloc_count(void);

#endif
