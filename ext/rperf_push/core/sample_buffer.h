/* sample_buffer.h - the pair of buffers between the application threads and the collector.
 *
 * Producers append to the active half; the collector swaps halves and reads the other one at leisure. Appending takes a
 * try-lock and no memory: when the lock is held or the half is full the caller keeps its time on its clock and tries later.
 *
 * Threads    push: one producer at a time (in the gem: the thread that holds the GVL), async-signal-safe.
 *            drain: the collector only.
 * Ownership  a pushed sample carries one reference to its label set, which drain's visitor takes over.
 */
#ifndef RPP_SAMPLE_BUFFER_H
#define RPP_SAMPLE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "label_sets.h"
#include "stack_table.h"
#include "status.h"

#define RPP_MAX_DEPTH 512

/* What the thread was doing. The order is part of nothing: use the names. */
typedef enum rpp_state {
    RPP_STATE_RUNNING,     /* holds the GVL */
    RPP_STATE_BLOCKED,     /* off the GVL: I/O, sleep, or C code that released it */
    RPP_STATE_WAITING,     /* ready, waiting for the GVL */
    RPP_STATE_GC_MARKING,  /* in the GC, on this thread */
    RPP_STATE_GC_SWEEPING, /* likewise */
    RPP_STATE_COUNT
} rpp_state;

/* Who gets a sample: a session sees only what was gathered while it was on. */
#define RPP_CONSUMER_CONTINUOUS 1u
#define RPP_CONSUMER_ON_DEMAND  2u

typedef struct rpp_sample {
    uint64_t cpu_ns, wall_ns;
    rpp_label_set *labels; /* retained, or NULL */
    uint32_t thread_seq;   /* 1-based */
    uint32_t window;       /* the window this time belongs to */
    uint32_t depth;        /* locations that follow, leaf first, at most RPP_MAX_DEPTH + 1 ([truncated]) */
    uint8_t state;         /* rpp_state */
    uint8_t consumers;     /* RPP_CONSUMER_* bits */
    bool remainder;        /* leftover time: belongs where its thread was last seen so in this window, if it was */
} rpp_sample;

typedef struct rpp_sample_buffer rpp_sample_buffer;

/* `half_bytes` for each half. NULL when out of memory. */
rpp_sample_buffer *rpp_sample_buffer_new(size_t half_bytes);
/* Releases the label sets of what was never drained. */
void rpp_sample_buffer_free(rpp_sample_buffer *buffer);

/* RPP_BUSY: the collector is swapping. RPP_LIMIT: no room in this half. RPP_INVALID: too deep. Nothing was taken then. */
RPP_NODISCARD rpp_status rpp_sample_buffer_push(rpp_sample_buffer *buffer, const rpp_sample *sample,
                                                const rpp_location *locations);
/* Whether the active half is more than half full: time to wake the collector. Async-signal-safe. */
int rpp_sample_buffer_is_filling(const rpp_sample_buffer *buffer);

typedef void (*rpp_sample_visitor)(const rpp_sample *sample, const rpp_location *locations, void *context);
/* Swaps the halves and visits all that was pushed before, in order. Returns the number of samples. */
size_t rpp_sample_buffer_drain(rpp_sample_buffer *buffer, rpp_sample_visitor visit, void *context);

#endif
