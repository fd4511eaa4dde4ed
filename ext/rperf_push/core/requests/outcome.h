/* outcome.h - how a request ended. This becomes known only after its samples were taken.
 *
 * The label sets of a request refer to its outcome (label_sets.h). It becomes labels when a window is closed.
 *
 * Threads    any thread: the outcome is one atomic. retain is async-signal-safe; release is not, because it frees.
 * Ownership  counted references; the texts of a view are static.
 */
#ifndef RPP_OUTCOME_H
#define RPP_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#define RPP_OUTCOME_STATUS_LABEL "status"
#define RPP_OUTCOME_SLOW_LABEL   "slow"
#define RPP_OUTCOME_OPEN         "open" /* the status of a request that has not ended */

typedef enum rpp_slow { RPP_SLOW_UNKNOWN, RPP_SLOW_NO, RPP_SLOW_YES } rpp_slow;

typedef struct rpp_outcome rpp_outcome;

/* For a request that begins now (monotonic ns). NULL if out of memory. */
rpp_outcome *rpp_outcome_new(uint64_t now_ns);
rpp_outcome *rpp_outcome_retain(rpp_outcome *outcome);
void rpp_outcome_release(rpp_outcome *outcome);
uint64_t rpp_outcome_began_ns(const rpp_outcome *outcome);
/* `status` is the HTTP status; a number outside of 100..599 means unknown. */
void rpp_outcome_end(rpp_outcome *outcome, unsigned status, rpp_slow slow);
bool rpp_outcome_has_ended(const rpp_outcome *outcome);
/* The thread that is about to end the request. What other threads do after the end, if the request has begun them, is
 * not its. */
void rpp_outcome_ends_in(rpp_outcome *outcome, uint32_t thread_seq);
/* True after the end, but in the thread that ended it: that one still has time to flush. */
bool rpp_outcome_is_over_for(const rpp_outcome *outcome, uint32_t thread_seq);

/* The texts of the labels; NULL: not known. */
typedef struct rpp_outcome_view {
    const char *status; /* "2xx", RPP_OUTCOME_OPEN */
    const char *slow;   /* "true", "false" */
} rpp_outcome_view;

rpp_outcome_view rpp_outcome_now(const rpp_outcome *outcome);

#endif
