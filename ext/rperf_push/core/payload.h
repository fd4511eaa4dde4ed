/* payload.h - one compressed pprof on its way to the backend, with all that is known of it.
 *
 * Ownership  a payload is moved, never shared: whoever holds it frees it or gives it on.
 */
#ifndef RPP_PAYLOAD_H
#define RPP_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "backoff.h"
#include "settings.h"
#include "status.h"

typedef struct rpp_payload {
    uint8_t *bytes; /* gzip */
    size_t length;
    size_t raw_length;                 /* before compression */
    uint64_t time_ns, duration_ns;     /* of the window: epoch, length */
    uint64_t sequence;                 /* order of sealing in this process, from 1 */
    uint64_t samples, cpu_ns, wall_ns; /* what it holds */
    uint64_t due_ns;                   /* monotonic: not before; 0 = now */
    rpp_tries tries;                   /* so far */
    rpp_pairs labels;                  /* of its series; empty: what the settings say */
    long pid;                          /* of the process that sealed it; 0: this one */
    struct rpp_payload *next;          /* for the queue that holds it */
} rpp_payload;

/* Takes the bytes. NULL when out of memory: the bytes are freed all the same. */
rpp_payload *rpp_payload_new(uint8_t *bytes, size_t length);
/* NULL is fine. */
void rpp_payload_free(rpp_payload *payload);

#endif
