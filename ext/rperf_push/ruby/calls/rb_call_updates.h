/* rb_call_updates.h - what calls do while they are traced, for a viewer: again and again what is new
 * (core/calls).
 *
 * Operation
 *   Ruby asks which methods and threads have no name yet, and names them: that may run Ruby code, and other threads
 *   meanwhile. When all have one, an update is made at one moment, in which no other thread runs.
 *
 * Threads    under the GVL. All may raise.
 * Ownership  the tracing owns its changes.
 */
#ifndef RB_CALL_UPDATES_H
#define RB_CALL_UPDATES_H

#include "vm/rb_compat.h"

/* Defines the methods of Native for lib/rperf_push/calls/call_updates.rb. */
void rb_rpp_call_updates_init(VALUE native);

#endif
