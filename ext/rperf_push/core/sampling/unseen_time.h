/* unseen_time.h - divides a time without events (a lull) among the states.
 *
 * Threads    any thread: a pure function.
 * Ownership  nothing to own.
 */
#ifndef RPP_UNSEEN_TIME_H
#define RPP_UNSEEN_TIME_H

#include "sampling/states.h"
#include "sampling/thread_time.h"

/* Divides `unseen` (nanoseconds; no more CPU time than wall time) like the time `spent` before. `parts` gets one part for each
 * state, and they add up to `unseen`. */
void rpp_unseen_divide(const rpp_time spent[RPP_STATE_COUNT], rpp_time unseen, rpp_time parts[RPP_STATE_COUNT]);

#endif
