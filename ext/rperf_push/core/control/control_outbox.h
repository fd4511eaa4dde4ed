/* control_outbox.h - messages to one peer: any thread pushes them, the server sends them.
 *
 * A message is four bytes of length, most significant first, one byte for its kind, and the content.
 * A push beyond the limit closes the outbox, so a peer that does not read cannot use more memory.
 *
 * Threads    any thread; a lock is held during a copy.
 * Ownership  the server and the service have a reference each; the last release frees it.
 */
#ifndef RPP_CONTROL_OUTBOX_H
#define RPP_CONTROL_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define RPP_CONTROL_HEAD_BYTES 5
#define RPP_CONTROL_DOCUMENT   'J' /* JSON */
#define RPP_CONTROL_PROFILE    'P' /* pprof */
#define RPP_CONTROL_REFUSAL    'E' /* one line with the reason; the last message */
#define RPP_CONTROL_END        'Z' /* the end of the stream */

typedef struct rpp_control_outbox rpp_control_outbox;

/* With one reference. NULL if out of memory. */
rpp_control_outbox *rpp_control_outbox_new(size_t max_bytes);
rpp_control_outbox *rpp_control_outbox_retain(rpp_control_outbox *outbox);
void rpp_control_outbox_release(rpp_control_outbox *outbox);

/* RPP_STOPPED: it was closed. RPP_LIMIT, RPP_NO_MEMORY: this push has closed it. */
RPP_NODISCARD rpp_status rpp_control_outbox_push(rpp_control_outbox *outbox, char kind, const void *bytes,
                                                 size_t length);
/* The server sends the rest and disconnects the peer. Later pushes fail. */
void rpp_control_outbox_end(rpp_control_outbox *outbox);
/* Nothing more is taken or sent. */
void rpp_control_outbox_close(rpp_control_outbox *outbox);

/* --- the server --- */

/* Sends what the socket takes now; *sent is the number of bytes. RPP_OK: all is sent so far. RPP_BUSY: there is more. RPP_STOPPED:
 * all is sent, and the stream has ended. RPP_IO: the peer is gone, or the outbox is closed. */
RPP_NODISCARD rpp_status rpp_control_outbox_send(rpp_control_outbox *outbox, int socket, size_t *sent);
bool rpp_control_outbox_has_more(rpp_control_outbox *outbox);

#endif
