/* run_ages.h - weighs what ticks of another thread find, so that code of each age gets its share.
 *
 * Why
 *   Engine safepoint's ticks come from a thread that needs a core. Where none is free, a thread that has just woken up
 *   keeps its own for a while, so a tick that was due right after a wait comes later, and finds later code. Which stack
 *   it would have found is lost. But the clocks tell how much CPU time threads spend at each age, so ages are strata:
 *   the findings of an age share the CPU time spent there, however many of them came in time.
 *
 * Vocabulary
 *   run    from the moment a thread gets the GVL until it releases it.
 *   age    the CPU time on the GVL since the run began. Young ages belong to groups; all others are one group.
 *
 * Operation
 *   A thread that was found often enough is measured against its own findings, all others against those of all threads:
 *   on a crowded machine a thread that works long waits for a core in the middle of a run, others never do.
 *
 * Threads    one at a time: the thread that holds the GVL. Nothing allocates.
 * Ownership  the caller owns the structs.
 */
#ifndef RPP_RUN_AGES_H
#define RPP_RUN_AGES_H

#include <stdint.h>

#define RPP_AGE_GROUP_NS (UINT64_C(1) << 18) /* 0.26 ms */
#define RPP_AGE_GROUPS   17u                 /* the last one, from 4.2 ms on, has all the rest */
#define RPP_AGE_UNKNOWN  UINT64_MAX
#define RPP_AGE_MOST     6u    /* times its own weight that a finding may get */
#define RPP_AGES_OWN     64u   /* findings of a thread that is measured against itself */
#define RPP_AGES_MOST    4096u /* findings; then what is known counts half as much */

/* A struct of all zeros knows nothing yet. */
typedef struct rpp_run_ages {
    double spent_ns[RPP_AGE_GROUPS]; /* CPU time at this age */
    double found_ns[RPP_AGE_GROUPS]; /* the weights of its findings */
    unsigned findings;
} rpp_run_ages;

/* A thread's run had this age and has become that old. */
void rpp_ages_spend(rpp_run_ages *all, rpp_run_ages *own, uint64_t from_ns, uint64_t to_ns);
/* The thread was found at this age, after the time up to it was told. Returns what the finding weighs, in ns. */
uint64_t rpp_ages_weigh(rpp_run_ages *all, rpp_run_ages *own, uint64_t age_ns, uint64_t weight_ns);

#endif
