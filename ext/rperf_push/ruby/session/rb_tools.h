/* rb_tools.h - delivery for the command line: one profile, one try, with or without a session.
 *
 * Threads    under the GVL.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_TOOLS_H
#define RB_TOOLS_H

#include "vm/rb_compat.h"

/* Defines Native.tiny_profile and Native.deliver. */
void rb_rpp_tools_init(VALUE native);

#endif
