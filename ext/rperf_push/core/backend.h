/* backend.h - how a payload is put to one kind of receiver. One file each; a further kind is one file more.
 *
 * deliver makes one try and tells how it ended; whether and when to try again is not a backend's business (backoff.h).
 *
 * Threads    deliver: the uploader only. interrupt: any thread.
 * Ownership  the payload stays the caller's. Settings and HTTP client must outlive the backend.
 */
#ifndef RPP_BACKEND_H
#define RPP_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backoff.h"
#include "http_client.h"
#include "payload.h"
#include "settings.h"

#define RPP_DELIVERY_MESSAGE_MAX 400

typedef struct rpp_delivery {
    rpp_attempt attempt;
    bool timed_out;                         /* for the statistics */
    char message[RPP_DELIVERY_MESSAGE_MAX]; /* why it failed, for a human; never credentials */
} rpp_delivery;

/* What a payload may be at the most; 0: no limit. */
typedef struct rpp_backend_limits {
    size_t max_raw_bytes; /* before compression */
    size_t max_samples;
    uint64_t max_age_ns; /* since the window's start */
} rpp_backend_limits;

typedef struct rpp_backend {
    const char *name;
    rpp_backend_limits limits;
    bool legal_label_names;
    /* RPP_NO_MEMORY is the only failure; everything else is in `delivery`. */
    rpp_status (*deliver)(struct rpp_backend *, const rpp_payload *, uint64_t deadline_ns, rpp_delivery *);
    void (*free)(struct rpp_backend *);
} rpp_backend;

/* The one the settings name. NULL when out of memory. */
rpp_backend *rpp_backend_new(const rpp_settings *settings, rpp_http_client *http);

rpp_backend *rpp_backend_pyroscope_new(const rpp_settings *settings, rpp_http_client *http);
rpp_backend *rpp_backend_ingest_new(const rpp_settings *settings, rpp_http_client *http);
rpp_backend *rpp_backend_parca_new(const rpp_settings *settings, rpp_http_client *http);
rpp_backend *rpp_backend_http_new(const rpp_settings *settings, rpp_http_client *http);
rpp_backend *rpp_backend_directory_new(const rpp_settings *settings);

/* The second where the first answers 404 or 501, which say that the server does not know it; then the one that worked stays
 * in use. Takes both; NULL when one of them is NULL, or when out of memory. */
rpp_backend *rpp_backend_fallback_new(rpp_backend *first, rpp_backend *second);

/* A response as a delivery: status, Retry-After, the server's message made fit for one log line. */
void rpp_delivery_from_response(rpp_delivery *delivery, const rpp_http_response *response);

/* Adds " (hint)" to a message, if it fits; NULL adds nothing. */
void rpp_delivery_add_hint(rpp_delivery *delivery, const char *hint);

/* The labels of the payload's series: its own, or service_name first, then by name the tags, hostname and pid on wish.
 * RPP_NO_MEMORY only. */
RPP_NODISCARD rpp_status rpp_backend_series_labels(const rpp_settings *settings, const rpp_payload *payload,
                                                   rpp_pairs *labels);
void rpp_pairs_destroy(rpp_pairs *pairs);

#endif
