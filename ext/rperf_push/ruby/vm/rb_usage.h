/* rb_usage.h - the process's resource usage so far.
 *
 * Threads    under the GVL.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_USAGE_H
#define RB_USAGE_H

#include <stdbool.h>

#include "vm/rb_compat.h"

/* Defines Native.usage. */
void rb_rpp_usage_init(VALUE native);

#endif
