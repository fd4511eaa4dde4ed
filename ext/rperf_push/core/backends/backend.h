/* backend.h - the interface of a backend, which translates payloads for one kind of receiver.
 *
 * Each kind is one file; backend_kinds.h lists them. deliver makes one try and reports how it ended. Where a backend
 * has begin and end, several tries can be under way at once: the caller drives their exchanges with the HTTP client.
 * retry_verdict.h decides whether and when to retry.
 *
 * Threads    the uploader only.
 * Ownership  the caller keeps payloads and flights. Settings and HTTP client must outlive the backend.
 */
#ifndef RPP_BACKEND_H
#define RPP_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/payload.h"
#include "backends/upload_result.h"
#include "base/byte_sink.h"
#include "base/clock.h"
#include "encoding/encoder.h"
#include "http/http_client.h"

/* For backends that accept profiles of any age: we drop profiles older than a week. */
#define RPP_BACKEND_AGE_MAX_NS (7 * 24 * 3600 * RPP_NS_PER_S)

/* What a backend wants its payloads to be. Limits: 0 is none. */
typedef struct rpp_payload_rules {
    rpp_encode *encode;   /* their format */
    size_t max_raw_bytes; /* before compression */
    size_t max_samples;
    uint64_t max_age_ns;    /* since the window's start */
    bool one_a_millisecond; /* per series: a profile's time is chosen at random in its window */
    uint32_t max_series;    /* of a request, not counting the one without labels; 0: samples carry their own labels */
    bool one_group; /* a profile has values of one group (value_types.h); false: it has all values of its window */
    size_t max_series_raw_bytes; /* of all labelled series of a window but the last; the rest is sent without labels */
} rpp_payload_rules;

#define RPP_POST_LINES    3
#define RPP_POST_LINE_MAX 64u
#define RPP_POST_TEXTS    2

/* A request, and what it is made of. */
typedef struct rpp_post {
    rpp_http_request request;
    char lines[RPP_POST_LINES][RPP_POST_LINE_MAX];
    rpp_byte_buffer texts[RPP_POST_TEXTS];
    uint8_t *body; /* NULL: the payload's bytes, or a text */
} rpp_post;

/* A try under way. It must not move. */
typedef struct rpp_flight {
    const rpp_payload *payload;
    uint64_t deadline_ns;
    rpp_http_exchange *exchange; /* NULL: the try has ended */
    rpp_upload_result result;    /* how */
    rpp_post post;
    unsigned choice; /* of two backends */
    bool detour;     /* the other one had its try */
} rpp_flight;

typedef struct rpp_backend {
    const char *name;
    rpp_payload_rules rules;
    /* RPP_NO_MEMORY is the only failure; `result` reports all others. */
    rpp_status (*deliver)(struct rpp_backend *, const rpp_payload *, uint64_t deadline_ns, rpp_upload_result *);
    /* NULL: it only delivers. begin and end fail as deliver does; then nothing of the flight is left. */
    rpp_status (*begin)(struct rpp_backend *, rpp_flight *);
    /* For an exchange that has ended. If the flight has one afterwards, the try goes on. */
    rpp_status (*end)(struct rpp_backend *, rpp_flight *);
    void (*free)(struct rpp_backend *);
} rpp_backend;

#endif
