/* rb_walk.h - walks a thread's stack at any instruction.
 *
 * Why not rb_profile_frames alone
 *   It is correct at safepoints. In a signal handler it follows pointers that the VM may be changing: while a block's
 *   environment moves to the heap, the slot of its flags holds an object, and the walk leaves the environment (a crash
 *   within seconds). It also omits Ruby frames without a program counter, which JIT code creates, so the time of such
 *   a method appears at its caller.
 *
 * Operation
 *   A walk reads the control frames at the offsets of rb_vm_layout.h. It checks each pointer before it follows it, and
 *   each frame before it returns it: a frame is an iseq or a method entry. If a check fails, the walk ends without a
 *   result, and the caller tries again later. rb_guard.h is the second line of defence. If the layout is not verified
 *   on this Ruby, walks use the VM's functions, and only at safepoints.
 *
 * Threads    the thread that holds the GVL; a signal handler on it only if the layout is verified. No allocation.
 * Ownership  frames are borrowed from the VM; the caller provides the arrays.
 */
#ifndef RB_WALK_H
#define RB_WALK_H

#include "vm/rb_compat.h"

#include <stdbool.h>

/* Verifies the layout with known stacks, once per process image; later calls return the first result. Only in a method
 * or job: it calls Ruby and may raise if it is interrupted; then the next call verifies. */
bool rb_rpp_walk_prove(void);

/* The VM is changing the stack: try later. */
#define RB_RPP_WALK_NOT_NOW (-1)

/* Returns the number of frames of a thread's stack, and the frames, leaf first, as rb_profile_frames does; at most
 * `limit`. `lines` may be NULL; line 0 means unknown. The thread must be at a safepoint: the caller, or a thread that
 * does not run. */
int rb_rpp_walk(VALUE thread, int limit, VALUE *frames, int *lines);
/* The same for the calling thread in a signal handler, at any instruction. Returns at least 1, or
 * RB_RPP_WALK_NOT_NOW. */
int rb_rpp_walk_interrupted(VALUE thread, int limit, VALUE *frames, int *lines);

/* Call it when a window ends, under the GVL, where no walk can interrupt it. */
void rb_rpp_walk_next_window(void);

/* Defines the methods of Native for lib/rperf_push/base/walk_check.rb. */
void rb_rpp_walk_init(VALUE native);

#endif
