/* http_client.h - one HTTP request at a time over libcurl: bounded in time and memory, interruptible, no redirects.
 *
 * Safety
 *   TLS is verified unless the settings say otherwise; credentials go to the configured host only (no redirect is followed);
 *   an answer is read up to 64 KiB and then cut off; http_proxy, no_proxy and SSL_CERT_FILE work as curl documents.
 *   libcurl runs under `gate`, released whenever it waits, so that a fork never finds it half-way.
 *
 * Threads    perform: one thread. interrupt: any thread.
 */
#ifndef RPP_HTTP_CLIENT_H
#define RPP_HTTP_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backoff.h"
#include "settings.h"
#include "status.h"

#define RPP_HTTP_BODY_MAX    (64u * 1024u)
#define RPP_HTTP_HEADERS_MAX 32

typedef struct rpp_http_request {
    const char *url;                           /* without userinfo */
    const char *content_type;                  /* NULL: none */
    const char *headers[RPP_HTTP_HEADERS_MAX]; /* "Name: value", NULL-terminated, beside those of the settings */
    const void *body;
    size_t body_length;
    uint64_t deadline_ns; /* monotonic, for everything */
} rpp_http_request;

typedef struct rpp_http_response {
    rpp_attempt attempt;
    char *body; /* NUL-terminated, possibly cut; rpp_http_response_destroy frees it; NULL when there is none */
    size_t body_length;
    char content_type[128];
    char error[256]; /* in words, when no status came: "could not resolve host nowhere.invalid" */
    bool timed_out, tls_error;
    bool connected; /* no status came, but there was a connection: the other end broke it off */
} rpp_http_response;

void rpp_http_response_destroy(rpp_http_response *response);

/* The seam: a test brings its own. */
typedef struct rpp_http_client {
    /* Set before the first perform, or NULL. Called by it when the request may go out from now on, at least once before its
     * first byte, without the gate. */
    void (*before_send)(void *context);
    void *before_send_context;
    rpp_status (*perform)(struct rpp_http_client *, const rpp_http_request *, rpp_http_response *);
    /* Makes a running perform return soon with RPP_END_ABORTED, and every later one at once. */
    void (*interrupt)(struct rpp_http_client *);
    void (*free)(struct rpp_http_client *);
} rpp_http_client;

/* Over libcurl, with authentication, headers, TLS and proxy of the settings. `gate` may be NULL. The
 * settings must outlive the client. http_proxy and the like are read here, once. NULL when out of memory. */
rpp_http_client *rpp_curl_client_new(const rpp_settings *settings, pthread_mutex_t *gate);

/* Once a process, before any thread of ours exists. */
RPP_NODISCARD rpp_status rpp_curl_global_init(void);

/* The base URL (scheme://host:port/prefix, userinfo and trailing slashes removed) joined with "/path". Free with rpp_free. */
char *rpp_url_join(const char *base, const char *path);

#endif
