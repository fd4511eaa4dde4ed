/* uploader.h - the background thread that brings payloads from the queue to the backend, up to eight at a time.
 *
 * Operation
 *   wait for a due payload -> one try -> done, back into the queue with a later time, or dropped and counted by reason.
 *   While the backend is away, the other payloads wait behind the one that is retried, so an outage costs one try at a
 *   time. Requests beside each other matter with a server that answers late: Pyroscope 2 answers when it has flushed,
 *   up to 0.5 s later. One line is logged when uploads begin to fail, and one when they work again.
 *
 * With a spool
 *   A payload whose try failed, and all payloads that come while the backend is away, go to disk at once. When the
 *   backend is back, the spool is sent, oldest first, no matter which process filled it; new payloads pass through it
 *   until it is empty. At the end the rest stays in the spool; after one failed try, the end does not wait for another.
 *   Payloads that the disk does not take wait in memory, as without a spool.
 *
 * Lifecycle
 *   new -> start -> ... -> stop: tries to send the rest until the deadline, then gives up -> free. It gives up earlier
 *   if the next try would come after the deadline, or if the backend has been away for a second.
 *
 * Threads    new, start, free: one at a time. Flush and stop: any ordinary thread.
 * Ownership  the uploader borrows the queue, the backend, the client and the spool; it owns payloads that it has taken.
 */
#ifndef RPP_UPLOADER_H
#define RPP_UPLOADER_H

#include <stdint.h>

#include "backends/backend.h"
#include "base/cancellation.h"
#include "base/clock.h"
#include "delivery/payload_queue.h"
#include "http/http_client.h"
#include "spool/spool.h"

typedef struct rpp_uploader_options {
    uint64_t upload_timeout_ns;
    uint64_t max_age_ns; /* older payloads are dropped; 0: never */
    rpp_retry_policy backoff;
    const rpp_clock *clock; /* NULL: the machine's */
    rpp_spool *spool;       /* NULL: none; must outlive the uploader */
} rpp_uploader_options;

typedef struct rpp_uploader rpp_uploader;

/* Queue, backend and client must outlive the uploader. NULL if out of memory. */
rpp_uploader *rpp_uploader_new(const rpp_uploader_options *options, rpp_payload_queue *queue, rpp_backend *backend,
                               rpp_http_client *http);
RPP_NODISCARD rpp_status rpp_uploader_start(rpp_uploader *uploader);

/* A flush under way. */
typedef struct rpp_flush {
    uint64_t lost_before;
    bool waits; /* the wait has begun; the numbers below are valid */
    uint64_t newest, idle_before;
} rpp_flush;

/* Begins a flush. Call it before you hand over the last payload, which may be lost before the wait begins. */
rpp_flush rpp_uploader_begin_flush(rpp_uploader *uploader);
/* Waits until all payloads that were in the queue at the time of the call are delivered, and does not wait with
 * retries; with a spool, until both are empty. RPP_TIMEOUT: the deadline passed, or the wait was cancelled; call it
 * again to continue. RPP_IO: payloads were lost since the flush began. */
RPP_NODISCARD rpp_status rpp_uploader_flush(rpp_uploader *uploader, rpp_flush *flush, rpp_cancellation *cancellation);
/* Sends the rest until the deadline (monotonic), then interrupts the client and joins the thread. What remains goes to
 * the spool or is counted (payloads_dropped_shutdown, or unconfirmed if it had gone out whole). RPP_TIMEOUT: the
 * deadline passed, or the wait was cancelled, before the thread ended. Then do not free the uploader: call stop again,
 * with any deadline. */
RPP_NODISCARD rpp_status rpp_uploader_stop(rpp_uploader *uploader, uint64_t deadline_ns,
                                           rpp_cancellation *cancellation);
void rpp_uploader_free(rpp_uploader *uploader);
/* In a forked child, which abandons the parent's uploader: closes the files that it had open. */
void rpp_uploader_discard_after_fork(rpp_uploader *uploader);

#endif
