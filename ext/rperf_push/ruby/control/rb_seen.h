/* rb_seen.h - the threads and stacks that a look found (rb_look.h).
 *
 * Threads    one at a time.
 * Ownership  the caller owns the struct, which owns its arrays and a reference to each label set.
 */
#ifndef RB_SEEN_H
#define RB_SEEN_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/byte_sink.h"
#include "core/sampling/frame_names.h"
#include "core/sampling/label_sets.h"
#include "core/sampling/stack_table.h"

#define RB_RPP_SEEN_NAME_MAX 64

typedef struct rb_rpp_seen_thread {
    uint32_t seq;
    pid_t tid;
    const char *state; /* "running", "waiting", "blocked", "unknown" */
    uint64_t for_ns;   /* time in that state so far; 0: unknown */
    double cpu;        /* share of a core during the look; negative: unknown */
    bool holds_gvl;
    rpp_label_set *labels; /* a reference */
    uint64_t age_ns;       /* of the stack; 0: it is the current one */
    size_t first, depth;   /* of the locations */
    char name[RB_RPP_SEEN_NAME_MAX];
} rb_rpp_seen_thread;

typedef struct rb_rpp_seen {
    rb_rpp_seen_thread *threads;
    size_t count, room;
    rpp_location *locations;
    size_t used, location_room;
} rb_rpp_seen;

/* Adds a thread of which nothing is known yet. A struct of zeros is empty. Returns NULL if out of memory. */
rb_rpp_seen_thread *rb_rpp_seen_add(rb_rpp_seen *seen);
/* Sets the stack of the thread that was added last. If out of memory, the thread has no stack. */
void rb_rpp_seen_set_stack(rb_rpp_seen *seen, const rpp_location *locations, size_t depth);
/* True if all frames have names. */
bool rb_rpp_seen_is_named(const rb_rpp_seen *seen, const rpp_frame_names *names);
/* Writes a JSON array. */
RPP_NODISCARD rpp_status rb_rpp_seen_write(const rb_rpp_seen *seen, const rpp_frame_names *names, rpp_byte_sink *sink);
/* Releases everything in it. It is empty afterwards. */
void rb_rpp_seen_destroy(rb_rpp_seen *seen);

#endif
