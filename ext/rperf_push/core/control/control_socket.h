/* control_socket.h - where a process listens, and who may connect.
 *
 * Place
 *   "auto"         PID.sock in $XDG_RUNTIME_DIR/rperf-push, else in rperf-push-UID of $TMPDIR, or /tmp
 *   "NAME.sock"    that path, or NAME-PID.sock if another process already listens there (the parent of a forked child)
 *   another path   PID.sock in that folder
 *   A process takes a path only if the path is free or its process is dead. It locks the folder while it removes
 *   sockets of dead processes. If another process holds the lock, it removes none. A new folder has mode 0700. The
 *   folder of "auto" must have this mode and belong to this user. Another folder must belong to this user, and no other
 *   user may write into it: a foreign socket there could answer in place of a sibling process. The socket has mode
 *   0600. The server also asks the kernel which user a peer is.
 *
 * Safety
 *   A program may close descriptors that are not its own, and its next files then get the same numbers. So each use of
 *   a number first checks that it is still ours.
 *
 * Threads    one at a time, unless a line says something else.
 * Ownership  the caller owns the struct, which owns the descriptor and the path.
 */
#ifndef RPP_CONTROL_SOCKET_H
#define RPP_CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

#define RPP_CONTROL_PATH_MAX 104 /* fits into a socket address on every system */
#define RPP_CONTROL_WHY_MAX  256

/* The identity of a descriptor, which its number alone does not have. */
typedef struct rpp_control_descriptor {
    int number; /* -1: none */
    dev_t device;
    ino_t inode;
} rpp_control_descriptor;

rpp_control_descriptor rpp_control_descriptor_of(int number);
bool rpp_control_descriptor_is_ours(const rpp_control_descriptor *descriptor);
/* Closes it if it is still ours. Async-signal-safe. */
void rpp_control_descriptor_close(rpp_control_descriptor *descriptor);

typedef struct rpp_control_socket {
    rpp_control_descriptor listening;
    char path[RPP_CONTROL_PATH_MAX];
    dev_t device; /* of the path */
    ino_t inode;
} rpp_control_socket;

/* Listens, and removes the sockets that dead processes left in the folder. On RPP_IO, `why` has the reason. */
RPP_NODISCARD rpp_status rpp_control_socket_open(rpp_control_socket *listener, const char *place,
                                                 char why[RPP_CONTROL_WHY_MAX]);
/* Listens at the same path again, after the program has closed our descriptor. */
RPP_NODISCARD rpp_status rpp_control_socket_open_again(rpp_control_socket *listener, char why[RPP_CONTROL_WHY_MAX]);
/* Closes it, and removes the path if it still leads to this socket. */
void rpp_control_socket_close(rpp_control_socket *listener);
/* In a forked child: closes the child's descriptor. The path belongs to the parent. */
void rpp_control_socket_discard_after_fork(rpp_control_socket *listener);
/* Wakes the thread that waits for a peer. The socket accepts no peer from now on. Any thread. */
void rpp_control_socket_knock(const rpp_control_socket *listener);
/* Accepts a peer of this user or of root and returns its descriptor, which is non-blocking. Returns -1 if none is
 * waiting. Disconnects a peer of another user and returns -1. */
int rpp_control_socket_accept(const rpp_control_socket *listener);

#endif
