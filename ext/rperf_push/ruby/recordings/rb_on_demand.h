/* rb_on_demand.h - the methods of Native for sessions on demand (rb_demand.h): start, stop, snapshot, profile; their
 * results are Ruby Hashes.
 *
 * Threads    under the GVL.
 * Ownership  nothing to own.
 */
#ifndef RB_ON_DEMAND_H
#define RB_ON_DEMAND_H

#include "vm/rb_compat.h"

void rb_rpp_on_demand_init(VALUE native);

#endif
