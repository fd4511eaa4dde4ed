/* uploader.h - the background thread that brings payloads from the queue to the backend, one at a time.
 *
 * Operation
 *   wait for a due payload -> one try -> done, back into the queue with a later time, or dropped and counted by reason.
 *   While the backend is away the other payloads wait behind the one being retried, so that an outage costs one try at a
 *   time. One line is logged when uploads begin to fail, and one when they work again.
 *
 * With a spool
 *   A payload whose try failed, and all that come while the backend is away, go to disk at once. When it is back the spool
 *   is sent oldest first, whoever filled it; fresh payloads pass through it until it is empty. What is left at the end
 *   stays in it, and once a try has failed the end waits for no other. What the disk does not take waits in memory as if
 *   there were no spool.
 *
 * Lifecycle
 *   new -> start -> ... -> stop: tries what is left until the deadline, then gives up -> free. It gives up earlier when the
 *   next try would come later than that, or when the backend has not been there for a second.
 *
 * Threads    flush and stop: any ordinary thread.
 */
#ifndef RPP_UPLOADER_H
#define RPP_UPLOADER_H

#include <stdint.h>

#include "backend.h"
#include "clock.h"
#include "payload_queue.h"
#include "spool.h"

typedef struct rpp_uploader_options {
    uint64_t upload_timeout_ns;
    uint64_t max_age_ns; /* older payloads are dropped; 0: never */
    rpp_backoff_policy backoff;
    const rpp_clock *clock; /* NULL: the machine's */
    rpp_spool *spool;       /* NULL: none; must outlive the uploader */
} rpp_uploader_options;

typedef struct rpp_uploader rpp_uploader;

/* Queue, backend and client must outlive the uploader. NULL when out of memory. */
rpp_uploader *rpp_uploader_new(const rpp_uploader_options *options, rpp_payload_queue *queue, rpp_backend *backend,
                               rpp_http_client *http);
RPP_NODISCARD rpp_status rpp_uploader_start(rpp_uploader *uploader);
/* How many payloads were dropped or stayed unconfirmed so far. Who hands one over and flushes asks before: it may be lost by
 * the time that the flush begins. */
uint64_t rpp_uploader_lost(rpp_uploader *uploader);
/* Waits until all that was in the queue when it was called is delivered, hurrying retries; with a spool, until both are
 * empty. RPP_TIMEOUT: the deadline (monotonic) passed first. RPP_IO: more were lost than `lost_before`. */
RPP_NODISCARD rpp_status rpp_uploader_flush(rpp_uploader *uploader, uint64_t lost_before, uint64_t deadline_ns);
/* Sends what is left until the deadline at the latest, then interrupts the client and joins. What remains goes to the spool or is counted
 * (payloads_dropped_shutdown, or unconfirmed when it had gone out whole). RPP_TIMEOUT: the thread did not end (must not free). */
RPP_NODISCARD rpp_status rpp_uploader_stop(rpp_uploader *uploader, uint64_t deadline_ns);
void rpp_uploader_free(rpp_uploader *uploader);
/* In a forked child, where the parent's uploader is given up: lets go of the files it had open. */
void rpp_uploader_forget_after_fork(rpp_uploader *uploader);

#endif
