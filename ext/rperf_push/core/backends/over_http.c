/* over_http.c - the common part of backends that speak HTTP: an address, a client, and one POST for a
 * payload. */
#include "backends/over_http.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "encoding/pprof_encoder.h"
#include "http/secrets.h"

/* The rate limit's bucket holds 2 MiB uncompressed: a larger profile is always refused. Samples: 16,000. Age: an
 * hour. */
const rpp_payload_rules rpp_pyroscope_rules = {
    .encode = rpp_pprof_encode,
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

static void destroy_post(rpp_post *post)
{
    for (unsigned i = 0; i < RPP_POST_TEXTS; i++) rpp_byte_buffer_destroy(&post->texts[i]);
    rpp_free(post->body);
    *post = (rpp_post){0};
}

/* RPP_INVALID: nothing is sent, and the result says why. */
static rpp_status prepare(rpp_backend_over_http *self, rpp_flight *flight)
{
    flight->post = (rpp_post){0};
    rpp_status status = self->prepare(self, flight->payload, &flight->post, &flight->result);
    flight->post.request.deadline_ns = flight->deadline_ns;
    flight->post.request.claim = flight->payload->claim;
    if (status != RPP_OK) destroy_post(&flight->post);
    return status;
}

static void conclude(rpp_backend_over_http *self, rpp_flight *flight, rpp_http_response *response)
{
    rpp_upload_result *result = &flight->result;
    if (response->body) rpp_secrets_hide(self->settings, response->body);
    rpp_upload_result_from_response(result, response, self->dialect);
    if (result->attempt.end == RPP_END_ANSWERED && *result->message && response->attempt.http_status / 100 != 2) {
        rpp_upload_result_add_hint(result, hint_for(result->attempt.http_status, self->hints));
    }
    if (self->conclude) self->conclude(self, flight->payload, response->connected, result);
    rpp_http_response_destroy(response);
}

rpp_status rpp_backend_over_http_deliver(rpp_backend *backend, const rpp_payload *payload, uint64_t deadline_ns,
                                         rpp_upload_result *result)
{
    rpp_backend_over_http *self = (rpp_backend_over_http *)backend;
    rpp_flight flight = {.payload = payload, .deadline_ns = deadline_ns};
    rpp_http_response response = {0};
    rpp_status status = prepare(self, &flight);
    if (status == RPP_OK) {
        status = self->http->perform(self->http, &flight.post.request, &response);
        if (status == RPP_OK) conclude(self, &flight, &response);
        destroy_post(&flight.post);
    }
    *result = flight.result;
    return status == RPP_INVALID ? RPP_OK : status;
}

rpp_status rpp_backend_over_http_begin(rpp_backend *backend, rpp_flight *flight)
{
    rpp_backend_over_http *self = (rpp_backend_over_http *)backend;
    flight->exchange = NULL;
    rpp_status status = prepare(self, flight);
    if (status == RPP_INVALID) return RPP_OK;
    if (status == RPP_OK) status = self->http->begin(self->http, &flight->post.request, &flight->exchange);
    if (status != RPP_OK) destroy_post(&flight->post);
    return status;
}

rpp_status rpp_backend_over_http_end(rpp_backend *backend, rpp_flight *flight)
{
    rpp_backend_over_http *self = (rpp_backend_over_http *)backend;
    rpp_http_response response = {0};
    rpp_status status = self->http->end(self->http, flight->exchange, &response);
    flight->exchange = NULL;
    if (status == RPP_OK) conclude(self, flight, &response);
    destroy_post(&flight->post);
    return status;
}
