/* contention.h - which waits were for something that another thread had: a lock, a queue's next item, a condition, or
 * the GVL.
 *
 * The frame at the leaf tells what a thread off the GVL waits for; waiting for the GVL is a state of its own. It counts
 * if another thread had the GVL meanwhile. A thread that another one woke, as by unlocking, still waits for that: both
 * states are one wait, which counts where it was blocked. Other waits, as for I/O or a sleep, are none.
 *
 * Threads    one at a time; the profile is open.
 * Ownership  the caller keeps everything.
 */
#ifndef RPP_CONTENTION_H
#define RPP_CONTENTION_H

#include "profile/profile.h"
#include "sampling/frame_names.h"

/* Before the profile is closed: rows that are no contention lose their count, and the others get their delay. */
void rpp_find_contentions(rpp_profile *profile, const rpp_frame_names *names);

#endif
