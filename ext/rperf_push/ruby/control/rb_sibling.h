/* rb_sibling.h - what a session on demand has recorded, for sibling processes: the workers of a cluster, which are
 * shown as one.
 *
 * Operation
 *   take cluster=NAME What the session that was offered to this cluster has recorded since it was last taken, as one
 *   profile without compression; no profile if there is nothing. A job ends its window at a safepoint; the control
 *   server's thread does the rest. While all threads sleep no safepoint comes: then it is what windows have delivered.
 *   If the peer goes before, nothing is taken.
 *
 * Threads    open, serve, finish, close, name: the control server's. init: under the GVL.
 * Ownership  a stream borrows the session.
 */
#ifndef RB_SIBLING_H
#define RB_SIBLING_H

#include "vm/rb_compat.h"

#include <stdbool.h>

#include "core/control/control_outbox.h"
#include "core/control/control_request.h"
#include "core/control/control_socket.h"

#define RB_RPP_CLUSTER_MAX_BYTES 64

void rb_rpp_sibling_init(VALUE native);
/* The functions of rpp_control_service. */
rpp_status rb_rpp_sibling_open(const rpp_control_request *request, rpp_control_outbox *outbox, void **stream,
                               char why[RPP_CONTROL_WHY_MAX]);
/* True: the stream was opened here. */
bool rb_rpp_sibling_owns(const void *stream);
void rb_rpp_sibling_serve(void *stream);
void rb_rpp_sibling_finish(void *stream);
void rb_rpp_sibling_close(void *stream);
/* The cluster that the session was offered to; empty: none. */
void rb_rpp_sibling_cluster(char cluster[RB_RPP_CLUSTER_MAX_BYTES]);
void rb_rpp_sibling_discard_after_fork(void);

#endif
