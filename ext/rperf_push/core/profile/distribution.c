/* distribution.c - gives a window's time to the rows that were sampled. */
#include "profile/distribution.h"

#include <string.h>

#include "base/alloc.h"

#define RAN RPP_STATE_COUNT /* the line of wall time that was CPU time */

void rpp_distribution_destroy(rpp_distribution *d)
{
    rpp_free(d->threads);
    rpp_hash_index_destroy(&d->by_thread);
    memset(d, 0, sizeof *d);
}

static bool is_thread(const void *table, uint32_t id, const void *thread_seq)
{
    return ((const rpp_distribution *)table)->threads[id].thread_seq == *(const uint32_t *)thread_seq;
}

static rpp_thread_totals *find(const rpp_distribution *d, uint32_t thread_seq)
{
    uint32_t hash = rpp_hash_words(thread_seq, 0);
    uint32_t known = rpp_hash_index_find(&d->by_thread, hash, is_thread, d, &thread_seq);
    return known == RPP_INDEX_NONE ? NULL : &d->threads[known];
}

static rpp_thread_totals *find_or_add(rpp_distribution *d, uint32_t thread_seq)
{
    rpp_thread_totals *known = find(d, thread_seq);
    if (known) return known;
    if (rpp_grow((void **)&d->threads, &d->capacity, d->count + 1, sizeof *known) != RPP_OK ||
        rpp_hash_index_reserve(&d->by_thread, 1) != RPP_OK) {
        return NULL;
    }
    rpp_hash_index_add(&d->by_thread, rpp_hash_words(thread_seq, 0), (uint32_t)d->count);
    d->threads[d->count] = (rpp_thread_totals){.thread_seq = thread_seq};
    return &d->threads[d->count++];
}

void rpp_distribution_add(rpp_distribution *d, const rpp_sample *total, uint32_t labels)
{
    rpp_thread_totals *thread = find_or_add(d, total->thread_seq);
    if (thread) thread->labels = labels;
    rpp_line_totals *totals = thread ? &thread->totals : &d->others.totals;
    totals->cpu_ns[total->state] += total->cpu_ns;
    totals->wall_ns[total->state] += total->wall_ns;
    d->waits += total->contentions;
}

/* total * part / whole, rounded down. */
static uint64_t scale_unbounded(uint64_t total, uint64_t part, uint64_t whole)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)total * part / whole);
#else
    return (uint64_t)((long double)total * ((long double)part / (long double)whole));
#endif
}

/* The same, and never more than the total. */
static uint64_t scale(uint64_t total, uint64_t part, uint64_t whole)
{
    if (part >= whole) return total;
    uint64_t scaled = scale_unbounded(total, part, whole);
    return scaled < total ? scaled : total;
}

uint64_t rpp_share_of(uint64_t total, uint64_t before, uint64_t part, uint64_t whole)
{
    return scale(total, before + part, whole) - scale(total, before, whole);
}

/* Chance does not explain so many periods of carry-over: ticks are missing, and the samples stand for all. But no later
 * window pays back what is given too early. */
static uint64_t give_few(int64_t carry, uint64_t total, uint64_t sampled, const rpp_distribution_rules *how)
{
    int64_t has = carry + (int64_t)total, most = has + (int64_t)(RPP_MISSED_PERIODS * how->period_ns);
    if (sampled && carry >= (int64_t)(RPP_OWN_PERIODS * how->period_ns)) return (uint64_t)has;
    if (most <= 0) return 0;
    return sampled < (uint64_t)most ? sampled : (uint64_t)most;
}

/* The time that a pool gives to its samples. A pool of many periods gives its own total: what is carried over is of
 * pools of few periods, which may do other things. */
static uint64_t give_from(int64_t *carry, uint64_t total, uint64_t sampled, const rpp_distribution_rules *how)
{
    int64_t has = *carry + (int64_t)total;
    uint64_t gives;
    if (how->last) {
        gives = has > 0 ? (uint64_t)has : 0;
    } else if (total < RPP_OWN_PERIODS * how->period_ns) {
        gives = give_few(*carry, total, sampled, how);
    } else {
        gives = total;
    }
    *carry = has - (int64_t)gives;
    return gives;
}

