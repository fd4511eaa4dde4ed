/* backend_over_http.h - the common part of backends that speak HTTP: an address, a client, and one POST.
 *
 * A backend with its own struct has rpp_backend_over_http as the first member.
 *
 * Threads    as in backend.h.
 * Ownership  the backend owns its URL; settings and client must outlive it.
 */
#ifndef RPP_BACKEND_OVER_HTTP_H
#define RPP_BACKEND_OVER_HTTP_H

#include "backends/backend.h"
#include "http/http_client.h"
#include "settings/settings_fields.h"

typedef struct rpp_backend_over_http {
    rpp_backend backend; /* first: it is a backend */
    const rpp_settings *settings;
    rpp_http_client *http;
    char *url; /* the address of the POST, without userinfo */
    rpp_dialect dialect;
} rpp_backend_over_http;

/* Allocates `size` bytes that begin with a rpp_backend_over_http. Takes ownership of the url. NULL if the url is NULL, or if
 * out of memory. */
void *rpp_backend_over_http_new(size_t size, const rpp_settings *settings, rpp_http_client *http, char *url);
void rpp_backend_over_http_free(rpp_backend *backend);

/* A hint for users, by status. A list ends with status 0. */
typedef struct rpp_status_hint {
    int status;
    const char *hint;
} rpp_status_hint;

/* POSTs and fills the delivery, with the hint for its status, if any. `connected` may be NULL. */
RPP_NODISCARD rpp_status rpp_backend_over_http_post(rpp_backend_over_http *self, const rpp_http_request *request,
                                                    const rpp_status_hint *hints, rpp_delivery *delivery,
                                                    bool *connected);

/* What Pyroscope accepts in one request, at either address. */
extern const rpp_backend_limits rpp_pyroscope_limits;

#endif
