/* payload_queue.h - the bounded hand-over between exporter and uploader.
 *
 * It is ordered by due time, then by sequence. A full queue drops its oldest payload, because a new profile is worth
 * more than an old one; the producer never waits. A payload that goes back with a later due time waits in the same
 * list, so retry, flush and shutdown need no second mechanism.
 *
 * Threads    any thread. The queue has its own lock; while it holds it, it calls the waker only.
 * Ownership  push takes the payload on every path, pop gives one to the caller, and free frees the rest.
 */
#ifndef RPP_PAYLOAD_QUEUE_H
#define RPP_PAYLOAD_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/payload.h"

typedef struct rpp_payload_queue rpp_payload_queue;

/* At most max_count payloads and max_bytes of compressed bytes. NULL if out of memory. */
rpp_payload_queue *rpp_payload_queue_new(size_t max_count, size_t max_bytes);
void rpp_payload_queue_free(rpp_payload_queue *queue);

/* Called for a payload that the queue has to drop. True: it took the payload. False: the queue drops it and counts
 * it. */
typedef bool (*rpp_payload_overflow)(rpp_payload *payload, void *context);
/* Call it before other threads know the queue. NULL: payloads are dropped. push calls `overflow`, with the queue
 * unlocked. */
void rpp_payload_queue_set_overflow(rpp_payload_queue *queue, rpp_payload_overflow overflow, void *context);

/* The queue calls the waker at each push, wake and hurry, under its lock. NULL: no waker. */
void rpp_payload_queue_set_waker(rpp_payload_queue *queue, void (*wake)(void *context), void *context);

/* Frees and counts the oldest payloads by sequence (payloads_dropped_queue_full) until the new one fits. A payload
 * larger than the whole queue is dropped itself. Ends a wait. */
void rpp_payload_queue_push(rpp_payload_queue *queue, rpp_payload *payload);
/* The due time of the first payload; UINT64_MAX: the queue is empty. */
uint64_t rpp_payload_queue_due_ns(rpp_payload_queue *queue);
/* The first payload if it is due, else NULL. */
rpp_payload *rpp_payload_queue_pop(rpp_payload_queue *queue, uint64_t now_ns);
/* Waits for a push, a wake, or the time; spurious returns happen. */
void rpp_payload_queue_wait(rpp_payload_queue *queue, uint64_t until_ns);
void rpp_payload_queue_wake(rpp_payload_queue *queue);
/* Makes all payloads due now (flush, shutdown). Payloads that were waiting still come after the others. */
void rpp_payload_queue_hurry(rpp_payload_queue *queue);
/* Frees all payloads and returns their number. */
size_t rpp_payload_queue_clear(rpp_payload_queue *queue);

size_t rpp_payload_queue_count(rpp_payload_queue *queue);
/* The least and the greatest sequence in the queue; UINT64_MAX and 0 if it is empty. */
uint64_t rpp_payload_queue_oldest(rpp_payload_queue *queue);
uint64_t rpp_payload_queue_newest(rpp_payload_queue *queue);
size_t rpp_payload_queue_bytes(rpp_payload_queue *queue);
size_t rpp_payload_queue_max_bytes(const rpp_payload_queue *queue);

#endif
