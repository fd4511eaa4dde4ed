/* backend_over_http.h - what the backends that speak HTTP have in common: an address, a client, and one POST.
 *
 * Each one embeds rpp_backend_over_http first in its own struct, if it needs one at all.
 */
#ifndef RPP_BACKEND_OVER_HTTP_H
#define RPP_BACKEND_OVER_HTTP_H

#include "backend.h"

typedef struct rpp_backend_over_http {
    rpp_backend backend; /* first: it is a backend */
    const rpp_settings *settings;
    rpp_http_client *http;
    char *url; /* where to POST, without userinfo */
} rpp_backend_over_http;

/* `size` bytes that begin with a rpp_backend_over_http. Takes the url; NULL when it is NULL, or when out of memory. */
void *rpp_backend_over_http_new(size_t size, const rpp_settings *settings, rpp_http_client *http, char *url);
void rpp_backend_over_http_free(rpp_backend *backend);

/* Hints by status; the list ends with status 0. */
typedef struct rpp_status_hint {
    int status;
    const char *hint;
} rpp_status_hint;

/* POSTs and fills the delivery, with the hint for the status where there is one. `connected` may be NULL. */
RPP_NODISCARD rpp_status rpp_backend_over_http_post(rpp_backend_over_http *self, const rpp_http_request *request,
                                                    const rpp_status_hint *hints, rpp_delivery *delivery,
                                                    bool *connected);

/* What Pyroscope takes in one request, at either address. */
extern const rpp_backend_limits rpp_pyroscope_limits;

#endif
