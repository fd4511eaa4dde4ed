/* rb_on_demand.h - sessions on demand: start, stop, snapshot, profile; their results are Ruby Hashes.
 *
 * The program's own session, that of `rperf-push record`, and those of peers run side by side, independently. Each has its own
 * pipeline, whose windows go into a recording instead of to a backend. Forked children continue only the program's own session;
 * the others belong to one process.
 *
 * Threads    methods of Native: under the GVL.
 * Ownership  a session owns its recorder.
 */
#ifndef RB_ON_DEMAND_H
#define RB_ON_DEMAND_H

#include "rb_compat.h"

#include "rb_life.h"

extern const rb_rpp_participant rb_rpp_on_demand_life;

void rb_rpp_on_demand_init(VALUE native);

#endif
