/* backend_over_http.c - the common part of backends that speak HTTP: an address, a client, and one POST. */
#include "backends/backend_over_http.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "http/secrets.h"

/* The rate limit's bucket holds 2 MiB uncompressed: a larger profile is always refused. Samples: 16,000. Age: an hour. */
const rpp_backend_limits rpp_pyroscope_limits = {
    .max_raw_bytes = 1992294, /* 1.9 MiB */
    .max_samples = 15000,
    .max_age_ns = 55 * 60 * RPP_NS_PER_S,
    .one_group = true,
    .one_a_millisecond = true, /* storage before 2.0 drops a second one, with 200 */
};

void *rpp_backend_over_http_new(size_t size, const rpp_settings *settings, rpp_http_client *http, char *url)
{
    rpp_backend_over_http *self = url ? rpp_calloc(1, size) : NULL;
    if (!self) {
        rpp_free(url);
        return NULL;
    }
    self->settings = settings;
    self->http = http;
    self->url = url;
    return self;
}

void rpp_backend_over_http_free(rpp_backend *backend)
{
    rpp_backend_over_http *self = (rpp_backend_over_http *)backend;
    if (!self) return;
    rpp_free(self->url);
    rpp_free(self);
}

static const char *hint_for(int status, const rpp_status_hint *hints)
{
    for (; hints && hints->status; hints++) {
        if (hints->status == status) return hints->hint;
    }
    if (status >= 300 && status <= 399) return "redirects are not followed: set server_address to the final address";
    switch (status) {
    case 401:
    case 403: return "check basic_auth_username and basic_auth_password, auth_token or tenant_id";
    case 407: return "check the user and password of the proxy";
    case 404:
    case 405: return "check server_address and backend";
    default: return NULL;
    }
}

rpp_status rpp_backend_over_http_post(rpp_backend_over_http *self, const rpp_http_request *request,
                                      const rpp_status_hint *hints, rpp_delivery *delivery, bool *connected)
{
    rpp_http_response response = {0};
    rpp_status status = self->http->perform(self->http, request, &response);
    if (status != RPP_OK) return status;
    if (response.body) rpp_secrets_hide(self->settings, response.body);
    rpp_delivery_from_response(delivery, &response, self->dialect);
    if (delivery->attempt.end == RPP_END_ANSWERED && *delivery->message && response.attempt.http_status / 100 != 2) {
        rpp_delivery_add_hint(delivery, hint_for(delivery->attempt.http_status, hints));
    }
    if (connected) *connected = response.connected;
    rpp_http_response_destroy(&response);
    return RPP_OK;
}
