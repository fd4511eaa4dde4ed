/* rb_attach.h - sessions on demand for peers of the control socket, which get their windows as pprof.
 *
 * Operation
 *   record frequency=99 mode=cpu,wall interval_ms=1000 lines=1 gzip=1 engine=auto The stream begins with a document,
 *   which says that the session has begun. Then it sends one profile for each window with samples. When the peer asks
 *   for the end, the session cuts its last window at that time, sends it, and ends the stream. Up to four of these
 *   sessions run beside each other and beside the program's own. Jobs attach and detach a session at safepoints.
 *   Without a safepoint, the session does not begin, or ends without its last window.
 *
 * Threads    open, serve, finish, close: the control server's. end: under the GVL.
 * Ownership  a stream owns its pipeline; the server owns the outbox.
 */
#ifndef RB_ATTACH_H
#define RB_ATTACH_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "core/control/control_outbox.h"
#include "core/control/control_request.h"
#include "core/control/control_socket.h"

void rb_rpp_attach_init(void);
/* The functions of rpp_control_service. */
rpp_status rb_rpp_attach_open(const rpp_control_request *request, rpp_control_outbox *outbox, void **stream,
                              char why[RPP_CONTROL_WHY_MAX]);
void rb_rpp_attach_serve(void *stream);
void rb_rpp_attach_finish(void *stream);
void rb_rpp_attach_close(void *stream);
/* True while a peer records. Any thread. */
bool rb_rpp_attach_is_on(void);
/* At the end of the process: detaches all sessions and stops their collectors. */
void rb_rpp_attach_end(void);
void rb_rpp_attach_discard_after_fork(void);

#endif
