/* profile.h - one window's samples, summed by stack, labels, thread and state (values: base/value_types.h).
 *
 * A profile is open while samples are added, then closed with the window's time, then handed over whole to the encoder.
 * Totals stay true. A sample whose stack does not fit adds its weight to the overflow stack, with its labels. A sample
 * whose labels do not fit adds it to the overflow stack without labels. A sample without room for a row adds it to one
 * last row per state, and per value that the program counts: overflow stack, no labels, thread_seq 0. [truncated]
 * stacks keep their leaf.
 *
 * Threads    one at a time.
 * Ownership  a profile owns its tables and retains its label sets.
 */
#ifndef RPP_PROFILE_H
#define RPP_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/distribution.h"
#include "profile/row.h"
#include "sampling/frame_names.h"
#include "sampling/label_sets.h"
#include "sampling/sample_buffer.h"
#include "sampling/stack_table.h"

typedef struct rpp_profile_limits {
    rpp_stack_limits stacks;
    uint32_t max_label_sets;
    uint32_t max_rows;  /* in addition to the last rows */
    bool separate_rows; /* each sample becomes a row */
} rpp_profile_limits;

/* At most 64 MiB of stacks. The limits do not include the overflow stack. */
extern const rpp_profile_limits rpp_profile_default_limits;

typedef struct rpp_profile rpp_profile;

/* NULL if out of memory. */
rpp_profile *rpp_profile_new(const rpp_profile_limits *limits);
void rpp_profile_free(rpp_profile *profile);

/* Adds a sample's weight; the caller keeps its reference to the label set. Returns RPP_OK even if the weight went to
 * (overflow), for lack of room or memory, which is counted (samples_overflowed). RPP_INVALID: no such state, nothing
 * was added. */
RPP_NODISCARD rpp_status rpp_profile_add(rpp_profile *profile, const rpp_sample *sample, const rpp_location *locations);

/* Adds a level, or a row of another profile whose samples have got their shares. What does not fit goes to (overflow),
 * as in add. */
void rpp_profile_add_row(rpp_profile *profile, const rpp_row *added, rpp_label_set *labels,
                         const rpp_location *locations, uint32_t depth);
/* When its level was found (monotonic); 0: it has none. */
void rpp_profile_set_level_ns(rpp_profile *profile, uint64_t level_ns);
uint64_t rpp_profile_level_ns(const rpp_profile *profile);
/* Its rows have no level any more. */
void rpp_profile_drop_level(rpp_profile *profile);
/* How many of the counted objects each one stood for that was sampled, when they were last shared out; 0: none was
 * sampled. */
double rpp_profile_objects_per_sample(const rpp_profile *profile);

/* Shares the clocks' sums out over the rows that were sampled. Samples that come later take part in the next call. Time
 * that no sample found goes to [unknown]. */
void rpp_profile_distribute(rpp_profile *profile, uint64_t period_ns, bool last, rpp_carry_over *carry_over);
/* `time_ns` is the start in ns since the epoch. Known outcomes of requests become labels, and rows that are equal then
 * are added up. If there is no memory for this, requests keep rows of their own without these labels. */
void rpp_profile_close(rpp_profile *profile, uint64_t time_ns, uint64_t duration_ns);
uint64_t rpp_profile_time_ns(const rpp_profile *profile);
uint64_t rpp_profile_duration_ns(const rpp_profile *profile);

/* True if every frame of the profile has a name. */
bool rpp_profile_is_named(const rpp_profile *profile, const rpp_frame_names *names);

size_t rpp_profile_row_count(const rpp_profile *profile);
/* In the order of their first use; valid until the next add. */
const rpp_row *rpp_profile_rows(const rpp_profile *profile);
/* False: it was captured where there was no stack. */
bool rpp_profile_has_stack_of(const rpp_profile *profile, const rpp_row *row);
/* A row whose values may be changed; valid until the next add. */
rpp_row *rpp_profile_row(rpp_profile *profile, size_t index);
/* Gives a row another stack, or other labels. RPP_LIMIT, RPP_NO_MEMORY: it is as it was. */
RPP_NODISCARD rpp_status rpp_profile_restack(rpp_profile *profile, size_t index, const rpp_location *locations,
                                             uint32_t depth);
RPP_NODISCARD rpp_status rpp_profile_relabel(rpp_profile *profile, size_t index, rpp_label_set *labels);
/* Adds rows up that have become equal, unless each sample is one. */
void rpp_profile_join(rpp_profile *profile);
/* The values that the program counts itself which some row has: bit `id` is set. */
unsigned rpp_profile_custom_values(const rpp_profile *profile);
const rpp_stack_table *rpp_profile_stacks(const rpp_profile *profile);
const rpp_label_sets *rpp_profile_label_sets(const rpp_profile *profile);

#endif
