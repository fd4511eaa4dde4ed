/* rb_testing_heap.h - in the testing build, proves that each watched object is still the one that was born (rb_heap.h).
 *
 * Threads    as rb_heap's.
 * Ownership  nothing to own.
 */
#ifndef RB_TESTING_HEAP_H
#define RB_TESTING_HEAP_H

#include "rb_compat.h"

#include <stdint.h>

#include "core/sampling/watched.h"

#ifdef RPP_TESTING

void rb_rpp_testing_watch(VALUE object, uint64_t birth);
/* Ends the process if an address is that of no object, or of one of another type. With `fate`: or of one that dies. */
void rb_rpp_testing_watched(const rpp_watched *table, rpp_fate (*fate)(uintptr_t address));

#else

static inline void rb_rpp_testing_watch(VALUE object, uint64_t birth) {}
static inline void rb_rpp_testing_watched(const rpp_watched *table, rpp_fate (*fate)(uintptr_t address)) {}

#endif

#endif
