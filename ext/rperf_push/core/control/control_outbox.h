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

/* Creates an outbox with one reference. Returns NULL if out of memory. */
rpp_control_outbox *rpp_control_outbox_new(size_t max_bytes);
rpp_control_outbox *rpp_control_outbox_retain(rpp_control_outbox *outbox);
void rpp_control_outbox_release(rpp_control_outbox *outbox);

/* Appends a message. Returns RPP_STOPPED if the outbox was closed or ended before; RPP_LIMIT or RPP_NO_MEMORY if this
 * push closed it. */
RPP_NODISCARD rpp_status rpp_control_outbox_push(rpp_control_outbox *outbox, char kind, const void *bytes,
                                                 size_t length);
/* Ends the stream: the server sends what is left and disconnects the peer. Later pushes fail. */
void rpp_control_outbox_end(rpp_control_outbox *outbox);
/* Drops what is left. Later pushes and sends fail. */
void rpp_control_outbox_close(rpp_control_outbox *outbox);

/* --- the server --- */

/* Sends what the socket takes now; *sent is the number of bytes. Returns RPP_OK if nothing is left, RPP_BUSY if
 * something is, RPP_STOPPED if nothing is left and the stream has ended, RPP_IO if the peer is gone or the outbox is
 * closed. */
RPP_NODISCARD rpp_status rpp_control_outbox_send(rpp_control_outbox *outbox, int socket, size_t *sent);
/* True if the server has something to do: bytes to send, or a peer to disconnect. */
bool rpp_control_outbox_has_more(rpp_control_outbox *outbox);

#endif
