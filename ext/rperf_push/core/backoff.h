/* backoff.h - what becomes of a payload after a try: done, again at a time, or dropped with a reason. Pure arithmetic.
 *
 * Repeating is safe only where the backend cannot have stored the payload: failures before the request went out whole, and
 * 408, 429, 500, 502, 503. A request that went out whole without an answer, or 504, has an unknown outcome: sending it again
 * would count it twice (measured on Pyroscope 2.2.1), so it is left, unless `resend_unconfirmed`.
 */
#ifndef RPP_BACKOFF_H
#define RPP_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* How one try ended, as the transport saw it. */
typedef enum rpp_attempt_end {
    RPP_END_ANSWERED,  /* an HTTP status came, whether or not all of its body did */
    RPP_END_NOT_SENT,  /* refused, DNS, TLS, timeout or reset before the request went out whole */
    RPP_END_NO_ANSWER, /* sent whole, but no status came */
    RPP_END_STORED,    /* backends without HTTP: done */
    RPP_END_IO_ERROR,  /* backends without HTTP: worth another try */
    RPP_END_ABORTED    /* we ourselves gave up: shutdown */
} rpp_attempt_end;

typedef struct rpp_attempt {
    rpp_attempt_end end;
    int http_status;         /* when answered */
    bool permanent;          /* the backend's dialect says: never again, whatever the status */
    bool sent_whole;         /* for RPP_END_ABORTED */
    uint64_t retry_after_ns; /* 0: not said */
} rpp_attempt;

/* The tries of one payload so far, this one included. */
typedef struct rpp_tries {
    uint32_t begun;
    uint32_t server_errors; /* of these, answered 500 */
} rpp_tries;

typedef enum rpp_verdict {
    RPP_VERDICT_DELIVERED,
    RPP_VERDICT_RETRY, /* at *due_ns */
    RPP_VERDICT_UNCONFIRMED,
    RPP_VERDICT_REJECTED, /* never again */
    RPP_VERDICT_GIVEN_UP, /* too many tries */
    RPP_VERDICT_ABORTED   /* not delivered because of shutdown */
} rpp_verdict;

typedef struct rpp_backoff_policy {
    uint64_t first_ns, max_ns; /* exponential: first, twice that, ... at most max; each with jitter of +-25 % */
    uint32_t max_tries;        /* 0: as long as it is young enough */
    bool resend_unconfirmed;
} rpp_backoff_policy;

/* `random` is advanced. */
rpp_verdict rpp_backoff_decide(const rpp_backoff_policy *policy, const rpp_attempt *attempt, rpp_tries tries,
                               uint64_t now_ns, uint64_t *random, uint64_t *due_ns);

/* When to try after so many failures in a row. `random` is advanced. */
uint64_t rpp_backoff_due_ns(const rpp_backoff_policy *policy, uint32_t failures, uint64_t retry_after_ns,
                            uint64_t now_ns, uint64_t *random);

/* A Retry-After value: seconds or an HTTP date, at most an hour; 0 when it is neither. */
uint64_t rpp_retry_after_ns(const char *value, uint64_t realtime_ns);

#endif
