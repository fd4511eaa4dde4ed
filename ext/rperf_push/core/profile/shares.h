/* shares.h - gives a window's time to the rows that were drawn: clocks decide sums, draws decide shares.
 *
 * Vocabulary
 *   draw      an instant chosen independently of what the thread does: a tick, or a mark on a line of short events. Its
 *             weight, in nanoseconds, is the inverse of the probability with which it was drawn.
 *   line      what one clock sums: a state's CPU time, or its wall time. CPU time of the running state is also wall
 *             time, so the wall time of that state is only the time that was *not* CPU time.
 *   sum       the time of one thread's line by its clocks, without what was captured exactly.
 *   stratum   a group of threads whose sum is shared out over their draws. A thread with RPP_SHARES_OWN periods of CPU
 *             time or more in the window is a stratum of its own; all others form one pool. The clocks choose the
 *             strata, never the draws: otherwise threads that happen to be drawn would weigh less than those that are
 *             not. Wall time always stays with its thread, so no thread shows more of it than passed.
 *   rest      what pools of few periods keep for later windows, positive or negative. The true weight of a tick is
 *             unknown there: each tick keeps the weight of its draw, and the difference is kept as the rest. Chance
 *             explains less than RPP_SHARES_OWN periods of it. From there on ticks are missing (docs/numbers.md), and
 *             the next draws get all of it. That depends on earlier windows only, so it is the same for all that may be
 *             drawn now.
 *   stand-in  the row of a thread's time in a state that no draw found: at another stack of the thread in this window.
 *   nobody's  wall time of threads without a row, which lived for at most a few periods. It goes to no particular
 *             thread, but to draws that weighed more than their threads had.
 *
 * Every nanosecond goes to exactly one row, or stays in the rest. Shares are right in expectation, sums to the
 * nanosecond.
 *
 * Threads    one at a time.
 * Ownership  the shares own their threads' sums; the caller owns rests and rows.
 */
#ifndef RPP_SHARES_H
#define RPP_SHARES_H

#include "base/hash_index.h"
#include "profile/row.h"
#include "sampling/sample_buffer.h"

#define RPP_SHARES_OWN 10u /* from this many periods of a thread or a pool on, its sum is more precise than its draws */
#define RPP_SHARES_LITTLE                                                                                              \
    4u /* this many periods may pass without a draw, because ticks come in bursts (tick_thinning.h) */

/* The rests of a session, carried from window to window. All zeros at the start. */
typedef struct rpp_rests {
    int64_t cpu_ns[RPP_STATE_COUNT], wall_ns[RPP_STATE_COUNT];
    uint64_t waits;
} rpp_rests;

typedef struct rpp_line_sums {
    uint64_t cpu_ns[RPP_STATE_COUNT], wall_ns[RPP_STATE_COUNT];
} rpp_line_sums;

/* Wall time has a line for each state, and one more for the wall time that was CPU time of the running state. */
#define RPP_WALL_LINES (RPP_STATE_COUNT + 1)

#define RPP_NO_ROW SIZE_MAX

typedef struct rpp_thread_sums {
    rpp_line_sums sums;
    uint64_t cpu_drawn_ns[RPP_STATE_COUNT], cpu_given_ns[RPP_STATE_COUNT];
    uint64_t wall_ns[RPP_WALL_LINES], wall_drawn_ns[RPP_WALL_LINES], wall_given_ns[RPP_WALL_LINES];
    size_t last_row, last_rows[RPP_STATE_COUNT]; /* 1-based: the last of all, and the last in each state */
    uint32_t thread_seq, labels;                 /* the latest labels */
} rpp_thread_sums;

/* The sums of one window. A struct of all zeros is empty. */
typedef struct rpp_shares {
    rpp_thread_sums *threads;
    size_t count, capacity;
    rpp_hash_index by_thread;
    rpp_thread_sums others; /* threads for which there was no memory */
    uint64_t waits;         /* for the GVL, of all threads, that were not captured exactly */
} rpp_shares;

typedef struct rpp_sharing {
    uint64_t period_ns; /* of the session, or the kernel's tick if that is longer */
    bool one_pool;      /* rows no longer distinguish all threads */
    bool last;          /* no later window: keep no rest */
} rpp_sharing;

/* A missing row: like the row `row`, but in another state. */
typedef struct rpp_stand_in {
    size_t row; /* RPP_NO_ROW: no draw found the thread, although it lived long enough; its stack is unknown */
    uint32_t thread_seq, labels;
    rpp_state state;
    bool of_cpu, of_wall;
} rpp_stand_in;

/* Time that has no row yet. */
typedef struct rpp_unplaced {
    rpp_line_sums unseen; /* a draw should have found it, but none did */
    uint64_t waits_unseen;
    uint64_t nobodys[RPP_STATE_COUNT]; /* wall time, to be shared out by the wall_drawn_ns that is left in rows */
    uint64_t over_ns[RPP_STATE_COUNT]; /* the sum of that wall_drawn_ns */
} rpp_unplaced;

void rpp_shares_destroy(rpp_shares *shares);
/* Adds a sample that is a sum of its thread's clocks. `labels` is the id of its labels in rows. */
void rpp_shares_add(rpp_shares *shares, const rpp_sample *sum, uint32_t labels);
/* Finds which threads were drawn, and in which rows. */
void rpp_shares_look(rpp_shares *shares, const rpp_row *rows, size_t count);
/* Returns the next missing row; begin with cursor 0. The new row counts as drawn with a weight of a nanosecond. */
bool rpp_shares_next_stand_in(const rpp_shares *shares, const rpp_sharing *how, size_t *cursor, rpp_stand_in *wanted);
/* Gives all sums to the rows. This uses up the weights of their draws, except those in `unplaced`. */
void rpp_shares_give(rpp_shares *shares, rpp_row *rows, size_t count, const rpp_sharing *how, rpp_rests *rests,
                     rpp_unplaced *unplaced);

/* Cumulative division: the integer parts of a whole add up to `total` exactly. */
uint64_t rpp_share_of(uint64_t total, uint64_t before, uint64_t part, uint64_t whole);

#endif
