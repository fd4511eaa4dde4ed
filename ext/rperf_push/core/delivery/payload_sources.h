/* payload_sources.h - where the uploader's payloads wait: in memory (the queue) and, if there is one, on disk (the
 * spool).
 *
 * Some payloads are out of their sources; each either ends or goes back. Payloads that the disk does not take wait in
 * memory.
 *
 * Threads    the uploader's thread, or the thread that stops it if there is none. Queue and spool have their own locks.
 * Ownership  it borrows the queue and the spool. take gives a payload to the caller, store and put_back take it.
 */
#ifndef RPP_PAYLOAD_SOURCES_H
#define RPP_PAYLOAD_SOURCES_H

#include "delivery/next_step.h"
#include "delivery/payload_queue.h"
#include "http/http_client.h"
#include "spool/spool.h"

typedef struct rpp_payload_sources {
    rpp_payload_queue *queue;
    rpp_spool *spool;  /* NULL: none */
    bool backlog;      /* the spool gave a payload when it was last asked */
    bool disk_refuses; /* it has refused a payload since the last try */
} rpp_payload_sources;

/* From now on, payloads that a full queue drops go to the spool, and the client tells the spool before bytes of its
 * payloads go out. */
void rpp_payload_sources_join(const rpp_payload_sources *sources, rpp_http_client *http);
void rpp_payload_sources_part(const rpp_payload_sources *sources);

/* Sets the fields of the prospect that are about sources. */
void rpp_payload_sources_inspect(const rpp_payload_sources *sources, rpp_prospect *prospect);
/* The first payload of a source. NULL: it is not due, or another process has it. */
rpp_payload *rpp_payload_sources_take(rpp_payload_sources *sources, rpp_source source, uint64_t now_ns);

/* True if the disk took it; else the caller still owns it. */
bool rpp_payload_sources_store(rpp_payload_sources *sources, rpp_payload *payload);
/* Puts it on disk, or else into memory. */
void rpp_payload_sources_put_back(rpp_payload_sources *sources, rpp_payload *payload);
/* The payload has ended: removes it from its source. */
void rpp_payload_sources_end(const rpp_payload_sources *sources, rpp_payload *payload);

/* Makes all payloads due now. Any thread. */
void rpp_payload_sources_hurry(const rpp_payload_sources *sources);

#endif
