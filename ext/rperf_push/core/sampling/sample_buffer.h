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
    RPP_VALUES(values);                   /* measured */
    uint64_t cpu_drawn_ns, wall_drawn_ns; /* the weight of a draw, which gets a share of a measured sum (shares.h) */
    uint64_t waits_drawn; /* how many waits a draw stands for, in RPP_ONE_WAIT; contentions: exactly captured ones */
    uint64_t alloc_drawn,
        alloc_drawn_bytes; /* of a drawn allocation: the objects that it stands for, and their bytes */
    uint64_t watched;      /* its birth, if it is an object that is watched (watched.h); 0: no */
    rpp_label_set *labels; /* retained, or NULL */
    uint32_t thread_seq;   /* 1-based */
    uint32_t window;       /* the window this time belongs to */
    uint32_t depth;        /* locations that follow, leaf first, at most RPP_MAX_DEPTH + 1 ([truncated]) */
    uint8_t state;         /* rpp_state */
    uint8_t custom_id;     /* which value `custom` is of (custom_values.h) */
    bool after_request;    /* the request of its labels is over, and it is of another thread (outcome.h) */
    bool
        sum; /* no stack: time by the thread's clocks, or the process's objects, shared out over draws of this window */
} rpp_sample;

typedef struct rpp_sample_buffer rpp_sample_buffer;

/* Each half has `half_bytes`. NULL if out of memory. */
rpp_sample_buffer *rpp_sample_buffer_new(size_t half_bytes);
/* Releases the label sets of undrained samples. */
void rpp_sample_buffer_free(rpp_sample_buffer *buffer);
/* In a forked child: frees only the bytes, because the parent's collector may be half-way through the samples. */
void rpp_sample_buffer_forget_after_fork(rpp_sample_buffer *buffer);

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
