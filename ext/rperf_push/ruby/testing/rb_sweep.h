/* rb_sweep.h - in the testing build: runs the tick's handler at every instruction of an operation and checks each
 * stack.
 *
 * Native.sweep(steps_max:, burst:, gap:, seed:, code:) { operation }
 *   Calls the real SIGURG handler at each instruction, as the kernel would. Each resulting stack must have the stack
 *   before the operation as its root, or belong to a fiber or thread; and it must follow from the previous one by one
 *   push, by pops, or by a switch. Returns the record below, which spec/sweep compares with the VM's own events.
 *     outcomes  {reason => instructions}: captured, or the reason why not
 *     changes   {kind => count}: how each stack follows from the previous one
 *     stacks    [[names, root first, from the operation on; whether on the operation's own stack; whether leaves only;
 *               seen]]
 *     frames    [[name, path, first line, seen, as leaf, least line, greatest line]]
 *     changing  [[symbol, count]]: where the VM was changing the stack
 *     code      [[instructions within the address range, leaf]] for each of `code`: [[begin, end]] of C functions
 *     wrong     [[what, instruction's symbol, stack before, stack]], the first few
 * Native.sweep_again   after a stack overflow, whose handler stopped the steps.
 * Native.stack_names   the stack of the calling method, from rb_profile_frames, root first.
 * On a processor that cannot single-step (rb_step.h), RPERF_PUSH_TESTING_HZ=5000 replaces the steps; "steps" are then
 * captures.
 *
 * Threads    sweep: one at a time, under the GVL. The others: in the handler.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_SWEEP_H
#define RB_SWEEP_H

#include "vm/rb_compat.h"

#ifdef RPP_TESTING

/* Call it once per process, after rb_rpp_testing_init: the sweep sets probes. */
void rb_rpp_sweep_init(VALUE native);

#endif

#endif
