/* rb_call_states.h - what threads do while calls are traced and no call begins or ends: the VM's events become states
 * (core/calls).
 *
 * Operation
 *   It listens to the sampler's hooks (rb_hooks), whether anything is sampled or not: these are installed once and
 *   never removed, because a forked child may not wait for the VM's lock of its hooks. A thread's states are in its
 *   record.
 *
 * Threads    see core/calls/call_states.h: READY runs on any native thread; the others under the GVL, or where the
 *            thread is about to release it.
 * Ownership  records are the sampler's and never freed.
 */
#ifndef RB_CALL_STATES_H
#define RB_CALL_STATES_H

#include "threads/rb_threads.h"

/* In a method: looks at all threads. Runs Ruby code. */
void rb_rpp_call_states_prepare(VALUE threads);
/* Under the GVL: all threads have records, and from now on states. `last_ec` becomes NULL where the next event of calls
 * must look for states that have passed: so an event that follows another one has nothing to look for. */
void rb_rpp_call_states_begin(bool by_ticks, uint64_t now, const VALUE **last_ec);
/* Also in a forked child. */
void rb_rpp_call_states_end(void);

#endif