static rpp_thread_totals *whose(rpp_distribution *d, const rpp_row *row)
{
    rpp_thread_totals *thread = find(d, row->thread_seq);
    return thread ? thread : &d->others;
}

/* --- CPU time: strata --- */

static bool is_large(const rpp_thread_totals *thread, uint32_t state, const rpp_distribution_rules *how)
{
    return thread->totals.cpu_ns[state] >= RPP_OWN_PERIODS * how->period_ns;
}

static bool is_own(const rpp_distribution *d, const rpp_thread_totals *thread, uint32_t state,
                   const rpp_distribution_rules *how)
{
    return thread != &d->others && !how->one_pool && thread->cpu_sampled_ns[state] && is_large(thread, state, how);
}

typedef struct cpu_pool {
    uint64_t totals_ns[RPP_STATE_COUNT], sampled_ns[RPP_STATE_COUNT], given_ns[RPP_STATE_COUNT];
} cpu_pool;

static void add_to_pool(const rpp_distribution *d, const rpp_thread_totals *thread, const rpp_distribution_rules *how,
                        cpu_pool *pool)
{
    for (uint32_t state = 0; state < RPP_STATE_COUNT; state++) {
        if (is_own(d, thread, state, how)) continue;
        pool->sampled_ns[state] += thread->cpu_sampled_ns[state];
        pool->totals_ns[state] += thread->totals.cpu_ns[state];
    }
}

static void give_cpu_to(rpp_distribution *d, rpp_row *row, const rpp_distribution_rules *how, cpu_pool *pool,
                        const uint64_t *pool_gives)
{
    uint64_t sampled = row->cpu_sampled_ns, given;
    uint32_t state = row->state;
    if (!sampled) return;
    rpp_thread_totals *thread = whose(d, row);
    if (is_own(d, thread, state, how)) {
        given = rpp_share_of(thread->totals.cpu_ns[state], thread->cpu_given_ns[state], sampled,
                             thread->cpu_sampled_ns[state]);
        thread->cpu_given_ns[state] += sampled;
    } else {
        given = rpp_share_of(pool_gives[state], pool->given_ns[state], sampled, pool->sampled_ns[state]);
        pool->given_ns[state] += sampled;
    }
    row->cpu_ns += given;
    rpp_row_give_squares(row, RPP_VALUE_CPU, given, sampled);
    row->cpu_sampled_ns = 0;
}

static void give_cpu(rpp_distribution *d, rpp_row *rows, size_t count, const rpp_distribution_rules *how,
                     int64_t *carry_over, uint64_t *unseen)
{
    cpu_pool pool = {{0}, {0}, {0}};
    uint64_t gives[RPP_STATE_COUNT];
    add_to_pool(d, &d->others, how, &pool);
    for (size_t i = 0; i < d->count; i++) add_to_pool(d, &d->threads[i], how, &pool);
    for (uint32_t state = 0; state < RPP_STATE_COUNT; state++) {
        gives[state] = give_from(&carry_over[state], pool.totals_ns[state], pool.sampled_ns[state], how);
        if (!pool.sampled_ns[state]) unseen[state] += gives[state];
    }
    for (size_t i = 0; i < count; i++) give_cpu_to(d, &rows[i], how, &pool, gives);
}

/* --- wall time: each thread's own --- */

static double squares_on(const rpp_row *row, uint32_t line)
{
    return row->squares_sampled.of[line == RAN ? RPP_VALUE_CPU : RPP_VALUE_WALL];
}

static uint64_t sampled_on(const rpp_row *row, uint32_t line)
{
    if (line == RAN) return row->state == RPP_STATE_RUNNING ? row->cpu_sampled_ns : 0;
    return row->state == line ? row->wall_sampled_ns : 0;
}

