/* backend_parca.c - Parca's POST /api/profiles/writeraw: JSON, the profile in base64.
 *
 * An empty profile, or a series without labels, crashes the whole server, and a retry crashes it again after its restart:
 * neither is ever sent, and a payload on which the connection was closed three times is left alone.
 */
#include <string.h>

#include "alloc.h"
#include "backend_over_http.h"
#include "base64.h"
#include "json_text.h"
#include "pairs.h"

#define RAW_MAX        (63u * 1024 * 1024) /* 64 MiB decoded, labels included */
#define BODY_MAX       (100u * 1024 * 1024)
#define CLOSED_RETRIES 2u

typedef struct parca {
    rpp_backend_over_http over_http; /* first */
    uint64_t closed_sequence;        /* the payload on which the connection was closed last ... */
    unsigned closed_count;           /* ... and how often */
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

static rpp_status write_body(rpp_byte_sink *sink, const rpp_pairs *labels, const rpp_payload *payload)
{
    rpp_status status = write_text(sink, "{\"series\":[{\"labels\":{\"labels\":[");
    if (status == RPP_OK) status = write_label(sink, "__name__", "process_cpu");
    for (size_t i = 0; i < labels->count && status == RPP_OK; i++) {
        status = write_text(sink, ",");
        if (status == RPP_OK) status = write_label(sink, labels->items[i].key, labels->items[i].value);
    }
    if (status == RPP_OK) status = write_text(sink, "]},\"samples\":[{\"rawProfile\":\"");
    if (status == RPP_OK) status = rpp_base64_write(sink, payload->bytes, payload->length);
    return status == RPP_OK ? write_text(sink, "\"}]}],\"normalized\":true}") : status;
}

static void refuse(rpp_delivery *delivery, const char *why)
{
    *delivery = (rpp_delivery){.attempt = {.end = RPP_END_NOT_SENT, .permanent = true}};
    memcpy(delivery->message, why, strlen(why) + 1);
}

static void watch_for_crashes(parca *self, const rpp_payload *payload, bool connected, rpp_delivery *delivery)
{
    rpp_attempt_end end = delivery->attempt.end;
    if (!connected || delivery->timed_out || (end != RPP_END_NOT_SENT && end != RPP_END_NO_ANSWER)) return;
    if (self->closed_sequence != payload->sequence) {
        self->closed_sequence = payload->sequence;
        self->closed_count = 0;
    }
    if (++self->closed_count > CLOSED_RETRIES) {
        delivery->attempt.permanent = true;
        rpp_delivery_add_hint(delivery, "for the third time with this profile, which may crash the server: left alone");
    }
}

static rpp_status deliver(rpp_backend *backend, const rpp_payload *payload, uint64_t deadline_ns,
                          rpp_delivery *delivery)
{
    parca *self = (parca *)backend;
    rpp_pairs labels = {0};
    rpp_byte_buffer body;
    bool connected = false;
    rpp_byte_buffer_init(&body, BODY_MAX);
    if (!payload->length || !payload->samples) {
        refuse(delivery, "an empty profile is never sent to Parca: it would crash the server");
        return RPP_OK;
    }

    rpp_status status = rpp_backend_series_labels(self->over_http.settings, payload, &labels);
    if (status != RPP_OK) goto done;
    status = write_body(&body.sink, &labels, payload);
    if (status == RPP_LIMIT) {
        refuse(delivery, "the profile is larger than Parca takes");
        status = RPP_OK;
        goto done;
    }
    if (status != RPP_OK) goto done;

    rpp_http_request request = {
        .url = self->over_http.url,
        .content_type = "application/json",
        .body = body.bytes,
        .body_length = body.length,
        .deadline_ns = deadline_ns,
    };
    status = rpp_backend_over_http_post(&self->over_http, &request, NULL, delivery, &connected);
    if (status == RPP_OK) watch_for_crashes(self, payload, connected, delivery);

done:
    rpp_byte_buffer_destroy(&body);
    rpp_pairs_destroy(&labels);
    return status;
}

rpp_backend *rpp_backend_parca_new(const rpp_settings *settings, rpp_http_client *http)
{
    char *url = rpp_url_join(settings->server_address, "/api/profiles/writeraw");
    parca *self = rpp_backend_over_http_new(sizeof *self, settings, http, url);
    if (!self) return NULL;
    self->over_http.backend = (rpp_backend){.name = "parca",
                                            .limits = {.max_raw_bytes = RAW_MAX},
                                            .legal_label_names = true,
                                            .deliver = deliver,
                                            .free = rpp_backend_over_http_free};
    return &self->over_http.backend;
}
