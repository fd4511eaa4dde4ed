/* backend_parca.c - Parca's POST /api/profiles/writeraw: JSON, the profile in base64.
 *
 * Parca drops the labels of samples and keeps those of series, so a window is one request with many series
 * (series_list.h). An empty profile, or a series without labels, crashes the whole server, and a retry crashes it again
 * after its restart. Neither is ever sent, and a payload on which the connection was closed three times is not sent
 * again.
 */
#include <string.h>

#include "backends/backend_kinds.h"
#include "backends/over_http.h"
#include "backends/series_labels.h"
#include "backends/series_list.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/json_text.h"
#include "encoding/pprof_encoder.h"
#include "http/http_url.h"
#include "settings/pairs.h"

#define RAW_MAX        (48u * 1024 * 1024) /* it accepts 64 MiB decoded, including the labels of all series */
/* The server needed 14 ms for 300. With 100 values of a label and 5 states, 500 are needed. */
#define MAX_SERIES     1000u
/* Each series repeats the names of its frames: some 35 ns of CPU time per byte (benchmark/encode.c), so 0.3 s per
 * window. */
#define MAX_SERIES_RAW (8u * 1024 * 1024)
#define BODY_MAX       (100u * 1024 * 1024)
#define CLOSED_RETRIES 2u

typedef struct parca {
    rpp_backend_over_http over_http; /* first */
    struct {                         /* by sequence */
        uint64_t sequence;           /* of a payload on which the connection was closed */
        unsigned count;              /* how often it was closed */
    } closed[RPP_HTTP_EXCHANGES_MAX];
} parca;

static rpp_status write_text(rpp_byte_sink *sink, const char *text)
{
    return rpp_byte_sink_write(sink, text, strlen(text));
}

static rpp_status write_label(rpp_byte_sink *sink, const char *key, const char *value)
{
    rpp_status status = write_text(sink, "{\"name\":");
    if (status == RPP_OK) status = rpp_json_write_string(sink, key);
    if (status == RPP_OK) status = write_text(sink, ",\"value\":");
    if (status == RPP_OK) status = rpp_json_write_string(sink, value);
    return status == RPP_OK ? write_text(sink, "}") : status;
}

static rpp_status write_labels(rpp_byte_sink *sink, const rpp_pairs *labels)
{
    rpp_status status = RPP_OK;
    for (size_t i = 0; i < labels->count && status == RPP_OK; i++) {
        status = write_text(sink, ",");
        if (status == RPP_OK) status = write_label(sink, labels->items[i].key, labels->items[i].value);
    }
    return status;
}

static rpp_status write_series(rpp_byte_sink *sink, const char *profile, const rpp_pairs *labels,
                               const rpp_series *series)
{
    rpp_status status = write_text(sink, "{\"labels\":{\"labels\":[");
    if (status == RPP_OK) status = write_label(sink, "__name__", profile);
    if (status == RPP_OK) status = write_labels(sink, labels);
    if (status == RPP_OK) status = write_labels(sink, &series->labels);
    if (status == RPP_OK) status = write_text(sink, "]},\"samples\":[{\"rawProfile\":\"");
    if (status == RPP_OK) status = rpp_base64_write(sink, series->profile, series->length);
    return status == RPP_OK ? write_text(sink, "\"}]}") : status;
}

/* RPP_INVALID: the payload is damaged. */
static rpp_status write_body(rpp_byte_sink *sink, const rpp_pairs *labels, const rpp_payload *payload)
{
    rpp_series_reader reader = rpp_series_list_read(payload->bytes, payload->length);
    rpp_status status = reader.left ? write_text(sink, "{\"series\":[") : RPP_INVALID;
    for (bool first = true; status == RPP_OK && reader.left; first = false) {
        rpp_series series;
        status = rpp_series_reader_next(&reader, &series);
        if (status == RPP_OK && !first) status = write_text(sink, ",");
        if (status == RPP_OK) status = write_series(sink, rpp_value_groups[payload->group].name, labels, &series);
        rpp_pairs_destroy(&series.labels);
    }
    return status == RPP_OK ? write_text(sink, "],\"normalized\":true}") : status;
}

static void refuse(rpp_upload_result *result, const char *why)
{
    *result = (rpp_upload_result){.attempt = {.end = RPP_END_NOT_SENT, .permanent = true}};
    memcpy(result->message, why, strlen(why) + 1);
}

static void watch_for_crashes(rpp_backend_over_http *over_http, const rpp_payload *payload, bool connected,
                              rpp_upload_result *result)
{
    parca *self = (parca *)over_http;
    rpp_attempt_end end = result->attempt.end;
    if (!connected || result->timed_out || (end != RPP_END_NOT_SENT && end != RPP_END_NO_ANSWER)) return;
    size_t place = payload->sequence % RPP_HTTP_EXCHANGES_MAX;
    if (self->closed[place].sequence != payload->sequence) self->closed[place].count = 0;
    self->closed[place].sequence = payload->sequence;
    if (++self->closed[place].count > CLOSED_RETRIES) {
        result->attempt.permanent = true;
        rpp_upload_result_add_hint(result,
                                   "for the third time with this profile, which may crash the server: left alone");
    }
}

static rpp_status prepare(rpp_backend_over_http *self, const rpp_payload *payload, rpp_post *post,
                          rpp_upload_result *result)
{
    rpp_byte_buffer *body = &post->texts[0];
    rpp_pairs labels = {0};
    rpp_byte_buffer_init(body, BODY_MAX);
    if (!payload->length || !payload->samples) {
        refuse(result, "an empty profile is never sent to Parca: it would crash the server");
        return RPP_INVALID;
    }
    rpp_status status = rpp_series_labels(self->settings, payload, &labels);
    if (status == RPP_OK) status = write_body(&body->sink, &labels, payload);
    rpp_pairs_destroy(&labels);
    if (status == RPP_LIMIT || status == RPP_INVALID) {
        refuse(result, status == RPP_LIMIT ? "the profile is larger than Parca takes"
                                           : "the series of the profile cannot be read: it is damaged");
        return RPP_INVALID;
    }
    post->request = (rpp_http_request){
        .url = self->url, .content_type = "application/json", .body = body->bytes, .body_length = body->length};
    return status;
}

rpp_backend *rpp_backend_parca_new(const rpp_settings *settings, rpp_http_client *http)
{
    char *url = rpp_url_join(settings->server_address, "/api/profiles/writeraw");
    parca *self = rpp_backend_over_http_new(sizeof *self, settings, http, url);
    if (!self) return NULL;
    self->over_http.prepare = prepare;
    self->over_http.conclude = watch_for_crashes;
    self->over_http.dialect = (rpp_dialect){.speaks_no_html = true};
    self->over_http.backend = (rpp_backend){.name = "parca",
                                            .rules = {.encode = rpp_pprof_encode,
                                                      .max_raw_bytes = RAW_MAX,
                                                      .max_age_ns = RPP_BACKEND_AGE_MAX_NS,
                                                      .max_series = MAX_SERIES,
                                                      .one_group = true,
                                                      .max_series_raw_bytes = MAX_SERIES_RAW},
                                            .deliver = rpp_backend_over_http_deliver,
                                            .begin = rpp_backend_over_http_begin,
                                            .end = rpp_backend_over_http_end,
                                            .free = rpp_backend_over_http_free};
    return &self->over_http.backend;
}
