/* rb_frames.h - frames as rb_profile_frames returns them, turned into ids at once, named later, and let go of.
 *
 * Vocabulary
 *   young   captured, not named yet. Few; marked at every minor GC.
 *   old     named. Kept by write-barrier protected chunks, which a minor GC does not look at.
 *   unseen  not captured for three windows: dropped, so that methods, their classes and objects can be collected.
 *
 * Safety
 *   A frame is an iseq or a method entry: collectable, movable, and its address reused for another. So each one in the table
 *   is marked (and thereby pinned) from the capture on that first saw it.
 *
 * Threads    everything here: the thread that holds the GVL. convert also from hooks and signal handlers: no allocation.
 */
#ifndef RB_FRAMES_H
#define RB_FRAMES_H

#include "rb_compat.h"

#include <stdbool.h>

#include "core/frame_names.h"
#include "core/stack_table.h"

/* Once a process. Frames in files below lib_dir, and C methods of RperfPush, are the profiler's own: hidden. */
void rb_rpp_frames_init(const char *lib_dir);
rpp_frame_names *rb_rpp_frames_names(void);

/* Leaf first, as rb_profile_frames gives them; lines may be NULL. False: no room or busy, try again later (the next job
 * makes room). */
bool rb_rpp_frames_convert(const VALUE *frames, const int *lines, int count, rpp_location *locations);

uint32_t rb_rpp_frames_unnamed(void);
/* Names frames, newest first, until the budget is spent; grows the tables. In a job or method only: allocates. */
void rb_rpp_frames_name(uint64_t budget_ns);
/* A window ended: forgets what was not seen for three of them. In a job or method only. */
void rb_rpp_frames_next_window(void);

#endif