/* Time that ran and gaps stay separate lines only if both were sampled. */
static void join_lines(rpp_thread_totals *thread)
{
    uint32_t to = thread->wall_sampled_ns[RAN] ? RAN : RPP_STATE_RUNNING;
    uint32_t from = to == RAN ? RPP_STATE_RUNNING : RAN;
    if (thread->wall_sampled_ns[from]) return;
    thread->wall_ns[to] += thread->wall_ns[from];
    thread->wall_ns[from] = 0;
}

static void open_thread(rpp_thread_totals *thread)
{
    *thread = (rpp_thread_totals){.totals = thread->totals, .thread_seq = thread->thread_seq, .labels = thread->labels};
    memcpy(thread->wall_ns, thread->totals.wall_ns, sizeof thread->totals.wall_ns);
    thread->wall_ns[RAN] = thread->totals.cpu_ns[RPP_STATE_RUNNING];
}

static bool is_unassigned(const rpp_thread_totals *thread, const rpp_distribution_rules *how)
{
    uint64_t wall_ns = 0;
    for (uint32_t line = 0; line < RPP_WALL_LINES; line++) wall_ns += thread->wall_ns[line];
    return !thread->last_row && wall_ns < RPP_MISSED_PERIODS * how->period_ns;
}

void rpp_distribution_find_rows(rpp_distribution *d, const rpp_row *rows, size_t count)
{
    open_thread(&d->others);
    for (size_t i = 0; i < d->count; i++) open_thread(&d->threads[i]);
    for (size_t i = 0; i < count; i++) {
        rpp_thread_totals *thread = whose(d, &rows[i]);
        if (!rpp_row_is_of_objects(&rows[i])) thread->last_row = thread->last_rows[rows[i].state] = i + 1;
        thread->cpu_sampled_ns[rows[i].state] += rows[i].cpu_sampled_ns;
        for (uint32_t line = 0; line < RPP_WALL_LINES; line++)
            thread->wall_sampled_ns[line] += sampled_on(&rows[i], line);
    }
    join_lines(&d->others);
    for (size_t i = 0; i < d->count; i++) join_lines(&d->threads[i]);
}

bool rpp_distribution_next_stand_in(const rpp_distribution *d, const rpp_distribution_rules *how, size_t *cursor,
                                    rpp_stand_in *wanted)
{
    while (*cursor < d->count * RPP_STATE_COUNT) {
        const rpp_thread_totals *thread = &d->threads[*cursor / RPP_STATE_COUNT];
        rpp_state state = (rpp_state)(*cursor % RPP_STATE_COUNT);
        ++*cursor;
        bool of_wall = thread->wall_ns[state] && !thread->wall_sampled_ns[state];
        bool of_cpu = is_large(thread, state, how) && !thread->cpu_sampled_ns[state];
        if (!(of_wall || of_cpu) || is_unassigned(thread, how)) continue;
        size_t row = thread->last_rows[state] ? thread->last_rows[state] : thread->last_row;
        *wanted = (rpp_stand_in){.row = row ? row - 1 : RPP_NO_ROW,
                                 .thread_seq = thread->thread_seq,
                                 .labels = thread->labels,
                                 .state = state,
                                 .of_cpu = of_cpu,
                                 .of_wall = of_wall};
        return true;
    }
    return false;
}

/* As many as its time now stands for. Waits of some nanoseconds are many more than it has nanoseconds in units of
 * RPP_ONE_WAIT. */
static void give_waits_to(rpp_row *row, uint64_t given_ns, uint64_t sampled_ns)
{
    if (!row->waits_sampled || !sampled_ns) return;
    row->contentions += (scale_unbounded(given_ns, row->waits_sampled, sampled_ns) + RPP_ONE_WAIT / 2) / RPP_ONE_WAIT;
    row->waits_sampled = 0;
}

