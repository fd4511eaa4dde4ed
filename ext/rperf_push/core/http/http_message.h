/* http_message.h - an HTTP request, and its response.
 *
 * Threads    one at a time.
 * Ownership  the caller owns the request and the body of the response.
 */
#ifndef RPP_HTTP_MESSAGE_H
#define RPP_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/http_failure.h"
#include "http/retry_verdict.h"

#define RPP_HTTP_BODY_MAX    (64u * 1024u)
#define RPP_HTTP_HEADERS_MAX 32

typedef struct rpp_http_request {
    const char *url;                           /* without userinfo */
    const char *content_type;                  /* NULL: none */
    const char *headers[RPP_HTTP_HEADERS_MAX]; /* "Name: value", NULL-terminated, in addition to the settings' */
    const void *body;
    size_t body_length;
    uint64_t deadline_ns; /* monotonic, for everything */
    unsigned claim;       /* for before_send (http_client.h) */
} rpp_http_request;

typedef struct rpp_http_response {
    rpp_attempt attempt;
    char *body; /* NUL-terminated, possibly cut; rpp_http_response_destroy frees it; NULL: no body */
    size_t body_length;
    char content_type[128];
    rpp_failure failure; /* when no status came */
    char error[256];     /* in words, when no status came: "could not resolve host nowhere.invalid" */
    bool timed_out, tls_error;
    bool connected; /* no status came, but there was a connection: the server closed it */
} rpp_http_response;

void rpp_http_response_destroy(rpp_http_response *response);

#endif
