/* frame_names.h - maps a frame id to its name, file and first line.
 *
 * An id is reserved when a frame is first captured, in a hook or handler, without allocating. Later a job sets its
 * name, and the encoder reads it. An id is released when its frame was not captured for some windows, and reused.
 *
 * Threads    reserve, set, release, ensure: one at a time (in the gem: the thread that holds the GVL). get: any thread
 *            at any time, for ids that cannot be released meanwhile. reserve is async-signal-safe.
 * Ownership  the table owns copies of all strings.
 */
#ifndef RPP_FRAME_NAMES_H
#define RPP_FRAME_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "sampling/states.h"

/* Frames that are not methods. They exist in every table and are never released. */
#define RPP_STATE_FRAME(X, id, key, value, frame, title) X(id, frame)
#define RPP_SYNTHETIC_FRAMES(X)                                                                                        \
    X(NONE, "")                                                                                                        \
    X(TRUNCATED, "[truncated]")                                                                                        \
    X(OVERFLOW, "(overflow)")                                                                                          \
    X(UNKNOWN, "[unknown]")                                                                                            \
    X(INTERNAL, "(internal)")                                                                                          \
    RPP_STATES(RPP_STATE_FRAME, X)

enum {
#define X(name, text) RPP_FRAME_##name,
    RPP_SYNTHETIC_FRAMES(X)
#undef X
        RPP_FRAME_FIRST /* the first id of a real frame */
};

/* The frame of a state; RPP_FRAME_NONE while running. */
uint32_t rpp_state_frame(uint8_t state);

typedef struct rpp_frame_name {
    const char *name; /* qualified: "Shop::Cart#total", "block in Shop::Cart#total", "<main>" */
    const char *path; /* "" for C functions */
    uint32_t name_length, path_length;
    uint32_t first_line; /* 0: unknown */
    bool hidden;         /* the profiler's own: left out of profiles */
} rpp_frame_name;

typedef struct rpp_frame_names rpp_frame_names;

/* At most `limit` ids in all. NULL if out of memory. */
rpp_frame_names *rpp_frame_names_new(uint32_t limit);
void rpp_frame_names_free(rpp_frame_names *names);

/* Makes sure that `headroom` ids can be reserved without allocating. RPP_LIMIT: the table may not hold that many
 * more. */
RPP_NODISCARD rpp_status rpp_frame_names_ensure(rpp_frame_names *names, uint32_t headroom);
/* Returns a new id, or 0 if that would need an allocation. */
uint32_t rpp_frame_names_reserve(rpp_frame_names *names);
/* Names a reserved id, once. Copies the texts; heap addresses in the name (0x0000...) become 0x…, and invalid UTF-8
 * '?'. */
RPP_NODISCARD rpp_status rpp_frame_names_set(rpp_frame_names *names, uint32_t id, const char *name, size_t name_length,
                                             const char *path, size_t path_length, uint32_t first_line, bool hidden);
/* NULL while the id has no name yet. */
const rpp_frame_name *rpp_frame_names_get(const rpp_frame_names *names, uint32_t id);
/* While the name is held, it stays, and so does the id: then call collect now and then. */
void rpp_frame_names_release(rpp_frame_names *names, uint32_t id);
/* Ends an id that was released while its name was held, and is not any more. */
void rpp_frame_names_collect(rpp_frame_names *names, uint32_t id);
/* A name is held: it is read for longer than its frame is seen. Any thread; the id must not be released before the
 * first hold. */
void rpp_frame_names_hold(rpp_frame_names *names, uint32_t id);
void rpp_frame_names_let_go(rpp_frame_names *names, uint32_t id);
/* In a forked child: no name is held. Any context. */
void rpp_frame_names_discard_holds(rpp_frame_names *names);
/* The number of ids in use, without the synthetic ones. */
uint32_t rpp_frame_names_count(const rpp_frame_names *names);
/* One past the highest id ever reserved. */
uint32_t rpp_frame_names_end(const rpp_frame_names *names);

#endif
