/* rb_pprof.h - converts data Hashes to pprof and back.
 *
 * Threads    under the GVL.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_PPROF_H
#define RB_PPROF_H

#include "vm/rb_compat.h"

/* Defines Native.encode_pprof and Native.decode_pprof. */
void rb_rpp_pprof_init(VALUE native);

#endif
