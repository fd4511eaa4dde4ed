/* rb_custom.h - the values that the program counts itself: RperfPush.sample and RperfPush.declare.
 *
 * Threads    methods, also in other Ractors, where sample does nothing.
 * Ownership  nothing to own.
 */
#ifndef RB_CUSTOM_H
#define RB_CUSTOM_H

#include "vm/rb_compat.h"

void rb_rpp_custom_init(VALUE module, VALUE native);

#endif
