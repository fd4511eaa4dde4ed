/* retry_verdict.h - says for each status and failure of a try whether the payload is delivered, retried, or
 * dropped, and why. When it is retried: delivery/next_try.h.
 *
 * A retry is safe only if the backend cannot have stored the payload: after a failure before the request went out
 * whole, and after statuses that say so (408, 429, 500, 502, 503 and similar ones of edge networks). A request that
 * went out whole and got no answer in time, or 504 and similar ones, has an unknown outcome. A retry would count it
 * twice (measured on Pyroscope 2.2.1), so there is none, unless `resend_unconfirmed`. If the connection was closed
 * instead, the server has died: none of 30 requests that met a killed Pyroscope was stored. Such a request is sent
 * again, at most twice.
 *
 * 401, 403 and 404 come from rotated tokens and reloading proxies as well as from errors, so refusals are retried for
 * as long as the policy says.
 *
 * Threads    any thread; the functions are pure.
 * Ownership  the caller keeps everything.
 */
#ifndef RPP_RETRY_VERDICT_H
#define RPP_RETRY_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

/* How one try ended, as the transport saw it. */
typedef enum rpp_attempt_end {
    RPP_END_ANSWERED,  /* an HTTP status came, with or without its whole body */
    RPP_END_NOT_SENT,  /* refused, DNS, TLS, timeout or reset before the request went out whole */
    RPP_END_NO_ANSWER, /* sent whole, but no status came */
    RPP_END_STORED,    /* backends without HTTP: stored */
    RPP_END_IO_ERROR,  /* backends without HTTP: failed, retry */
    RPP_END_ABORTED    /* we gave up: shutdown */
} rpp_attempt_end;

/* What an answer says in addition to its status. */
typedef enum rpp_answer_meaning {
    RPP_MEANS_ITS_STATUS,
    RPP_MEANS_NOT_NOW, /* like 503 */
    RPP_MEANS_UNKNOWN, /* like 504: the payload may be stored */
    RPP_MEANS_REFUSED  /* like 401: something in front of the server answered */
} rpp_answer_meaning;

typedef struct rpp_attempt {
    rpp_attempt_end end;
    int http_status;            /* for RPP_END_ANSWERED */
    rpp_answer_meaning meaning; /* for RPP_END_ANSWERED */
    bool permanent;             /* the backend's dialect forbids a retry, whatever the status */
    bool reached;               /* for RPP_END_NOT_SENT: the server took a part of the body */
    bool sent_whole;            /* for RPP_END_ABORTED */
    bool closed;                /* for RPP_END_NO_ANSWER: the connection was closed before any line of an answer */
    uint64_t retry_after_ns;    /* 0: none */
} rpp_attempt;

/* The tries of one payload so far, this one included. */
typedef struct rpp_tries {
    uint32_t begun;
    uint32_t server_errors; /* those that were answered 500 */
    uint32_t alone;         /* those that failed although others were delivered since the previous failure */
    uint32_t closed;        /* those that ended as rpp_attempt.closed */
} rpp_tries;

typedef enum rpp_verdict {
    RPP_VERDICT_DELIVERED,
    RPP_VERDICT_RETRY, /* at *due_ns */
    RPP_VERDICT_UNCONFIRMED,
    RPP_VERDICT_REJECTED, /* never again */
    RPP_VERDICT_GIVEN_UP, /* too many tries */
    RPP_VERDICT_ABORTED   /* not delivered because of shutdown */
} rpp_verdict;

typedef struct rpp_retry_policy {
    uint64_t first_ns, max_ns; /* exponential: first, twice that, ... at most max; each with jitter of +-25 % */
    uint32_t max_tries;        /* 0: as long as it is young enough */
    uint32_t max_alone;        /* tries while others are delivered; 0: no limit */
    uint64_t refusals_ns;      /* for how long refusals are retried; 0: not at all */
    uint32_t refusal_step;     /* the pause after a refusal is at least the one after this many failures */
    bool keeps_server_errors;  /* gives up after a 500 only if others are delivered meanwhile: there is room to wait */
    bool resend_unconfirmed;
} rpp_retry_policy;

/* The policy of a session. `has_spool`: failed payloads wait on disk, where there is room. */
rpp_retry_policy rpp_retry_session_policy(bool has_spool, bool resend_unconfirmed);

/* Advances `random`. */
rpp_verdict rpp_retry_decide(const rpp_retry_policy *policy, const rpp_attempt *attempt, rpp_tries tries,
                             uint64_t now_ns, uint64_t *random, uint64_t *due_ns);

/* True for 401, 403, 404, and for answers from something in front of the server. */
bool rpp_attempt_is_refusal(const rpp_attempt *attempt);
/* True for a 500 without a code: the payload itself may break the server. */
bool rpp_attempt_is_server_error(const rpp_attempt *attempt);

/* The time of the next try after this many consecutive failures. Advances `random`. */
uint64_t rpp_retry_due_ns(const rpp_retry_policy *policy, uint32_t failures, uint64_t retry_after_ns, uint64_t now_ns,
                          uint64_t *random);

/* Parses a Retry-After value: seconds or an HTTP date, at most an hour. 0 if it is neither. */
uint64_t rpp_retry_after_ns(const char *value, uint64_t realtime_ns);

#endif
