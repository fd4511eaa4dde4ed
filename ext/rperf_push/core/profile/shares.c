/* shares.c - gives a window's time to the rows that were drawn: clocks decide sums, draws decide shares. */
#include "profile/shares.h"

#include <string.h>

#include "base/alloc.h"

#define RAN RPP_STATE_COUNT /* the line of wall time that was CPU time */

void rpp_shares_destroy(rpp_shares *shares)
{
    rpp_free(shares->threads);
    rpp_hash_index_destroy(&shares->by_thread);
    memset(shares, 0, sizeof *shares);
}

static bool is_thread(const void *table, uint32_t id, const void *thread_seq)
{
    return ((const rpp_shares *)table)->threads[id].thread_seq == *(const uint32_t *)thread_seq;
}

static rpp_thread_sums *find(const rpp_shares *shares, uint32_t thread_seq)
{
    uint32_t hash = rpp_hash_words(thread_seq, 0);
    uint32_t known = rpp_hash_index_find(&shares->by_thread, hash, is_thread, shares, &thread_seq);
    return known == RPP_INDEX_NONE ? NULL : &shares->threads[known];
}

static rpp_thread_sums *find_or_add(rpp_shares *shares, uint32_t thread_seq)
{
    rpp_thread_sums *known = find(shares, thread_seq);
    if (known) return known;
    if (rpp_grow((void **)&shares->threads, &shares->capacity, shares->count + 1, sizeof *known) != RPP_OK ||
        rpp_hash_index_reserve(&shares->by_thread, 1) != RPP_OK) {
        return NULL;
    }
    rpp_hash_index_add(&shares->by_thread, rpp_hash_words(thread_seq, 0), (uint32_t)shares->count);
    shares->threads[shares->count] = (rpp_thread_sums){.thread_seq = thread_seq};
    return &shares->threads[shares->count++];
}

