/* rb_inspected.h - the threads and stacks that an inspection found (rb_inspect.h).
 *
 * Threads    one at a time.
 * Ownership  the caller owns the struct, which owns its arrays and a reference to each label set.
 */
#ifndef RB_INSPECTED_H
#define RB_INSPECTED_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/byte_sink.h"
#include "core/sampling/frame_names.h"
#include "core/sampling/label_sets.h"
#include "core/sampling/stack_table.h"

#define RB_RPP_INSPECTED_NAME_MAX 64

typedef struct rb_rpp_inspected_thread {
    uint32_t seq;
    pid_t tid;
    const char *state; /* "running", "waiting", "blocked", "unknown" */
    uint64_t for_ns;   /* time in that state so far; 0: unknown */
    double cpu;        /* share of a core during the inspection; negative: unknown */
    bool holds_gvl;
    rpp_label_set *labels; /* a reference */
    uint64_t age_ns;       /* of the stack; 0: it is the current one */
    size_t first, depth;   /* of the locations */
    char name[RB_RPP_INSPECTED_NAME_MAX];
} rb_rpp_inspected_thread;

typedef struct rb_rpp_inspected {
    rb_rpp_inspected_thread *threads;
    size_t count, room;
    rpp_location *locations;
    size_t used, location_room;
} rb_rpp_inspected;

/* Adds a thread of which nothing is known yet. A struct of zeros is empty. Returns NULL if out of memory. */
rb_rpp_inspected_thread *rb_rpp_inspected_add(rb_rpp_inspected *found);
/* Sets the stack of the thread that was added last. If out of memory, the thread has no stack. */
void rb_rpp_inspected_set_stack(rb_rpp_inspected *found, const rpp_location *locations, size_t depth);
/* True if all frames have names. */
bool rb_rpp_inspected_is_named(const rb_rpp_inspected *found, const rpp_frame_names *names);
/* Writes a JSON array. */
RPP_NODISCARD rpp_status rb_rpp_inspected_write(const rb_rpp_inspected *found, const rpp_frame_names *names,
                                                rpp_byte_sink *sink);
/* Releases everything in it. It is empty afterwards. */
void rb_rpp_inspected_destroy(rb_rpp_inspected *found);

#endif
