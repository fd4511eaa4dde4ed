/* distribution.h - gives a window's time to the rows that were sampled: clocks decide totals, samples decide the
 * distribution.
 *
 * Vocabulary
 *   sample      an instant chosen independently of what the thread does: a tick, or a sampling point on a line of short
 *               events. Its weight, in nanoseconds, is the inverse of the probability with which it was taken.
 *   line        what one clock adds up: a state's CPU time, or its wall time. CPU time of the running state is also
 *               wall time, so the wall time of that state is only the time that was *not* CPU time.
 *   total       the time of one thread's line by its clocks, without what was captured exactly.
 *   stratum     a group of threads whose total is distributed over their samples. A thread with RPP_OWN_PERIODS periods
 *               of CPU time or more in the window is a stratum of its own; all others form one pool. The clocks choose
 *               the strata, never the samples: otherwise threads that happen to be sampled would weigh less than those
 *               that are not. Wall time always stays with its thread, so no thread shows more of it than passed.
 *   carry-over  what pools of few periods keep for later windows, positive or negative. The true weight of a tick is
 *               unknown there: each tick keeps the weight of its sample, and the difference is carried over. Chance
 *               explains less than RPP_OWN_PERIODS periods of it. From there on ticks are missing (docs/numbers.md),
 *               and the next samples get all of it. That depends on earlier windows only, so it is the same for all
 *               that may be sampled now.
 *   stand-in    the row of a thread's time in a state that no sample found: another stack of the thread in this window.
 *   unassigned  wall time of threads without a row, which lived for at most a few periods. It goes to samples that
 *               weighed more than their threads had.
 *
 * Every nanosecond goes to exactly one row, or is carried over. The distribution is right in expectation, totals are
 * right to the nanosecond.
 *
 * Threads    one at a time.
 * Ownership  the distribution owns its threads' totals; the caller owns the carry-over and the rows.
 */
#ifndef RPP_DISTRIBUTION_H
#define RPP_DISTRIBUTION_H

#include "base/hash_index.h"
#include "profile/row.h"
#include "sampling/sample_buffer.h"

/* From this many periods of a thread or a pool on, its total is more precise than its samples. */
#define RPP_OWN_PERIODS    10u
/* This many periods may pass without a sample, because ticks come in bursts (tick_thinning.h). */
#define RPP_MISSED_PERIODS 4u

/* What a session carries from window to window. All zeros at the start. */
typedef struct rpp_carry_over {
    int64_t cpu_ns[RPP_STATE_COUNT], wall_ns[RPP_STATE_COUNT];
    uint64_t waits;
} rpp_carry_over;

typedef struct rpp_line_totals {
    uint64_t cpu_ns[RPP_STATE_COUNT], wall_ns[RPP_STATE_COUNT];
} rpp_line_totals;

/* Wall time has a line for each state, and one more for the wall time that was CPU time of the running state. */
#define RPP_WALL_LINES (RPP_STATE_COUNT + 1)

#define RPP_NO_ROW SIZE_MAX

typedef struct rpp_thread_totals {
    rpp_line_totals totals;
    uint64_t cpu_sampled_ns[RPP_STATE_COUNT], cpu_given_ns[RPP_STATE_COUNT];
    uint64_t wall_ns[RPP_WALL_LINES], wall_sampled_ns[RPP_WALL_LINES], wall_given_ns[RPP_WALL_LINES];
    size_t last_row, last_rows[RPP_STATE_COUNT]; /* 1-based: the last of all, and the last in each state */
    uint32_t thread_seq, labels;                 /* the latest labels */
} rpp_thread_totals;

/* The totals of one window. A struct of all zeros is empty. */
typedef struct rpp_distribution {
    rpp_thread_totals *threads;
    size_t count, capacity;
    rpp_hash_index by_thread;
    rpp_thread_totals others; /* threads for which there was no memory */
    uint64_t waits;           /* for the GVL, of all threads, that were not captured exactly */
} rpp_distribution;

typedef struct rpp_distribution_rules {
    uint64_t period_ns; /* of the session, or the kernel's tick if that is longer */
    bool one_pool;      /* rows no longer distinguish all threads */
    bool last;          /* no later window: carry nothing over */
} rpp_distribution_rules;

/* A missing row: like the row `row`, but in another state. */
typedef struct rpp_stand_in {
    size_t row; /* RPP_NO_ROW: no sample found the thread, although it lived long enough; its stack is unknown */
    uint32_t thread_seq, labels;
    rpp_state state;
    bool of_cpu, of_wall;
} rpp_stand_in;

/* Time that has no row yet. */
typedef struct rpp_unplaced {
    rpp_line_totals unseen; /* a sample should have found it, but none did */
    uint64_t waits_unseen;
    uint64_t unassigned[RPP_STATE_COUNT]; /* wall time, to be distributed by the wall_sampled_ns that is left in rows */
    uint64_t over_ns[RPP_STATE_COUNT];    /* the sum of that wall_sampled_ns */
} rpp_unplaced;

void rpp_distribution_destroy(rpp_distribution *distribution);
/* Adds a sample that is a total of its thread's clocks. `labels` is the id of its labels in rows. */
void rpp_distribution_add(rpp_distribution *distribution, const rpp_sample *total, uint32_t labels);
/* Finds which threads were sampled, and in which rows. */
void rpp_distribution_find_rows(rpp_distribution *distribution, const rpp_row *rows, size_t count);
/* Returns the next missing row; begin with cursor 0. The new row counts as sampled with a weight of a nanosecond. */
bool rpp_distribution_next_stand_in(const rpp_distribution *distribution, const rpp_distribution_rules *how,
                                    size_t *cursor, rpp_stand_in *wanted);
/* Gives all totals to the rows. This uses up the weights of their samples, except those in `unplaced`. */
void rpp_distribution_give(rpp_distribution *distribution, rpp_row *rows, size_t count,
                           const rpp_distribution_rules *how, rpp_carry_over *carry_over, rpp_unplaced *unplaced);

/* Cumulative division: the integer parts of a whole add up to `total` exactly. */
uint64_t rpp_share_of(uint64_t total, uint64_t before, uint64_t part, uint64_t whole);

#endif