void rpp_shares_add(rpp_shares *shares, const rpp_sample *sum, uint32_t labels)
{
    rpp_thread_sums *thread = find_or_add(shares, sum->thread_seq);
    if (thread) thread->labels = labels;
    rpp_line_sums *sums = thread ? &thread->sums : &shares->others.sums;
    sums->cpu_ns[sum->state] += sum->cpu_ns;
    sums->wall_ns[sum->state] += sum->wall_ns;
    shares->waits += sum->contentions;
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

/* Chance does not explain a rest of so many periods: ticks are missing, and the draws stand for all. But no later
 * window pays back what is overdrawn. */
static uint64_t give_few(int64_t rest, uint64_t sum, uint64_t drawn, const rpp_sharing *how)
{
    int64_t has = rest + (int64_t)sum, most = has + (int64_t)(RPP_SHARES_LITTLE * how->period_ns);
    if (drawn && rest >= (int64_t)(RPP_SHARES_OWN * how->period_ns)) return (uint64_t)has;
    if (most <= 0) return 0;
    return drawn < (uint64_t)most ? drawn : (uint64_t)most;
}

/* The time that a pool gives to its draws. One of many periods gives its own sum: the rest is that of pools of few,
 * which may do other things. */
static uint64_t give_from(int64_t *rest, uint64_t sum, uint64_t drawn, const rpp_sharing *how)
{
    int64_t has = *rest + (int64_t)sum;
    uint64_t gives;
    if (how->last) {
        gives = has > 0 ? (uint64_t)has : 0;
    } else if (sum < RPP_SHARES_OWN * how->period_ns) {
        gives = give_few(*rest, sum, drawn, how);
    } else {
        gives = sum;
    }
    *rest = has - (int64_t)gives;
    return gives;
}

static rpp_thread_sums *whose(rpp_shares *shares, const rpp_row *row)
{
    rpp_thread_sums *thread = find(shares, row->thread_seq);
    return thread ? thread : &shares->others;
}

/* --- CPU time: strata --- */

static bool is_large(const rpp_thread_sums *thread, uint32_t state, const rpp_sharing *how)
{
    return thread->sums.cpu_ns[state] >= RPP_SHARES_OWN * how->period_ns;
}

static bool is_own(const rpp_shares *shares, const rpp_thread_sums *thread, uint32_t state, const rpp_sharing *how)
{
    return thread != &shares->others && !how->one_pool && thread->cpu_drawn_ns[state] && is_large(thread, state, how);
}

typedef struct cpu_pool {
    uint64_t sums_ns[RPP_STATE_COUNT], drawn_ns[RPP_STATE_COUNT], given_ns[RPP_STATE_COUNT];
} cpu_pool;

static void add_to_pool(const rpp_shares *shares, const rpp_thread_sums *thread, const rpp_sharing *how, cpu_pool *pool)
{
    for (uint32_t state = 0; state < RPP_STATE_COUNT; state++) {
        if (is_own(shares, thread, state, how)) continue;
        pool->drawn_ns[state] += thread->cpu_drawn_ns[state];
        pool->sums_ns[state] += thread->sums.cpu_ns[state];
    }
}

static void give_cpu_to(rpp_shares *shares, rpp_row *row, const rpp_sharing *how, cpu_pool *pool,
                        const uint64_t *pool_gives)
{
    uint64_t drawn = row->cpu_drawn_ns, given;
    uint32_t state = row->state;
    if (!drawn) return;
    rpp_thread_sums *thread = whose(shares, row);
    if (is_own(shares, thread, state, how)) {
        given =
            rpp_share_of(thread->sums.cpu_ns[state], thread->cpu_given_ns[state], drawn, thread->cpu_drawn_ns[state]);
        thread->cpu_given_ns[state] += drawn;
    } else {
        given = rpp_share_of(pool_gives[state], pool->given_ns[state], drawn, pool->drawn_ns[state]);
        pool->given_ns[state] += drawn;
    }
    row->cpu_ns += given;
    rpp_row_give_squares(row, RPP_VALUE_CPU, given, drawn);
    row->cpu_drawn_ns = 0;
}

static void give_cpu(rpp_shares *shares, rpp_row *rows, size_t count, const rpp_sharing *how, int64_t *rests,
                     uint64_t *unseen)
{
    cpu_pool pool = {{0}, {0}, {0}};
    uint64_t gives[RPP_STATE_COUNT];
    add_to_pool(shares, &shares->others, how, &pool);
    for (size_t i = 0; i < shares->count; i++) add_to_pool(shares, &shares->threads[i], how, &pool);
    for (uint32_t state = 0; state < RPP_STATE_COUNT; state++) {
        gives[state] = give_from(&rests[state], pool.sums_ns[state], pool.drawn_ns[state], how);
        if (!pool.drawn_ns[state]) unseen[state] += gives[state];
    }
    for (size_t i = 0; i < count; i++) give_cpu_to(shares, &rows[i], how, &pool, gives);
}

/* --- wall time: each thread's own --- */

static double squares_on(const rpp_row *row, uint32_t line)
{
    return row->squares_drawn.of[line == RAN ? RPP_VALUE_CPU : RPP_VALUE_WALL];
}

static uint64_t drawn_on(const rpp_row *row, uint32_t line)
{
    if (line == RAN) return row->state == RPP_STATE_RUNNING ? row->cpu_drawn_ns : 0;
    return row->state == line ? row->wall_drawn_ns : 0;
}

/* Time that ran and gaps stay separate lines only if both were drawn. */
static void join_lines(rpp_thread_sums *thread)
{
    uint32_t to = thread->wall_drawn_ns[RAN] ? RAN : RPP_STATE_RUNNING;
    uint32_t from = to == RAN ? RPP_STATE_RUNNING : RAN;
    if (thread->wall_drawn_ns[from]) return;
    thread->wall_ns[to] += thread->wall_ns[from];
    thread->wall_ns[from] = 0;
}

static void open_thread(rpp_thread_sums *thread)
{
    *thread = (rpp_thread_sums){.sums = thread->sums, .thread_seq = thread->thread_seq, .labels = thread->labels};
    memcpy(thread->wall_ns, thread->sums.wall_ns, sizeof thread->sums.wall_ns);
    thread->wall_ns[RAN] = thread->sums.cpu_ns[RPP_STATE_RUNNING];
}

static bool is_nobody(const rpp_thread_sums *thread, const rpp_sharing *how)
{
    uint64_t wall_ns = 0;
    for (uint32_t line = 0; line < RPP_WALL_LINES; line++) wall_ns += thread->wall_ns[line];
    return !thread->last_row && wall_ns < RPP_SHARES_LITTLE * how->period_ns;
}

void rpp_shares_look(rpp_shares *shares, const rpp_row *rows, size_t count)
{
    open_thread(&shares->others);
    for (size_t i = 0; i < shares->count; i++) open_thread(&shares->threads[i]);
    for (size_t i = 0; i < count; i++) {
        rpp_thread_sums *thread = whose(shares, &rows[i]);
        if (!rpp_row_is_of_objects(&rows[i])) thread->last_row = thread->last_rows[rows[i].state] = i + 1;
        thread->cpu_drawn_ns[rows[i].state] += rows[i].cpu_drawn_ns;
        for (uint32_t line = 0; line < RPP_WALL_LINES; line++) thread->wall_drawn_ns[line] += drawn_on(&rows[i], line);
    }
    join_lines(&shares->others);
    for (size_t i = 0; i < shares->count; i++) join_lines(&shares->threads[i]);
}

bool rpp_shares_next_stand_in(const rpp_shares *shares, const rpp_sharing *how, size_t *cursor, rpp_stand_in *wanted)
{
    while (*cursor < shares->count * RPP_STATE_COUNT) {
        const rpp_thread_sums *thread = &shares->threads[*cursor / RPP_STATE_COUNT];
        rpp_state state = (rpp_state)(*cursor % RPP_STATE_COUNT);
        ++*cursor;
        bool of_wall = thread->wall_ns[state] && !thread->wall_drawn_ns[state];
        bool of_cpu = is_large(thread, state, how) && !thread->cpu_drawn_ns[state];
        if (!(of_wall || of_cpu) || is_nobody(thread, how)) continue;
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
static void give_waits_to(rpp_row *row, uint64_t given_ns, uint64_t drawn_ns)
{
    if (!row->waits_drawn || !drawn_ns) return;
    row->contentions += (scale_unbounded(given_ns, row->waits_drawn, drawn_ns) + RPP_ONE_WAIT / 2) / RPP_ONE_WAIT;
    row->waits_drawn = 0;
}

/* If the draws weigh more than the thread had, the rest of their weight stays in the row. */
static void give_wall_to(rpp_shares *shares, rpp_row *row, uint64_t *over)
{
    rpp_thread_sums *thread = whose(shares, row);
    uint64_t drawn_ns = 0, given_ns = 0;
    double squares_drawn = 0;
    for (uint32_t line = 0; line < RPP_WALL_LINES; line++) {
        uint64_t drawn = drawn_on(row, line);
        if (!drawn) continue;
        uint64_t given =
            rpp_share_of(thread->wall_ns[line], thread->wall_given_ns[line], drawn, thread->wall_drawn_ns[line]);
        squares_drawn += squares_on(row, line);
        row->squares.of[RPP_VALUE_WALL] += rpp_squares_scaled(squares_on(row, line), given, drawn);
        given_ns += given;
        drawn_ns += drawn;
        thread->wall_given_ns[line] += drawn;
    }
    row->wall_ns += given_ns;
    give_waits_to(row, given_ns, drawn_ns);
    row->wall_drawn_ns = drawn_ns > given_ns ? drawn_ns - given_ns : 0;
    row->squares_drawn.of[RPP_VALUE_WALL] = rpp_squares_scaled(squares_drawn, row->wall_drawn_ns, drawn_ns);
    over[row->state] += row->wall_drawn_ns;
}

/* Time that no row of the thread got becomes time of no thread. */
static void collect_nobodys(const rpp_thread_sums *thread, int64_t *nobodys)
{
    for (uint32_t line = 0; line < RPP_WALL_LINES; line++) {
        if (!thread->wall_drawn_ns[line])
            nobodys[line == RAN ? RPP_STATE_RUNNING : line] += (int64_t)thread->wall_ns[line];
    }
}

static void give_wall(rpp_shares *shares, rpp_row *rows, size_t count, const rpp_sharing *how, int64_t *rests,
                      rpp_unplaced *unplaced)
{
    for (size_t i = 0; i < count; i++) give_wall_to(shares, &rows[i], unplaced->over_ns);
    collect_nobodys(&shares->others, rests);
    for (size_t i = 0; i < shares->count; i++) collect_nobodys(&shares->threads[i], rests);
    for (uint32_t state = 0; state < RPP_STATE_COUNT; state++) {
        uint64_t all = (uint64_t)rests[state], over = unplaced->over_ns[state], gives = all;
        if (!over) {
            if (!how->last && all < RPP_SHARES_OWN * how->period_ns) gives = 0;
            unplaced->unseen.wall_ns[state] += gives;
        } else {
            if (!how->last && all > over) gives = over;
            unplaced->nobodys[state] = gives;
        }
        rests[state] -= (int64_t)gives;
    }
}

/* Of waits for the GVL, the event itself tells which count. Of others, the method in the leaf tells: their number is
 * what their draws stand for. */
static void give_gvl_waits(const rpp_shares *shares, rpp_row *rows, size_t count, bool last, uint64_t *rest,
                           rpp_unplaced *unplaced)
{
    uint64_t all = *rest + shares->waits, drawn = 0, before = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].state == RPP_STATE_WAITING) drawn += rows[i].waits_drawn;
    }
    for (size_t i = 0; i < count && drawn; i++) {
        if (rows[i].state != RPP_STATE_WAITING) continue;
        rows[i].contentions += rpp_share_of(all, before, rows[i].waits_drawn, drawn);
        before += rows[i].waits_drawn;
        rows[i].waits_drawn = 0;
    }
    *rest = drawn || last ? 0 : all;
    if (!drawn && last) unplaced->waits_unseen = all;
}

void rpp_shares_give(rpp_shares *shares, rpp_row *rows, size_t count, const rpp_sharing *how, rpp_rests *rests,
                     rpp_unplaced *unplaced)
{
    *unplaced = (rpp_unplaced){.nobodys = {0}};
    rpp_shares_look(shares, rows, count);
    give_gvl_waits(shares, rows, count, how->last, &rests->waits, unplaced);
    give_wall(shares, rows, count, how, rests->wall_ns, unplaced);
    give_cpu(shares, rows, count, how, rests->cpu_ns, unplaced->unseen.cpu_ns);
    rpp_shares_destroy(shares);
}
