/* moments.h - the short moments, at random, in which what is too frequent to be watched always is watched.
 *
 * On and off alternate, and each lasts for an exponential time. So the share of the time that is on is known, and how
 * long a state has lasted says nothing about what follows: a state found after an unknown time is simply drawn again.
 *
 * Why nothing is preferred: the caller switches at the safepoints of the program. What happens between two safepoints
 * is watched if the state was on at the first of them, whatever follows it and however long it takes. That has the same
 * probability for all of it.
 *
 * Threads    one at a time.
 * Ownership  nothing to own.
 */
#ifndef RPP_MOMENTS_H
#define RPP_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rpp_moments {
    uint64_t on_ns, off_ns; /* on average */
    uint64_t until_ns;      /* the next change */
    uint64_t random;
    bool on;
} rpp_moments;

void rpp_moments_init(rpp_moments *moments, uint64_t on_ns, uint64_t off_ns, uint64_t seed, uint64_t now_ns);
/* True if it is on at this time; time goes forward. */
bool rpp_moments_at(rpp_moments *moments, uint64_t now_ns);
/* No call will come for an unknown time. Draws the state that will then be found, and returns it. */
bool rpp_moments_rest(rpp_moments *moments);
/* The rest is over: the state that was drawn lasts from now on. */
void rpp_moments_go_on(rpp_moments *moments, uint64_t now_ns);

#endif
