/* call_update.h - what calls have done since the last time, as text for a viewer: members of a JSON object.
 *
 *   "nodes":[parent, method, ...],
 *   "changes":[node, calls, self, wait, blocked, waiting, gc_marking, gc_sweeping, suspended, ...],
 *   "at":[[root, node, "state"], ...]
 *
 * Nodes are those that are shown (call_changes.h), in the order of their ids; the parent of a root is -1, and its
 * method its number. Numbers of changes may be negative. A place is where a thread is now.
 *
 * Threads    one at a time.
 * Ownership  the caller owns everything.
 */
#ifndef RPP_CALL_UPDATE_H
#define RPP_CALL_UPDATE_H

#include "base/byte_sink.h"
#include "calls/call_changes.h"

/* Where a thread is. */
typedef struct rpp_call_position {
    uint32_t root, node; /* the root's number; a shown node */
    const char *state;
} rpp_call_position;

/* Nodes from `told` on, and what has not been told of all of them. */
RPP_NODISCARD rpp_status rpp_call_update_write(rpp_byte_sink *sink, rpp_call_changes *changes, uint32_t told,
                                               const rpp_call_position *positions, size_t count);

#endif
