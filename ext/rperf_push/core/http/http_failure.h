/* http_failure.h - the reason of a failed upload as a code, in addition to its message. Advice to users depends on it.
 *
 * Threads    any thread: constants only.
 * Ownership  nothing to own.
 */
#ifndef RPP_HTTP_FAILURE_H
#define RPP_HTTP_FAILURE_H

/* Id; the code's name. */
#define RPP_FAILURES(X)                                                                                                \
    X(NONE, "none")                                                                                                    \
    /* no status came */                                                                                               \
    X(OTHER, "other")                                                                                                  \
    X(ENDED_BY_US, "ended_by_us")                                                                                      \
    X(HOST_UNKNOWN, "host_unknown")                                                                                    \
    X(PROXY_UNKNOWN, "proxy_unknown")                                                                                  \
    X(PROXY_WANTS_PASSWORD, "proxy_wants_password")                                                                    \
    X(PROXY_REFUSED, "proxy_refused")                                                                                  \
    X(CONNECTION_REFUSED, "connection_refused")                                                                        \
    X(UNREACHABLE, "unreachable")                                                                                      \
    X(NOBODY_THERE, "nobody_there")                                                                                    \
    X(TOO_SLOW, "too_slow")                                                                                            \
    X(BROKEN_OFF, "broken_off")                                                                                        \
    X(TLS, "tls")                                                                                                      \
    X(TLS_UNTRUSTED, "tls_untrusted")                                                                                  \
    X(TLS_EXPIRED, "tls_expired")                                                                                      \
    X(TLS_OTHER_NAME, "tls_other_name")                                                                                \
    X(TLS_NOT_SPOKEN, "tls_not_spoken")                                                                                \
    X(TLS_BROKEN_OFF, "tls_broken_off")                                                                                \
    /* the server says so beside its status */                                                                         \
    X(UNEXPLAINED, "unexplained")                                                                                      \
    X(OUTSIDE_WINDOW, "outside_window")                                                                                \
    X(LABEL_NAME, "label_name")                                                                                        \
    X(TOO_MANY_LABELS, "too_many_labels")                                                                              \
    X(TOO_LARGE, "too_large")                                                                                          \
    X(NO_TENANT, "no_tenant")

typedef enum rpp_failure {
#define X(id, name) RPP_FAILURE_##id,
    RPP_FAILURES(X)
#undef X
} rpp_failure;

const char *rpp_failure_name(rpp_failure failure);

/* The reason behind a message of a TLS library. */
rpp_failure rpp_failure_of_tls(const char *text);
/* The reason behind the message of a server. RPP_FAILURE_NONE: the message adds nothing to the status. */
rpp_failure rpp_failure_of_answer(const char *text);

#endif