/* If the samples weigh more than the thread had, the rest of their weight stays in the row. */
static void give_wall_to(rpp_distribution *d, rpp_row *row, uint64_t *over)
{
    rpp_thread_totals *thread = whose(d, row);
    uint64_t sampled_ns = 0, given_ns = 0;
    double squares_sampled = 0;
    for (uint32_t line = 0; line < RPP_WALL_LINES; line++) {
        uint64_t sampled = sampled_on(row, line);
        if (!sampled) continue;
        uint64_t given =
            rpp_share_of(thread->wall_ns[line], thread->wall_given_ns[line], sampled, thread->wall_sampled_ns[line]);
        squares_sampled += squares_on(row, line);
        row->squares.of[RPP_VALUE_WALL] += rpp_squares_scaled(squares_on(row, line), given, sampled);
        given_ns += given;
        sampled_ns += sampled;
        thread->wall_given_ns[line] += sampled;
    }
    row->wall_ns += given_ns;
    give_waits_to(row, given_ns, sampled_ns);
    row->wall_sampled_ns = sampled_ns > given_ns ? sampled_ns - given_ns : 0;
    row->squares_sampled.of[RPP_VALUE_WALL] = rpp_squares_scaled(squares_sampled, row->wall_sampled_ns, sampled_ns);
    over[row->state] += row->wall_sampled_ns;
}

/* Time that no row of the thread got becomes unassigned. */
static void collect_unassigned(const rpp_thread_totals *thread, int64_t *unassigned)
{
    for (uint32_t line = 0; line < RPP_WALL_LINES; line++) {
        if (!thread->wall_sampled_ns[line])
            unassigned[line == RAN ? RPP_STATE_RUNNING : line] += (int64_t)thread->wall_ns[line];
    }
}

static void give_wall(rpp_distribution *d, rpp_row *rows, size_t count, const rpp_distribution_rules *how,
                      int64_t *carry_over, rpp_unplaced *unplaced)
{
    for (size_t i = 0; i < count; i++) give_wall_to(d, &rows[i], unplaced->over_ns);
    collect_unassigned(&d->others, carry_over);
    for (size_t i = 0; i < d->count; i++) collect_unassigned(&d->threads[i], carry_over);
    for (uint32_t state = 0; state < RPP_STATE_COUNT; state++) {
        uint64_t all = (uint64_t)carry_over[state], over = unplaced->over_ns[state], gives = all;
        if (!over) {
            if (!how->last && all < RPP_OWN_PERIODS * how->period_ns) gives = 0;
            unplaced->unseen.wall_ns[state] += gives;
        } else {
            if (!how->last && all > over) gives = over;
            unplaced->unassigned[state] = gives;
        }
        carry_over[state] -= (int64_t)gives;
    }
}

/* Of waits for the GVL, the event itself tells which count. Of others, the method in the leaf tells: their number is
 * what their samples stand for. */
static void give_gvl_waits(const rpp_distribution *d, rpp_row *rows, size_t count, bool last, uint64_t *carry,
                           rpp_unplaced *unplaced)
{
    uint64_t all = *carry + d->waits, sampled = 0, before = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].state == RPP_STATE_WAITING) sampled += rows[i].waits_sampled;
    }
    for (size_t i = 0; i < count && sampled; i++) {
        if (rows[i].state != RPP_STATE_WAITING) continue;
        rows[i].contentions += rpp_share_of(all, before, rows[i].waits_sampled, sampled);
        before += rows[i].waits_sampled;
        rows[i].waits_sampled = 0;
    }
    *carry = sampled || last ? 0 : all;
    if (!sampled && last) unplaced->waits_unseen = all;
}

void rpp_distribution_give(rpp_distribution *d, rpp_row *rows, size_t count, const rpp_distribution_rules *how,
                           rpp_carry_over *carry_over, rpp_unplaced *unplaced)
{
    *unplaced = (rpp_unplaced){.unassigned = {0}};
    rpp_distribution_find_rows(d, rows, count);
    give_gvl_waits(d, rows, count, how->last, &carry_over->waits, unplaced);
    give_wall(d, rows, count, how, carry_over->wall_ns, unplaced);
    give_cpu(d, rows, count, how, carry_over->cpu_ns, unplaced->unseen.cpu_ns);
    rpp_distribution_destroy(d);
}
