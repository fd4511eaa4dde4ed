/* rb_overhead.h - measures our own time on application threads, in captures and jobs, for the budget. Hooks are
 * measured by rb_hooks.
 *
 * Threads    the thread that holds the GVL, also in handlers.
 * Ownership  nothing to own.
 */
#ifndef RB_OVERHEAD_H
#define RB_OVERHEAD_H

#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/stats.h"

extern unsigned rb_rpp_overheads; /* pairs begun and not ended */

/* Measures from begin to end; only the outermost pair counts. Begin returns the monotonic time, or 0 within another
 * pair. */
static inline uint64_t rb_rpp_overhead_begin(void)
{
    return rb_rpp_overheads++ ? 0 : rpp_monotonic_ns();
}

/* Counts at most `max_ns`: a longer time includes a wait for a core. */
static inline void rb_rpp_overhead_end(uint64_t began_ns, uint64_t max_ns)
{
    if (--rb_rpp_overheads) return;
    uint64_t took = rpp_monotonic_ns() - began_ns;
    rpp_stats_add(RPP_STAT_overhead_ns, took < max_ns ? took : max_ns);
}

/* In a forked child: no pair is open. */
void rb_rpp_overhead_discard_after_fork(void);

#endif
