/* heap_levels.h - what the watched objects of a session are: the stacks and labels that they were born with, for longer
 * than a window.
 *
 * An allocation comes as a sample. At the end of a window, the table of watched objects (sampling/watched_objects.h)
 * says which of them are alive. They become rows of this window: a level, not a sum. What was alive at the last GC
 * counts, because of younger objects it is unknown whether they are garbage.
 *
 * A sampled object stands for as many objects as the VM counted in its window for each one sampled (counted_objects.h).
 *
 * Names of frames are held as long as an allocation needs them, but not frames: a method may refer to the object.
 *
 * Threads    one at a time: the collector. Only `tell` runs under the GVL, while the collector is not at it
 *            (pipeline.h).
 * Ownership  the levels own copies of stacks and a reference to each label set.
 */
#ifndef RPP_HEAP_LEVELS_H
#define RPP_HEAP_LEVELS_H

#include "profile/profile.h"
#include "sampling/frame_names.h"
#include "sampling/watched_objects.h"

/* The bucket of a number of GCs, as a label. */
#define RPP_GCS_LABEL "gcs"

typedef struct rpp_levels rpp_levels;

/* For at most so many objects at a time. With `ages`, rows have a label that says how many GCs their objects have
 * survived. NULL if out of memory. The names must outlive it. */
rpp_levels *rpp_levels_new(rpp_frame_names *names, uint32_t capacity, bool ages);
void rpp_levels_free(rpp_levels *levels);

/* A sample with `watched`. If there is no room or memory for it, it is counted (objects_unwatched). */
void rpp_levels_note(rpp_levels *levels, const rpp_sample *sample, const rpp_location *locations);
/* The window should end, so that the dead are forgotten. */
bool rpp_levels_are_filling(const rpp_levels *levels);
/* The objects that are alive at the boundary; NULL: none. Allocates nothing. */
void rpp_levels_tell(rpp_levels *levels, const rpp_watched *watched, uint64_t boundary_ns);
/* Adds the level that was told to the profile of this window, or to a new one if that is NULL and there is a level.
 * Discards the dead. If out of memory, the profile may lack some rows, or all. */
void rpp_levels_add(rpp_levels *levels, uint32_t window, const rpp_profile_limits *limits, rpp_profile **profile);

/* For tests: how many allocations it knows. */
size_t rpp_levels_allocations(const rpp_levels *levels);
/* The label of so many GCs: "0", "1", "2-3", "4-7", ... */
const char *rpp_gcs_text(uint32_t gcs);

#endif
