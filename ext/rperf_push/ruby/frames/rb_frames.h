/* rb_frames.h - the frame table: converts frames of rb_profile_frames to ids at once, names them later, and releases
 * them.
 *
 * Vocabulary
 *   young   captured, but not named yet. There are few; each minor GC marks them.
 *   old     named. Write-barrier protected chunks hold them, which a minor GC skips.
 *   unseen  not captured for three windows. It is dropped, so that the GC can collect the method, its class and its
 *           object.
 *
 * Safety
 *   A frame is an iseq or a method entry. The GC may collect or move it and reuse its address. So each frame in the
 *   table is marked, and thereby pinned, from its first capture on.
 *
 * Threads    the thread that holds the GVL, except where noted. convert also runs in hooks and signal handlers; it does
 *            not allocate.
 * Ownership  the process has one table; it keeps frames alive until it drops them.
 */
#ifndef RB_FRAMES_H
#define RB_FRAMES_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "core/sampling/frame_names.h"
#include "core/sampling/stack_table.h"

/* Call it once per process. Raises if out of memory. */
void rb_rpp_frames_init(void);
/* Where the names go. Owned by the table. */
rpp_frame_names *rb_rpp_frames_names(void);

/* Converts frames, leaf first, as rb_profile_frames returns them; lines may be NULL. False: no room, or busy. Try again
 * later; the next job makes room. */
bool rb_rpp_frames_convert(const VALUE *frames, const int *lines, int count, rpp_location *locations);

/* The same for a class, as the frame of its objects. */
bool rb_rpp_frames_convert_class(VALUE klass, rpp_location *location);

uint32_t rb_rpp_frames_unnamed(void);
/* Names frames, oldest first, drops unseen ones, and grows the tables, until the budget is spent. True: there is more
 * to do. Only in a job or method, because it allocates. */
bool rb_rpp_frames_work(uint64_t budget_ns);
/* A pipeline may read names from its creation until it is freed, even if it gets no more samples. Any thread. */
void rb_rpp_frames_add_reader(void);
void rb_rpp_frames_remove_reader(void);
unsigned rb_rpp_frames_readers(void);
/* In a forked child: no pipeline remains. Any context. */
void rb_rpp_frames_discard_after_fork(void);
/* Call it when a window ends: later jobs check each frame for being unseen. Only in a job or method. */
void rb_rpp_frames_next_window(void);

#endif
