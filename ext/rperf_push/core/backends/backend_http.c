/* backend_http.c - any HTTP receiver: POSTs the unchanged gzip pprof to server_address and describes it in headers.
 *
 *   Content-Type: application/octet-stream   a pprof file as `go tool pprof` reads it; gzip is part of the format, so
 *                                            there is no Content-Encoding
 *   X-Profile-Time-Nanos                     start of the window, since the epoch
 *   X-Profile-Duration-Nanos                 its length
 *   X-Profile-Sequence                       number of the profile within its process, from 1
 *   X-Service-Name                           application_name, percent-encoded
 *   X-Profile-Labels                         the other labels: name=value,name=value, each percent-encoded
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/backend_kinds.h"
#include "backends/over_http.h"
#include "backends/series_labels.h"
#include "base/alloc.h"
#include "encoding/pprof_encoder.h"
#include "http/http_url.h"
#include "settings/pairs.h"

#define HEADER_MAX 8000u

static rpp_status write_label_header(rpp_byte_sink *sink, const rpp_pairs *labels)
{
    static const char name[] = "X-Profile-Labels: ";
    rpp_status status = rpp_byte_sink_write(sink, name, sizeof name - 1);
    for (size_t i = 1; i < labels->count && status == RPP_OK; i++) {
        if (i > 1) status = rpp_byte_sink_write(sink, ",", 1);
        if (status == RPP_OK) status = rpp_url_escape(sink, labels->items[i].key);
        if (status == RPP_OK) status = rpp_byte_sink_write(sink, "=", 1);
        if (status == RPP_OK) status = rpp_url_escape(sink, labels->items[i].value);
    }
    return status == RPP_OK ? rpp_byte_sink_write(sink, "", 1) : status;
}

static rpp_status write_name_header(rpp_byte_sink *sink, const char *service)
{
    static const char name[] = "X-Service-Name: ";
    rpp_status status = rpp_byte_sink_write(sink, name, sizeof name - 1);
    if (status == RPP_OK) status = rpp_url_escape(sink, service);
    return status == RPP_OK ? rpp_byte_sink_write(sink, "", 1) : status;
}

/* Labels that do not fit into a header are left out. The profile is worth more. */
static rpp_status prepare(rpp_backend_over_http *self, const rpp_payload *payload, rpp_post *post,
                          rpp_upload_result *result)
{
    rpp_byte_buffer *service_header = &post->texts[0], *label_header = &post->texts[1];
    char(*lines)[RPP_POST_LINE_MAX] = post->lines;
    rpp_http_request *request = &post->request;
    rpp_pairs labels = {0};
    size_t headers = 0;
    (void)result;
    rpp_byte_buffer_init(service_header, HEADER_MAX);
    rpp_byte_buffer_init(label_header, HEADER_MAX);

    request->url = self->url;
    request->content_type = "application/octet-stream";
    request->body = payload->bytes;
    request->body_length = payload->length;
    snprintf(lines[0], RPP_POST_LINE_MAX, "X-Profile-Time-Nanos: %" PRIu64, payload->time_ns);
    snprintf(lines[1], RPP_POST_LINE_MAX, "X-Profile-Duration-Nanos: %" PRIu64, payload->duration_ns);
    snprintf(lines[2], RPP_POST_LINE_MAX, "X-Profile-Sequence: %" PRIu64, payload->sequence);
    while (headers < RPP_POST_LINES) {
        request->headers[headers] = lines[headers];
        headers++;
    }
    rpp_status status = rpp_series_labels(self->settings, payload, &labels);
    if (status != RPP_OK) return status;
    status = write_name_header(&service_header->sink, labels.items[0].value);
    if (status == RPP_OK) request->headers[headers++] = (const char *)service_header->bytes;
    if (status == RPP_OK && labels.count > 1) status = write_label_header(&label_header->sink, &labels);
    if (status == RPP_OK && label_header->length) request->headers[headers++] = (const char *)label_header->bytes;
    rpp_pairs_destroy(&labels);
    return status == RPP_LIMIT ? RPP_OK : status;
}

rpp_backend *rpp_backend_http_new(const rpp_settings *settings, rpp_http_client *http)
{
    char *url = rpp_url_without_userinfo(settings->server_address);
    rpp_backend_over_http *self = rpp_backend_over_http_new(sizeof *self, settings, http, url);
    if (!self) return NULL;
    self->prepare = prepare;
    self->backend = (rpp_backend){.name = "http",
                                  .rules = {.encode = rpp_pprof_encode, .max_age_ns = RPP_BACKEND_AGE_MAX_NS},
                                  .deliver = rpp_backend_over_http_deliver,
                                  .begin = rpp_backend_over_http_begin,
                                  .end = rpp_backend_over_http_end,
                                  .free = rpp_backend_over_http_free};
    return &self->backend;
}
