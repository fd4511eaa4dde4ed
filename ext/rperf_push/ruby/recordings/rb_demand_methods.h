/* rb_demand_methods.h - the methods of Native for sessions on demand (rb_demand.h): start, stop, snapshot, profile;
 * their results are Ruby Hashes.
 *
 * Threads    under the GVL.
 * Ownership  nothing to own.
 */
#ifndef RB_DEMAND_METHODS_H
#define RB_DEMAND_METHODS_H

#include "vm/rb_compat.h"

void rb_rpp_demand_methods_init(VALUE native);

#endif
