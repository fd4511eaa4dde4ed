/* shown_stacks.h - stacks as profiles show them: without the profiler's own frames and, if wanted, with the class of
 * allocated objects as the label `class` instead of a leaf frame. Rows that differ in nothing else become one.
 *
 * Threads    one at a time, like the profile.
 * Ownership  the caller owns the profile.
 */
#ifndef RPP_SHOWN_STACKS_H
#define RPP_SHOWN_STACKS_H

#include "profile/profile.h"

#define RPP_CLASS_LABEL "class"
#define RPP_CLASS_PATH  "<class>" /* of the frames that are classes */

/* For a closed profile. What there is no memory or no room for stays as it is. */
void rpp_show_stacks(rpp_profile *profile, const rpp_frame_names *names, bool class_labels);

#endif
