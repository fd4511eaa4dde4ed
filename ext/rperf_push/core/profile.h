/* profile.h - one window's samples, summed: stack x labels x thread x state -> cpu and wall nanoseconds.
 *
 * Open while it is added to, then sealed with the window's time, then handed over whole to whoever encodes it.
 * Totals stay true: a sample whose stack does not fit any more adds its weight to the overflow stack, with its labels; one
 * whose labels do not fit to the overflow stack without labels; and what finds no row of its own to one last row for each
 * state: overflow stack, no labels, thread_seq 0. [truncated] stacks keep their leaf.
 *
 * Threads    one at a time.
 */
#ifndef RPP_PROFILE_H
#define RPP_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame_names.h"
#include "label_sets.h"
#include "sample_buffer.h"
#include "stack_table.h"
#include "status.h"

typedef struct rpp_profile_limits {
    rpp_stack_limits stacks;
    uint32_t max_label_sets;
    uint32_t max_rows;  /* the last rows not counted */
    bool separate_rows; /* nothing is summed: each sample is a row of its own */
} rpp_profile_limits;

/* 64 MiB of stacks at the most. The overflow stack comes on top of the limits. */
extern const rpp_profile_limits rpp_profile_default_limits;

typedef struct rpp_row {
    uint64_t cpu_ns, wall_ns;
    uint32_t stack, labels, thread_seq; /* thread_seq 0: of no thread in particular */
    uint8_t state;                      /* rpp_state */
    uint32_t samples;                   /* captures summed here */
} rpp_row;

typedef struct rpp_profile rpp_profile;

/* NULL when out of memory. */
rpp_profile *rpp_profile_new(const rpp_profile_limits *limits);
void rpp_profile_free(rpp_profile *profile);

/* Adds a sample's weight; the label set's reference stays with the caller. RPP_OK also when it went to (overflow), which
 * is counted (samples_overflowed), for want of room or of memory alike. RPP_INVALID: no such state, nothing was added. */
RPP_NODISCARD rpp_status rpp_profile_add(rpp_profile *profile, const rpp_sample *sample, const rpp_location *locations);

/* Start in ns since the epoch. */
void rpp_profile_seal(rpp_profile *profile, uint64_t time_ns, uint64_t duration_ns);
uint64_t rpp_profile_time_ns(const rpp_profile *profile);
uint64_t rpp_profile_duration_ns(const rpp_profile *profile);

/* Whether every frame of the profile has its name. */
bool rpp_profile_is_named(const rpp_profile *profile, const rpp_frame_names *names);

size_t rpp_profile_row_count(const rpp_profile *profile);
/* In order of first sight; valid until the next add. */
const rpp_row *rpp_profile_rows(const rpp_profile *profile);
const rpp_stack_table *rpp_profile_stacks(const rpp_profile *profile);
const rpp_label_sets *rpp_profile_label_sets(const rpp_profile *profile);

#endif
