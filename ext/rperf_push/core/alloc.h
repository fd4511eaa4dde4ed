/* alloc.h - the only way to the heap.
 *
 * Everything in the core allocates here, so that a test can make the n-th allocation fail and memory in use can be told.
 *
 * Threads    any thread. Not async-signal-safe: never from a hook or handler.
 */
#ifndef RPP_ALLOC_H
#define RPP_ALLOC_H

#include <stddef.h>

#include "status.h"

RPP_NODISCARD void *rpp_malloc(size_t size);
RPP_NODISCARD void *rpp_calloc(size_t count, size_t size);
RPP_NODISCARD void *rpp_realloc(void *block, size_t size);
/* A NUL-terminated copy of `length` bytes. */
RPP_NODISCARD char *rpp_strndup(const char *bytes, size_t length);
RPP_NODISCARD char *rpp_strdup(const char *text);
void rpp_free(void *block);

/* Grows *items to hold at least `needed` elements (doubling, at least 16); *capacity follows. RPP_NO_MEMORY leaves both. */
RPP_NODISCARD rpp_status rpp_grow(void **items, size_t *capacity, size_t needed, size_t item_size);

/* For tests: the n-th allocation from now on fails (1 = the next), then all is well again. 0 switches it off. */
void rpp_alloc_fail_at(size_t nth);
/* For tests: allocations asked for since rpp_alloc_fail_at was last called. */
size_t rpp_alloc_count(void);

#endif
