/* backend_pyroscope.c - Pyroscope's push API: POST push.v1.PusherService/Push, one series with one profile per request.
 *
 * If one of several series in a request is bad, the server stores the others but answers with an error.
 */
#include <string.h>

#include "backends/backend_kinds.h"
#include "backends/over_http.h"
#include "backends/pyroscope_body.h"
#include "backends/series_labels.h"
#include "base/alloc.h"
#include "http/http_url.h"
#include "settings/pairs.h"

static const rpp_status_hint hints[] = {
    {401, "set tenant_id, or basic_auth_username and basic_auth_password, or auth_token"},
    {404, "is server_address Pyroscope's? Versions before 1.0 take backend pyroscope_ingest"},
    {415, "a proxy changed the Content-Type, or server_address is not Pyroscope's"},
    {0, NULL},
};

/* __name__, service_name, __delta__, then the rest by name. Profiles hold their own window only, never running
 * totals. */
static rpp_status make_labels(const rpp_settings *settings, const rpp_payload *payload, rpp_pairs *labels)
{
    const char *profile = rpp_value_groups[payload->group].name;
    rpp_status status = rpp_series_labels(settings, payload, labels);
    if (status == RPP_OK) status = rpp_pairs_put(labels, "__name__", 8, profile, strlen(profile));
    if (status == RPP_OK) status = rpp_pairs_put(labels, "__delta__", 9, "false", 5);
    if (status != RPP_OK) return status;

    rpp_pair *items = labels->items, name = items[labels->count - 2], delta = items[labels->count - 1];
    memmove(items + 3, items + 1, (labels->count - 3) * sizeof *items);
    items[1] = items[0];
    items[0] = name;
    items[2] = delta;
    return RPP_OK;
}

static rpp_status prepare(rpp_backend_over_http *self, const rpp_payload *payload, rpp_post *post,
                          rpp_upload_result *result)
{
    rpp_http_request *request = &post->request;
    rpp_pairs labels = {0};
    (void)result;
    rpp_status status = make_labels(self->settings, payload, &labels);
    if (status == RPP_OK) {
        status =
            rpp_pyroscope_body_encode(&labels, payload->bytes, payload->length, &post->body, &request->body_length);
    }
    rpp_pairs_destroy(&labels);
    request->url = self->url;
    request->content_type = "application/proto"; /* exactly this: with a charset the server answers 415 */
    request->body = post->body;
    return status;
}

rpp_backend *rpp_backend_pyroscope_new(const rpp_settings *settings, rpp_http_client *http)
{
    char *url = rpp_url_join(settings->server_address, "/push.v1.PusherService/Push");
    rpp_backend_over_http *self = rpp_backend_over_http_new(sizeof *self, settings, http, url);
    if (!self) return NULL;
    self->prepare = prepare;
    self->hints = hints;
    self->dialect = (rpp_dialect){.speaks_no_html = true, .says_500_for_many = true};
    self->backend = (rpp_backend){.name = "pyroscope",
                                  .rules = rpp_pyroscope_rules,
                                  .deliver = rpp_backend_over_http_deliver,
                                  .begin = rpp_backend_over_http_begin,
                                  .end = rpp_backend_over_http_end,
                                  .free = rpp_backend_over_http_free};
    return &self->backend;
}
