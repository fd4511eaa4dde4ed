/* window_part.h - delivers a window in parts if no safepoint ends it: what is known at its end, and the rest later.
 *
 * A waiting thread is captured when its wait is over, and the sample then holds the whole wait, including the time
 * before the first part. A thread cannot have more wall time since the first part than has passed since then; any
 * excess was spent waiting before it. So each thread's time is divided to the nanosecond, and no thread is woken for
 * it.
 *
 * Threads    one at a time, like the profile; any thread may read names.
 * Ownership  the caller owns the returned profile.
 */
#ifndef RPP_WINDOW_PART_H
#define RPP_WINDOW_PART_H

#include "profile/profile.h"

/* Each function moves time from the profile into a new one. NULL: there is none to move. If out of memory, time stays
 * where it is. */

/* Moves the time of all stacks whose frames have names. */
rpp_profile *rpp_window_part_known(rpp_profile *profile, const rpp_frame_names *names,
                                   const rpp_profile_limits *limits);
/* Moves from each thread's waits the excess over `since_ns`. */
rpp_profile *rpp_window_part_late(rpp_profile *profile, uint64_t since_ns, const rpp_profile_limits *limits);

#endif
