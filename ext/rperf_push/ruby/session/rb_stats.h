/* rb_stats.h - RperfPush.stats: the counters of core/base/stats, and what the session does, as a Hash.
 *
 * Threads    under the GVL.
 * Ownership  the Hash is a new one.
 */
#ifndef RB_STATS_H
#define RB_STATS_H

#include "vm/rb_compat.h"

/* Defines Native.stats. */
void rb_rpp_stats_init(VALUE native);

#endif
