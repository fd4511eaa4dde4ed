/* next_try.h - says when a payload is tried again, and for how long the backend is left alone. Which statuses are
 * retried at all: http/retry_verdict.h.
 *
 * There are two waits, each for its own reason. The backend is left alone after consecutive failures, of any payloads,
 * so an outage costs one try at a time. A payload that may itself have caused the failure waits behind the others. If
 * they are delivered next, it has failed alone, which it may do only a few times. A payload that reached no server is
 * not to blame and stays in front.
 *
 * Threads    any thread; the functions are pure.
 * Ownership  the caller keeps everything.
 */
#ifndef RPP_NEXT_TRY_H
#define RPP_NEXT_TRY_H

#include "http/retry_verdict.h"

/* Consecutive failures, of any payloads. All zero: the last try succeeded. */
typedef struct rpp_streak {
    uint32_t failures;         /* each of them can be retried */
    uint64_t absent_since_ns;  /* the first try that reached no server; 0: the last one reached it */
    uint64_t refused_since_ns; /* the first refusal (401, 403, 404 ...); 0: the last answer was no refusal */
} rpp_streak;

typedef struct rpp_situation {
    uint64_t now_ns;
    rpp_tries tries;   /* of the payload, including this one */
    rpp_streak streak; /* before this try */
    /* The try began before another one failed. So it tells nothing new of the backend, unless it brings a longer
     * Retry-After. */
    bool stale;
    uint64_t backoff_until_ns; /* for stale */
    bool flushing, stopping;
    bool hurried;   /* a flush or a stop came while the try was under way */
    bool has_spool; /* another process can send what a stop aborts */
} rpp_situation;

typedef struct rpp_next_try {
    rpp_verdict verdict;
    rpp_streak streak;
    /* for RPP_VERDICT_RETRY */
    uint64_t backoff_until_ns; /* no try before this time; UINT64_MAX: no try at all */
    uint64_t due_ns;           /* no try of this payload before; 0: it stays in front of the others */
} rpp_next_try;

/* It advances `random`. */
rpp_next_try rpp_next_try_after(const rpp_retry_policy *policy, const rpp_attempt *attempt,
                                const rpp_situation *situation, uint64_t *random);

/* True if the payload itself may have caused the failure: a server or a disk had taken a part of it. */
bool rpp_may_be_its_own_fault(const rpp_attempt *attempt);

#endif
