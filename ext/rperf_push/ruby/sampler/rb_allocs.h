/* rb_allocs.h - captures allocations: the stacks that create objects, and their classes.
 *
 * The VM counts all objects, which costs nothing. Its hook, which sees each of them, costs a third of an allocation and
 * more. So the hook is on only in short bursts at random (core/sampling/bursts.h), some 1.5 % of the time, and of
 * what it then sees some are sampled. Counters decide totals, samples decide the distribution
 * (core/profile/counted_objects.h). To switch it takes some 100 ns, walks no code and leaves nothing behind
 * (benchmark/allocations.rb).
 *
 * A session may instead ask for each n-th object: then the hook is always on.
 *
 * The new object is not complete: only its type, class and slot are read. A class becomes the leaf frame of the stack;
 * what the VM creates for itself has none and is (internal).
 *
 * For mode heap, the objects that are captured are watched, too (rb_heap.h).
 *
 * With other Ractors nothing is switched: Ruby loses events of other Ractors when a tracepoint changes. The counters go
 * on, so the objects are then without a stack.
 *
 * Threads    the thread that holds the GVL. Nothing but follow allocates.
 * Ownership  nothing to own.
 */
#ifndef RB_ALLOCS_H
#define RB_ALLOCS_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "captures/rb_alloc_counts.h"
#include "core/base/value_types.h"
#include "core/sampling/bursts.h"

/* True if values of this mode are made of objects. */
static inline bool rb_rpp_allocs_are_wanted(unsigned mode)
{
    return mode & (RPP_MODE_ALLOC_OBJECTS | RPP_MODE_ALLOC_SPACE | rpp_level_mode());
}

/* For pipelines: when they watch. */
extern const rpp_bursts rb_rpp_allocs_bursts;

/* Before the subscriber is switched on for the first time. */
void rb_rpp_allocs_attach(rb_rpp_subscriber subscriber, const rb_rpp_alloc_settings *settings);
/* After the subscriber was switched off for the last time. */
void rb_rpp_allocs_detach(rb_rpp_subscriber subscriber);
/* After the subscriber was switched on, before it is switched off: its objects are counted in between. */
void rb_rpp_allocs_resume(rb_rpp_subscriber subscriber);
void rb_rpp_allocs_pause(rb_rpp_subscriber subscriber);
/* In a job or method: switches the hook as the bursts and sessions want it now. */
void rb_rpp_allocs_follow(void);

/* In a forked child: touches our own memory only. The next follow switches the hook off. */
void rb_rpp_allocs_discard_after_fork(void);
/* Call it once per process. */
void rb_rpp_allocs_init(void);

#endif
