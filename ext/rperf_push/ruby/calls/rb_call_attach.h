/* rb_call_attach.h - every call of this process, traced for a peer of the control socket.
 *
 * Operation
 *   trace max_nodes=100000 c_methods=1 blocks=0 only=Shop%23buy interval_ms=100 Patterns of methods, only and except,
 *   may come several times; in them stands %23 for the byte 0x23. A document says that the tracing has begun. With
 *   interval_ms, updates follow, documents, too. When the peer wants no more, the tree comes as a document, and the
 *   end. One peer at a time; it is paused and resumed by further requests, which any peer may send. A job starts a Ruby
 *   thread, which begins, waits and ends: it waits as any thread does, and exceptions that are meant for the program's
 *   threads do not meet it.
 *
 * Threads    open, serve, finish, close: the control server's. init: under the GVL.
 * Ownership  there is one stream, which is static; the server owns the outbox.
 */
#ifndef RB_CALL_ATTACH_H
#define RB_CALL_ATTACH_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "core/base/byte_sink.h"
#include "core/control/control_outbox.h"
#include "core/control/control_request.h"
#include "core/control/control_socket.h"

void rb_rpp_call_attach_init(void);
/* Whether a stream is the one of this file. */
bool rb_rpp_call_attach_owns(const void *stream);
/* The functions of rpp_control_service. */
rpp_status rb_rpp_call_attach_open(const rpp_control_request *request, rpp_control_outbox *outbox, void **stream,
                                   char why[RPP_CONTROL_WHY_MAX]);
/* Answers the requests pause and resume. */
rpp_status rb_rpp_call_attach_pause(bool paused, rpp_byte_sink *document, char why[RPP_CONTROL_WHY_MAX]);
void rb_rpp_call_attach_serve(void *stream);
void rb_rpp_call_attach_finish(void *stream);
void rb_rpp_call_attach_close(void *stream);
void rb_rpp_call_attach_discard_after_fork(void);

#endif
