/* payload.h - the profiles of one request on their way to the backend, with their description.
 *
 * Threads    one at a time.
 * Ownership  a payload is moved, never shared: its owner frees it or passes it on.
 */
#ifndef RPP_PAYLOAD_H
#define RPP_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/value_types.h"
#include "http/retry_verdict.h"
#include "settings/settings.h"

typedef struct rpp_payload {
    uint8_t
        *bytes; /* a gzip pprof; or a list of them (series_list.h), for a backend whose requests have several series */
    size_t length;
    size_t raw_length;             /* before compression */
    uint64_t time_ns, duration_ns; /* of the window: epoch, length */
    uint64_t sequence;             /* order of closing in this process, from 1 */
    uint64_t samples;              /* number of samples */
    rpp_value_group group;         /* what the server calls the profile, if it has values of one group only */
    uint64_t due_ns;               /* monotonic; no try before; 0: now, before all with a time */
    rpp_tries tries;               /* so far */
    uint64_t failed_in;            /* for the uploader, to find out if it fails alone; 0: it has not failed */
    rpp_pairs labels;              /* of its series; empty: those of the settings */
    long pid;                      /* of the process that closed it; 0: this one */
    unsigned claim;                /* of its file in the spool; 0: it is in none */
    struct rpp_payload *next;      /* for the queue that holds it */
} rpp_payload;

/* Takes ownership of the bytes, even on failure. NULL if out of memory. */
rpp_payload *rpp_payload_new(uint8_t *bytes, size_t length);
/* NULL is allowed. */
void rpp_payload_free(rpp_payload *payload);

#endif
