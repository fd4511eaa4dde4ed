/* spent_time.h - a thread's recent time by state: each window and each silence halves it.
 *
 * It says how a time without events is divided (unseen_time.h), and what a finding weighs: the thread may have been off its core, so
 * its share on a core since the previous finding is the finding's weight. Not since the last reading: that would be after the wait for
 * the core, and all that ran would weigh twice.
 *
 * Threads    one at a time; async-signal-safe.
 * Ownership  the caller owns the struct.
 */
#ifndef RPP_SPENT_TIME_H
#define RPP_SPENT_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/states.h"
#include "sampling/thread_time.h"

/* A struct of all zeros: none. */
typedef struct rpp_spent_time {
    rpp_time in[RPP_STATE_COUNT];
    rpp_time ran_when_found; /* at the last finding; modulo 2^64 */
} rpp_spent_time;

void rpp_spent_halve(rpp_spent_time *spent);
/* Findings from now on have nothing to do with what was before. */
void rpp_spent_begin_finding(rpp_spent_time *spent);
/* The weight of a finding by whose clocks `after` has passed since. That belongs to the next one. */
uint64_t rpp_spent_weight_of_finding(rpp_spent_time *spent, uint64_t weight_ns, rpp_time after);

#endif
