/* rb_sums.h - sums over the samples of data Hashes: several Hashes as one; functions and calls.
 *
 * Threads    under the GVL.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_SUMS_H
#define RB_SUMS_H

#include "vm/rb_compat.h"

/* Defines Native.sum_samples and Native.call_graph. */
void rb_rpp_sums_init(VALUE native);

#endif
