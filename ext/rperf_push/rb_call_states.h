/* rb_call_states.h - what threads do while calls are traced and no call begins or ends: the VM's events become states (core/calls).
 *
 * Operation
 *   The sampler's hooks pass on what they hear (rb_hooks), whether anything is sampled or not: they are installed once and never
 *   removed, because a forked child may not wait for the VM's lock of its hooks. While nothing is traced, this costs a load.
 *   A thread's states are in its record.
 *
 * Threads    see core/calls/call_states.h: READY runs on any native thread; the others under the GVL, or where the thread is about to
 *            release it.
 * Ownership  records are the sampler's and never freed.
 */
#ifndef RB_CALL_STATES_H
#define RB_CALL_STATES_H

#include "rb_threads.h"

extern _Atomic bool rb_rpp_call_states_on;

/* Whether states are followed. Any thread. */
static inline bool rb_rpp_call_states_are_on(void)
{
    return atomic_load_explicit(&rb_rpp_call_states_on, memory_order_acquire);
}

/* In a method: looks at all threads. Runs Ruby code. */
void rb_rpp_call_states_prepare(VALUE threads);
/* Under the GVL: all threads have records, and from now on states. `last_ec` becomes NULL where the next event of calls
 * must look for states that have passed: so an event that follows another one has nothing to look for. */
void rb_rpp_call_states_begin(bool by_ticks, uint64_t now, const VALUE **last_ec);
/* Also in a forked child. */
void rb_rpp_call_states_end(void);

/* --- hooks: the thread has a record --- */

void rb_rpp_call_states_of_thread(rb_rpp_thread *t, rb_event_flag_t event);
/* In a pause of the GC, on the thread that makes it: the phase that follows the event. */
void rb_rpp_call_states_of_gc(rb_rpp_thread *t, rb_event_flag_t event, bool marks);

#endif
