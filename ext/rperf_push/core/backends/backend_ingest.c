/* backend_ingest.c - Pyroscope's older address: POST /ingest?name=app{k=v} with the gzip pprof as the body. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/backend_kinds.h"
#include "backends/over_http.h"
#include "backends/series_labels.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "http/http_url.h"
#include "settings/pairs.h"

#define URL_MAX (256u * 1024u) /* thirty labels of 2 KiB, escaped */

static const rpp_status_hint hints[] = {
    {401, "set tenant_id, or basic_auth_username and basic_auth_password, or auth_token"},
    {404, "is server_address Pyroscope's?"},
    {0, NULL},
};

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '.';
}

/* Characters that would end the name, or begin its labels. */
static bool is_application_byte(char byte)
{
    return (unsigned char)byte > ' ' && byte != 0x7f && !strchr("{},=", byte);
}

/* A comma or a brace would silently cut the value. */
static bool is_value_byte(char byte)
{
    return (unsigned char)byte >= ' ' && byte != 0x7f && byte != ',' && byte != '}';
}

static rpp_status write_clean(rpp_byte_sink *sink, const char *text, bool (*is_good)(char))
{
    char *clean = rpp_strdup(text);
    if (!clean) return RPP_NO_MEMORY;
    for (char *at = clean; *at; at++) {
        if (!is_good(*at)) *at = '_';
    }
    rpp_status status = rpp_url_escape(sink, clean);
    rpp_free(clean);
    return status;
}

/* app{k=v,k=v}, with escaped punctuation. The service's name comes first. */
static rpp_status write_series(rpp_byte_sink *sink, const rpp_pairs *labels)
{
    rpp_status status = write_clean(sink, labels->items[0].value, is_application_byte);
    for (size_t i = 1; i < labels->count && status == RPP_OK; i++) {
        status = rpp_url_escape(sink, i == 1 ? "{" : ",");
        if (status == RPP_OK) status = write_clean(sink, labels->items[i].key, is_name_byte);
        if (status == RPP_OK) status = rpp_url_escape(sink, "=");
        if (status == RPP_OK) status = write_clean(sink, labels->items[i].value, is_value_byte);
    }
    return status == RPP_OK && labels->count > 1 ? rpp_url_escape(sink, "}") : status;
}

static rpp_status write_url(rpp_byte_sink *sink, const char *address, const rpp_pairs *labels,
                            const rpp_payload *payload)
{
    uint64_t from = payload->time_ns / RPP_NS_PER_S;
    uint64_t until = (payload->time_ns + payload->duration_ns + RPP_NS_PER_S - 1) / RPP_NS_PER_S;
    char rest[160];
    /* With the names of other profilers, the server would rewrite function names. */
    int length = snprintf(rest, sizeof rest, "&from=%" PRIu64 "&until=%" PRIu64 "&spyName=rperf-push&format=pprof",
                          from, until > from ? until : from + 1);
    rpp_status status = rpp_byte_sink_write(sink, address, strlen(address));
    if (status == RPP_OK) status = rpp_byte_sink_write(sink, "?name=", 6);
    if (status == RPP_OK) status = write_series(sink, labels);
    return status == RPP_OK ? rpp_byte_sink_write(sink, rest, (size_t)length + 1) : status;
}

static rpp_status prepare(rpp_backend_over_http *self, const rpp_payload *payload, rpp_post *post,
                          rpp_upload_result *result)
{
    rpp_byte_buffer *url = &post->texts[0];
    rpp_pairs labels = {0};
    rpp_byte_buffer_init(url, URL_MAX);
    rpp_status status = rpp_series_labels(self->settings, payload, &labels);
    if (status == RPP_OK) status = write_url(&url->sink, self->url, &labels, payload);
    rpp_pairs_destroy(&labels);
    if (status == RPP_LIMIT) {
        *result = (rpp_upload_result){.attempt = {.end = RPP_END_NOT_SENT, .permanent = true},
                                      .message = "the tags are too long for /ingest"};
        return RPP_INVALID;
    }
    post->request = (rpp_http_request){.url = (const char *)url->bytes,
                                       .content_type = "application/octet-stream",
                                       .body = payload->bytes,
                                       .body_length = payload->length};
    return status;
}

rpp_backend *rpp_backend_ingest_new(const rpp_settings *settings, rpp_http_client *http)
{
    char *url = rpp_url_join(settings->server_address, "/ingest");
    rpp_backend_over_http *self = rpp_backend_over_http_new(sizeof *self, settings, http, url);
    if (!self) return NULL;
    self->prepare = prepare;
    self->hints = hints;
    self->dialect = (rpp_dialect){.speaks_no_html = true, .says_422_for_all = true, .says_500_for_many = true};
    self->backend = (rpp_backend){.name = "pyroscope_ingest",
                                  .rules = rpp_pyroscope_rules,
                                  .deliver = rpp_backend_over_http_deliver,
                                  .begin = rpp_backend_over_http_begin,
                                  .end = rpp_backend_over_http_end,
                                  .free = rpp_backend_over_http_free};
    return &self->backend;
}
