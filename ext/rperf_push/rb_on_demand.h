/* rb_on_demand.h - the session on demand: start, stop, snapshot, profile; its result is a Ruby Hash.
 *
 * It has a pipeline of its own beside the continuous session's, whose windows go into a recording instead of to a backend.
 *
 * Threads    methods of Native: under the GVL.
 */
#ifndef RB_ON_DEMAND_H
#define RB_ON_DEMAND_H

#include "rb_compat.h"

void rb_rpp_on_demand_init(VALUE native);
/* Ends it; what it has recorded is gone. One that is being stopped is left to whoever does that. May be interrupted. */
VALUE rb_rpp_on_demand_drop(VALUE unused);
/* A forked child has none. */
void rb_rpp_on_demand_forget_after_fork(void);

#endif
