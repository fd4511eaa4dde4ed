/* sample_buffer.h - the pair of buffers between the application threads and the collector.
 *
 * Producers append to the active half. The collector swaps the halves and then reads the other one. Append uses a
 * try-lock and no memory: if the lock is held or the half is full, the caller keeps its time in the ledger and tries
 * later.
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

#include "base/status.h"
#include "base/value_types.h"
#include "sampling/label_sets.h"
#include "sampling/stack_table.h"
#include "sampling/states.h"

#define RPP_MAX_DEPTH 512
#define RPP_ONE_WAIT  1024u

typedef struct rpp_sample {
    RPP_VALUES(values); /* measured */
    /* Of a stack that was sampled: its weight, which gets a part of a measured total (distribution.h). */
    uint64_t cpu_sampled_ns, wall_sampled_ns;
    uint64_t waits_sampled; /* how many waits it stands for, in RPP_ONE_WAIT; `contentions` are exactly captured ones */
    uint64_t alloc_sampled, alloc_sampled_bytes; /* how many objects it stands for, and their bytes */
    uint64_t watched; /* the number of its allocation, if it is a watched object (watched_objects.h); 0: it is none */
    rpp_label_set *labels; /* retained, or NULL */
    uint32_t thread_seq;   /* 1-based */
    uint32_t window;       /* the window this time belongs to */
    uint32_t depth;        /* locations that follow, leaf first, at most RPP_MAX_DEPTH + 1 ([truncated]) */
    uint8_t state;         /* rpp_state */
    uint8_t custom_id;     /* which value `custom` is of (custom_values.h) */
    bool after_request;    /* the request of its labels is over, and it is of another thread (outcome.h) */
    bool is_total; /* without a stack: a thread's time, or the process's objects, for the samples of this window */
} rpp_sample;

typedef struct rpp_sample_buffer rpp_sample_buffer;

/* Each half has `half_bytes`. NULL if out of memory. */
rpp_sample_buffer *rpp_sample_buffer_new(size_t half_bytes);
/* Releases the label sets of undrained samples. */
void rpp_sample_buffer_free(rpp_sample_buffer *buffer);
/* In a forked child: frees only the bytes, because the parent's collector may be half-way through the samples. */
void rpp_sample_buffer_discard_after_fork(rpp_sample_buffer *buffer);

/* RPP_BUSY: the collector is swapping. RPP_LIMIT: no room in this half. RPP_INVALID: too deep. A failure takes
 * nothing. */
RPP_NODISCARD rpp_status rpp_sample_buffer_push(rpp_sample_buffer *buffer, const rpp_sample *sample,
                                                const rpp_location *locations);
/* True if the active half is more than half full: wake the collector. Async-signal-safe. */
int rpp_sample_buffer_is_filling(const rpp_sample_buffer *buffer);

typedef void (*rpp_sample_visitor)(const rpp_sample *sample, const rpp_location *locations, void *context);
/* Swaps the halves and visits all samples pushed before, in order. Returns their number. */
size_t rpp_sample_buffer_drain(rpp_sample_buffer *buffer, rpp_sample_visitor visit, void *context);

#endif
