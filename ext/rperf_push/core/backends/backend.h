/* backend.h - the interface of a backend, which translates payloads for one kind of receiver.
 *
 * Each kind is one file; backend_kinds.h lists them. deliver makes one try and reports how it ended. backoff.h decides
 * whether and when to retry.
 *
 * Threads    deliver: the uploader only.
 * Ownership  the caller keeps the payload. Settings and HTTP client must outlive the backend.
 */
#ifndef RPP_BACKEND_H
#define RPP_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/delivery.h"
#include "backends/payload.h"
#include "base/clock.h"

/* For backends that accept profiles of any age: we drop profiles older than a week. */
#define RPP_BACKEND_AGE_MAX_NS (7 * 24 * 3600 * RPP_NS_PER_S)

/* Upper limits of a payload; 0: no limit. */
typedef struct rpp_backend_limits {
    size_t max_raw_bytes; /* before compression */
    size_t max_samples;
    uint64_t max_age_ns; /* since the window's start */
    bool
        one_a_millisecond; /* one profile per series and millisecond: a profile's time is drawn at random in its window */
    uint32_t max_series;   /* of a request, not counting the one without labels; 0: samples carry their own labels */
    bool one_group; /* a profile has values of one group (value_types.h); false: it has all values of its window */
    size_t max_series_raw_bytes; /* of all labelled series of a window but the last; the rest is sent without labels */
} rpp_backend_limits;

typedef struct rpp_backend {
    const char *name;
    rpp_backend_limits limits;
    bool legal_label_names;
    /* RPP_NO_MEMORY is the only failure; `delivery` reports all others. */
    rpp_status (*deliver)(struct rpp_backend *, const rpp_payload *, uint64_t deadline_ns, rpp_delivery *);
    void (*free)(struct rpp_backend *);
} rpp_backend;

#endif
