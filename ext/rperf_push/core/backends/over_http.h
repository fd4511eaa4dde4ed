/* over_http.h - the common part of backends that speak HTTP: an address, a client, and one POST for a payload.
 *
 * A backend with its own struct has rpp_backend_over_http as the first member.
 *
 * Threads    as in backend.h.
 * Ownership  the backend owns its URL; settings and client must outlive it.
 */
#ifndef RPP_OVER_HTTP_H
#define RPP_OVER_HTTP_H

#include "backends/backend.h"
#include "http/http_client.h"
#include "settings/settings_fields.h"

/* A hint for users, by status. A list ends with status 0. */
typedef struct rpp_status_hint {
    int status;
    const char *hint;
} rpp_status_hint;

typedef struct rpp_backend_over_http {
    rpp_backend backend; /* first: it is a backend */
    const rpp_settings *settings;
    rpp_http_client *http;
    char *url; /* the address of the POST, without userinfo */
    rpp_dialect dialect;
    const rpp_status_hint *hints; /* NULL: none */
    /* Fills the post, which is empty. RPP_INVALID: nothing is sent, and the result says why. */
    rpp_status (*prepare)(struct rpp_backend_over_http *, const rpp_payload *, rpp_post *, rpp_upload_result *);
    /* Looks at how a try ended. `connected`: there was a connection. NULL: it does not. */
    void (*conclude)(struct rpp_backend_over_http *, const rpp_payload *, bool connected, rpp_upload_result *);
} rpp_backend_over_http;

/* Allocates `size` bytes that begin with a rpp_backend_over_http. Takes ownership of the url. NULL if the url is NULL,
 * or if out of memory. */
void *rpp_backend_over_http_new(size_t size, const rpp_settings *settings, rpp_http_client *http, char *url);
void rpp_backend_over_http_free(rpp_backend *backend);

/* The methods of a backend, for all that have `prepare`. */
RPP_NODISCARD rpp_status rpp_backend_over_http_deliver(rpp_backend *backend, const rpp_payload *payload,
                                                       uint64_t deadline_ns, rpp_upload_result *result);
RPP_NODISCARD rpp_status rpp_backend_over_http_begin(rpp_backend *backend, rpp_flight *flight);
RPP_NODISCARD rpp_status rpp_backend_over_http_end(rpp_backend *backend, rpp_flight *flight);

/* What Pyroscope accepts in one request, at either address. */
extern const rpp_payload_rules rpp_pyroscope_rules;

#endif
