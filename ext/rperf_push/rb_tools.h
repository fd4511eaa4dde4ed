/* rb_tools.h - what the command line needs of the delivery: one profile, one try, with or without a session. */
#ifndef RB_TOOLS_H
#define RB_TOOLS_H

#include "rb_compat.h"

/* Defines Native.tiny_profile and Native.deliver. */
void rb_rpp_tools_init(VALUE native);

#endif
