/* payload_queue.h - the bounded hand-over between exporter and uploader.
 *
 * Ordered by due time, then by sequence. When it is full the oldest payload makes room: a fresh profile is worth more than a
 * stale one, and the producer never waits. A payload that goes back with a later due time waits in the same list, so that
 * retry, flush and shutdown need no second mechanism.
 *
 * Threads    any thread may call any function; the queue locks for itself and calls nobody while locked.
 * Ownership  push takes the payload, always; pop gives one away; what remains is freed with the queue.
 */
#ifndef RPP_PAYLOAD_QUEUE_H
#define RPP_PAYLOAD_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payload.h"

typedef struct rpp_payload_queue rpp_payload_queue;

/* At most max_count payloads and max_bytes of compressed bytes. NULL when out of memory. */
rpp_payload_queue *rpp_payload_queue_new(size_t max_count, size_t max_bytes);
void rpp_payload_queue_free(rpp_payload_queue *queue);

/* What is asked to keep a payload that has to go. Whether it did: else the payload counts as dropped. */
typedef bool (*rpp_payload_overflow)(rpp_payload *payload, void *context);
/* Before other threads know the queue; NULL: nobody keeps anything. It is called by push, with the queue unlocked. */
void rpp_payload_queue_set_overflow(rpp_payload_queue *queue, rpp_payload_overflow overflow, void *context);

/* Oldest ones (by sequence) are freed and counted (payloads_dropped_queue_full) until the new one fits; one that is larger
 * than the whole queue is dropped itself. Wakes a waiting pop. */
void rpp_payload_queue_push(rpp_payload_queue *queue, rpp_payload *payload);
/* The payload that is due, or NULL: then *next_due_ns is when the next will be (UINT64_MAX: none waits). */
rpp_payload *rpp_payload_queue_pop(rpp_payload_queue *queue, uint64_t now_ns, uint64_t *next_due_ns);
/* Waits for a push, a wake, or the time; spurious returns happen. */
void rpp_payload_queue_wait(rpp_payload_queue *queue, uint64_t until_ns);
void rpp_payload_queue_wake(rpp_payload_queue *queue);
/* Makes all payloads due now (flush, shutdown). */
void rpp_payload_queue_hurry(rpp_payload_queue *queue);
/* Frees all; returns how many. */
size_t rpp_payload_queue_clear(rpp_payload_queue *queue);

size_t rpp_payload_queue_count(rpp_payload_queue *queue);
size_t rpp_payload_queue_bytes(rpp_payload_queue *queue);

#endif
