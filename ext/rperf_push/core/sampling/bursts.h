/* bursts.h - sampling bursts: short times, at random, in which events are seen that are too frequent for a hook on
 * each.
 *
 * On and off alternate, and each lasts for an exponential time. So the share of the time that is on is known, and how
 * long a state has lasted says nothing about what follows: a state found after an unknown time is simply chosen again.
 *
 * Why nothing is preferred: the caller switches at the safepoints of the program. What happens between two safepoints
 * is watched if the state was on at the first of them, whatever follows it and however long it takes. That has the same
 * probability for all of it.
 *
 * Threads    one at a time.
 * Ownership  nothing to own.
 */
#ifndef RPP_BURSTS_H
#define RPP_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rpp_bursts {
    uint64_t on_ns, off_ns; /* on average */
    uint64_t until_ns;      /* the next change */
    uint64_t random;
    bool on;
} rpp_bursts;

void rpp_bursts_init(rpp_bursts *bursts, uint64_t on_ns, uint64_t off_ns, uint64_t seed, uint64_t now_ns);
/* True if it is on at this time; time goes forward. */
bool rpp_bursts_at(rpp_bursts *bursts, uint64_t now_ns);
/* No call will come for an unknown time. Chooses the state that will then be found, and returns it. */
bool rpp_bursts_sleep(rpp_bursts *bursts);
/* Calls come again: the state that was chosen lasts from now on. */
void rpp_bursts_wake(rpp_bursts *bursts, uint64_t now_ns);

#endif
