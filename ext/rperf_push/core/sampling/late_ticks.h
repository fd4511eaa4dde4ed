/* late_ticks.h - weighs ticks of another thread, so that code right after a wait gets its part of the time.
 *
 * Why
 *   Engine safepoint's ticks come from a thread that needs a core. Where none is free, a thread that has just woken up
 *   keeps its own for a while, so a tick that was due right after a wait comes later, and finds later code. Which stack
 *   it would have found is lost. But the clocks tell how much CPU time threads spend at each time since they acquired
 *   the GVL, so these times are strata: findings in one step share the CPU time that was spent in it, however many of
 *   them came in time.
 *
 * Vocabulary
 *   on_gvl_ns   the CPU time of a thread since it acquired the GVL.
 *   step        a range of on_gvl_ns: short ones after the GVL was acquired, then one for all that is later.
 *
 * Operation
 *   A thread that was found often enough is measured against its own findings, all others against those of all threads:
 *   on a crowded machine a thread that works long waits for a core while it has the GVL, others never do.
 *
 * Threads    one at a time: the thread that holds the GVL. Nothing allocates.
 * Ownership  the caller owns the structs.
 */
#ifndef RPP_LATE_TICKS_H
#define RPP_LATE_TICKS_H

#include <stdint.h>

#define RPP_ON_GVL_STEP_NS         (UINT64_C(1) << 18) /* 0.26 ms */
#define RPP_ON_GVL_STEPS           17u                 /* the last one, from 4.2 ms on, has all the rest */
#define RPP_ON_GVL_UNKNOWN         UINT64_MAX
#define RPP_LATE_TICKS_MOST_WEIGHT 6u    /* times its own weight that a finding may get */
#define RPP_LATE_TICKS_OWN         64u   /* findings of a thread that is measured against itself */
#define RPP_LATE_TICKS_KEPT        4096u /* findings; then what is known counts half as much */

/* A struct of all zeros knows nothing yet. */
typedef struct rpp_late_ticks {
    double spent_ns[RPP_ON_GVL_STEPS]; /* CPU time in this step */
    double found_ns[RPP_ON_GVL_STEPS]; /* the weights of its findings */
    unsigned findings;
} rpp_late_ticks;

/* A thread used CPU time on the GVL: from this time since it acquired the GVL, to that one. */
void rpp_late_ticks_spend(rpp_late_ticks *all, rpp_late_ticks *own, uint64_t from_ns, uint64_t to_ns);
/* The thread was found so long after it acquired the GVL; the time up to there was told before. Returns what the
 * finding weighs, in ns. */
uint64_t rpp_late_ticks_weigh(rpp_late_ticks *all, rpp_late_ticks *own, uint64_t on_gvl_ns, uint64_t weight_ns);

#endif
