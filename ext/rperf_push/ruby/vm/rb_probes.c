/* rb_probes.c - named points at which the testing build looks on. */
#include "vm/rb_probes.h"

#ifdef RPP_TESTING

rb_rpp_probes rb_rpp_probed;

#endif
