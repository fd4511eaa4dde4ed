/* rb_call_objects.h - the objects that are created while calls are traced: how many, by call, class, file and line.
 *
 * Operation
 *   The VM's hook for new objects is on while the tracing runs. An object belongs to the call on top, as the VM's
 *   counter of objects does (rb_call_hook.h), so both have the same sums. Its file and line are those of the innermost
 *   code in Ruby. Classes and code are marked until the tracing ends.
 *
 * Safety
 *   The hook allocates nothing and does not raise. In other Ractors it does nothing: their objects are in the counter
 *   only.
 *
 * Threads    under the GVL.
 * Ownership  the tracing owns its table.
 */
#ifndef RB_CALL_OBJECTS_H
#define RB_CALL_OBJECTS_H

#include "vm/rb_compat.h"

#include "core/calls/call_objects.h"

/* What the tracing wants: where an object that is created now belongs. False: nowhere. */
typedef bool (*rb_rpp_call_objects_place)(rb_trace_arg_t *event, uint32_t *node);

void rb_rpp_call_objects_go(rpp_call_objects *objects, rb_rpp_call_objects_place place);
void rb_rpp_call_objects_halt(void);
/* In a forked child: the hook does nothing, and stays until its next call. */
void rb_rpp_call_objects_discard_after_fork(void);
void rb_rpp_call_objects_mark(const rpp_call_objects *objects);

#endif
