/* control_server.h - the thread that serves a control socket.
 *
 * Limits
 *   A peer sends one request of at most 1 KiB, within ten seconds. It is disconnected if it reads nothing for five
 *   seconds, or if more than 16 MiB wait for it. There are at most 8 peers at a time; one more gets an error. Requests
 *   are answered one after another. While no peer is connected, the thread sleeps in poll. While a stream is open, it
 *   looks every 30 ms for what was pushed, because threads that push, such as a collector, never write to a descriptor.
 *
 * Threads    start and stop: one at a time. The service is called on the server's thread.
 * Ownership  the caller owns the service, which must outlive the server. `close` ends a stream.
 */
#ifndef RPP_CONTROL_SERVER_H
#define RPP_CONTROL_SERVER_H

#include <stdbool.h>

#include "base/byte_sink.h"
#include "base/status.h"
#include "control/control_outbox.h"
#include "control/control_request.h"
#include "control/control_socket.h"

#define RPP_CONTROL_PEERS_MAX 8

typedef struct rpp_control_service {
    void *context;
    /* Writes a document, within about a second. Returns RPP_INVALID for an unknown verb or wrong arguments. On failure
     * it writes one line to `why`. */
    rpp_status (*answer)(void *context, const rpp_control_request *request, rpp_byte_sink *document,
                         char why[RPP_CONTROL_WHY_MAX]);
    /* Starts a stream: threads push to the outbox until `close`. Returns RPP_INVALID if the verb names no stream. May
     * be NULL. */
    rpp_status (*open)(void *context, const rpp_control_request *request, rpp_control_outbox *outbox, void **stream,
                       char why[RPP_CONTROL_WHY_MAX]);
    /* The server calls it about every 30 ms while the stream is open. May be NULL. */
    void (*serve)(void *stream);
    /* The peer asked for the end. Push the rest and then call rpp_control_outbox_end, soon, on any thread. */
    void (*finish)(void *stream);
    /* The peer has received everything, or is gone. Push nothing from now on. */
    void (*close)(void *stream);
    uint64_t request_wait_ns; /* 0: ten seconds */
} rpp_control_service;

typedef struct rpp_control_server rpp_control_server;

/* Listens and starts the thread. On RPP_IO, `why` has the reason. */
RPP_NODISCARD rpp_status rpp_control_server_start(const char *place, const rpp_control_service *service,
                                                  rpp_control_server **server, char why[RPP_CONTROL_WHY_MAX]);
/* Waits for a request under way, closes all connections, removes the path, and frees the server. */
void rpp_control_server_stop(rpp_control_server *server);
const char *rpp_control_server_path(const rpp_control_server *server);
/* In a forked child: closes the child's copies of the descriptors. It frees nothing, because the fork may have
 * interrupted a change. */
void rpp_control_server_discard_after_fork(rpp_control_server *server);

#endif
