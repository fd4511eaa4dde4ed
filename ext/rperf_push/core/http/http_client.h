/* http_client.h - sends HTTP requests with libcurl, some at once: bounded in time and memory, interruptible, no
 * redirects.
 *
 * Expect: 100-continue
 *   A proxy without a server behind it accepts a connection, reads, and closes it, so it is unknown what became of the
 *   request. Therefore the body waits until the server asks for it. Once a server has asked, no body goes out unasked:
 *   if it stays silent, nothing was sent. A server that ignores the question costs one pause, a server that answers 417
 *   costs one answer; neither is asked again.
 *
 * Descriptors
 *   Programs that the process starts inherit none of them. A forked child closes its parent's.
 *   A connection is renewed after some minutes, because addresses change and new servers appear.
 *
 * Safety
 *   TLS is verified unless the settings disable it. Credentials go only to the configured host (no redirect is
 *   followed). At most 64 KiB of an answer are read. http_proxy, no_proxy and SSL_CERT_FILE work as curl documents
 *   them. libcurl runs under `fork_lock`, which is released while libcurl waits, so that a fork never interrupts
 *   libcurl.
 *
 * Threads    interrupt and wake: any thread. All others: one thread.
 * Ownership  the caller keeps request and response, and ends each exchange; the settings must outlive the client.
 */
#ifndef RPP_HTTP_CLIENT_H
#define RPP_HTTP_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "http/http_message.h"
#include "settings/settings.h"

#define RPP_HTTP_EXCHANGES_MAX 8u

/* A request under way. */
typedef struct rpp_http_exchange rpp_http_exchange;

/* The interface; tests have their own client. */
typedef struct rpp_http_client {
    /* Set before the first request, or NULL. Called, without the fork lock, with a request's claim at least once before
     * the first byte of the request can go out. */
    void (*before_send)(void *context, unsigned claim);
    void *before_send_context;
    uint64_t connection_max_age_ns;
    /* One request, to its end. */
    rpp_status (*perform)(struct rpp_http_client *, const rpp_http_request *, rpp_http_response *);
    /* Begins a request, which must stay until `end`. At most RPP_HTTP_EXCHANGES_MAX at once. */
    rpp_status (*begin)(struct rpp_http_client *, const rpp_http_request *, rpp_http_exchange **);
    /* The client drives all exchanges until one has ended, another thread calls wake, or the time has come; spurious
     * returns happen. */
    void (*wait)(struct rpp_http_client *, uint64_t until_ns);
    bool (*has_ended)(const rpp_http_exchange *);
    /* Frees an exchange, which must have ended, and gives its response. */
    rpp_status (*end)(struct rpp_http_client *, rpp_http_exchange *, rpp_http_response *);
    /* Any thread. */
    void (*wake)(struct rpp_http_client *);
    /* Exchanges end soon with RPP_END_ABORTED, and every later one ends at once. */
    void (*interrupt)(struct rpp_http_client *);
    /* In a forked child: closes the parent's descriptors and touches nothing else of the client. */
    void (*discard_after_fork)(struct rpp_http_client *);
    void (*free)(struct rpp_http_client *);
} rpp_http_client;

/* A client with libcurl and the authentication, headers, TLS and proxy of the settings. `fork_lock` may be NULL. Reads
 * http_proxy and similar variables once, here. NULL if out of memory. */
rpp_http_client *rpp_curl_client_new(const rpp_settings *settings, pthread_mutex_t *fork_lock);

/* Call it once per process, before any thread of ours exists. */
RPP_NODISCARD rpp_status rpp_curl_global_init(void);

#endif
