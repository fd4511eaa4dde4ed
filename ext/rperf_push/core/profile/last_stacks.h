/* last_stacks.h - stacks for what a session sees last: when a process ends, its threads have nothing of Ruby on their
 * stacks any more.
 *
 * What is captured then is of a moment, but the last window gives it all CPU time that earlier windows have carried
 * over. So it goes to the thread's latest stack under the same labels in the window. A wait for the GVL stays as it is:
 * threads wait like that when they begin.
 *
 * Threads    one at a time, like the profile.
 * Ownership  the caller owns the profile.
 */
#ifndef RPP_LAST_STACKS_H
#define RPP_LAST_STACKS_H

#include "profile/profile.h"

/* For the last window, before its time is shared out. What there is no memory for stays as it is. */
void rpp_give_last_stacks(rpp_profile *profile);

#endif
