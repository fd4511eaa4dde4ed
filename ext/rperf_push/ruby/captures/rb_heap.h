/* rb_heap.h - follows the life of sampled objects, for mode heap.
 *
 * The allocation hook (rb_allocs.h) puts objects into the table of watched objects (core/sampling/watched_objects.h).
 * When a GC has marked, and has not swept yet, the VM is asked for each of them whether it is marked. So a death is
 * known before an address can be used again, and nothing is done where an object is freed. Compaction tells a holder,
 * which marks nothing, where objects went.
 *
 * Safety
 *   An address is used only if each GC since the allocation was heard of; the VM counts its GCs. Events can be lost
 *   with other Ractors, and none come at the exit. If one was lost, all objects are forgotten (heap_losses). The holder
 *   itself is always reachable: if the VM does not call it marked, its answers mean something else, and all is
 *   forgotten, too. No Ruby code runs, and nothing is allocated, but in attach.
 *
 * Threads    under the GVL; marked and the holder's compaction on the thread that collects, while no other one runs
 *            Ruby.
 * Ownership  the table belongs to this file.
 */
#ifndef RB_HEAP_H
#define RB_HEAP_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/base/value_types.h"
#include "core/sampling/watched_objects.h"
#include "threads/rb_threads.h"

/* How many objects a session of this mode watches at the most: none without levels, sampled ones, or one in each
 * interval. */
#define RB_RPP_WATCHED_SAMPLED 16384u
static inline uint32_t rb_rpp_watched_max(unsigned mode, uint32_t alloc_interval)
{
    if (!(mode & rpp_level_mode())) return 0;
    return alloc_interval ? RPP_WATCHED_MAX : RB_RPP_WATCHED_SAMPLED;
}

/* NULL, or why this Ruby has no mode heap. Any thread. */
const char *rb_rpp_heap_why_not(void);

/* The subscriber wants levels, for objects that are born from now on. If out of memory, a line in the log says so. */
void rb_rpp_heap_attach(rb_rpp_subscriber subscriber, uint32_t watched_max);
/* Any subscriber, also one that wants none. */
void rb_rpp_heap_detach(rb_rpp_subscriber subscriber);
bool rb_rpp_heap_is_wanted(rb_rpp_subscriber subscriber);

/* In the allocation hook: the number of an object's allocation; 0: it is not to be watched. */
uint64_t rb_rpp_heap_choose(void);
/* Some subscriber knows the allocation. */
void rb_rpp_heap_watch(VALUE object, uint64_t allocation);
/* In the GC, at its event END_MARK. */
void rb_rpp_heap_marked(void);
/* There are other Ractors now: nothing is watched any more. */
void rb_rpp_heap_give_up(void);
/* The subscriber's window ends now. */
void rb_rpp_heap_cut(rb_rpp_subscriber subscriber);

/* In a forked child, and at the exit: touches our own memory only. */
void rb_rpp_heap_discard(void);
/* Call it once per process. */
void rb_rpp_heap_init(void);

#endif
