/* profile.c - one window's samples, summed: stack x labels x thread x state -> cpu and wall nanoseconds.
 *
 * What must always have a place has it from the start: the overflow stack, and memory for one last row per state.
 */
#include "profile.h"

#include "alloc.h"
#include "frame_names.h"
#include "hash_index.h"
#include "stats.h"

/* Full, the stack table comes to 62 MiB: 44 of rows, the rest locations, entries and indexes. */
const rpp_profile_limits rpp_profile_default_limits = {
    .stacks = {.max_locations = 200000, .max_stacks = 200000, .max_depth_total = UINT64_C(11) << 20},
    .max_label_sets = 16384,
    .max_rows = 200000,
};

#define NO_ROW     SIZE_MAX
#define ANY_THREAD 0 /* threads are counted from 1 */

/* Where a thread was last seen in one state under one label set: what is left of its time goes there. */
typedef struct last_seen {
    uint32_t thread_seq, labels, row;
    uint8_t state;
} last_seen;

struct rpp_profile {
    rpp_stack_table *stacks;
    rpp_label_sets *label_sets;
    uint32_t overflow_stack;
    uint32_t max_rows;
    bool separate_rows;
    rpp_row *rows; /* always with room for the last rows that are still to come */
    size_t row_count, row_capacity;
    size_t last_rows[RPP_STATE_COUNT]; /* where what finds no row goes, or NO_ROW */
    size_t last_row_count;
    rpp_hash_index by_key;
    last_seen *seen;
    size_t seen_count, seen_capacity;
    rpp_hash_index seen_by_thread;
    uint64_t time_ns, duration_ns;
};

static rpp_stack_limits with_overflow_stack(rpp_stack_limits limits)
{
    if (limits.max_locations < UINT32_MAX - 1) limits.max_locations++;
    if (limits.max_stacks < UINT32_MAX - 1) limits.max_stacks++;
    if (limits.max_depth_total < UINT64_MAX) limits.max_depth_total++;
    return limits;
}

rpp_profile *rpp_profile_new(const rpp_profile_limits *limits)
{
    rpp_profile *profile = rpp_calloc(1, sizeof *profile);
    if (!profile) return NULL;
    rpp_stack_limits stacks = with_overflow_stack(limits->stacks);
    rpp_location overflow = {RPP_FRAME_OVERFLOW, 0};
    profile->max_rows = limits->max_rows;
    profile->separate_rows = limits->separate_rows;
    for (int state = 0; state < RPP_STATE_COUNT; state++) profile->last_rows[state] = NO_ROW;

    rpp_status status = RPP_NO_MEMORY;
    profile->stacks = rpp_stack_table_new(&stacks);
    profile->label_sets = rpp_label_sets_new(limits->max_label_sets);
    if (!profile->stacks || !profile->label_sets) goto done;
    status = rpp_stack_table_intern(profile->stacks, &overflow, 1, &profile->overflow_stack);
    if (status != RPP_OK) goto done;
    status = rpp_grow((void **)&profile->rows, &profile->row_capacity, RPP_STATE_COUNT, sizeof *profile->rows);

done:
    if (status == RPP_OK) return profile;
    rpp_profile_free(profile);
    return NULL;
}

void rpp_profile_free(rpp_profile *profile)
{
    if (!profile) return;
    rpp_stack_table_free(profile->stacks);
    rpp_label_sets_free(profile->label_sets);
    rpp_hash_index_destroy(&profile->by_key);
    rpp_hash_index_destroy(&profile->seen_by_thread);
    rpp_free(profile->seen);
    rpp_free(profile->rows);
    rpp_free(profile);
}

static uint32_t hash_key(const rpp_row *key)
{
    return rpp_hash_words((uint64_t)key->stack << 32 | key->labels, (uint64_t)key->thread_seq << 8 | key->state);
}

static bool is_row(const void *table, uint32_t id, const void *wanted)
{
    const rpp_row *row = &((const rpp_profile *)table)->rows[id], *key = wanted;
    return row->stack == key->stack && row->labels == key->labels && row->thread_seq == key->thread_seq &&
           row->state == key->state;
}

static rpp_row *append(rpp_profile *profile, rpp_row key)
{
    profile->rows[profile->row_count] = key;
    return &profile->rows[profile->row_count++];
}

/* NULL when there is no room for one more. */
static rpp_row *row_of(rpp_profile *profile, rpp_row key)
{
    uint32_t hash = hash_key(&key);
    if (!profile->separate_rows) {
        uint32_t known = rpp_hash_index_find(&profile->by_key, hash, is_row, profile, &key);
        if (known != RPP_INDEX_NONE) return &profile->rows[known];
    }
    if (profile->row_count - profile->last_row_count >= profile->max_rows) return NULL;
    size_t needed = profile->row_count + 1 + (RPP_STATE_COUNT - profile->last_row_count);
    if (rpp_grow((void **)&profile->rows, &profile->row_capacity, needed, sizeof *profile->rows) != RPP_OK) return NULL;
    if (!profile->separate_rows) {
        if (rpp_hash_index_reserve(&profile->by_key, 1) != RPP_OK) return NULL;
        rpp_hash_index_add(&profile->by_key, hash, (uint32_t)profile->row_count);
    }
    return append(profile, key);
}

/* Always there. */
static rpp_row *last_row_of(rpp_profile *profile, uint8_t state)
{
    if (profile->last_rows[state] == NO_ROW) {
        profile->last_rows[state] = profile->row_count;
        profile->last_row_count++;
        return append(profile, (rpp_row){.stack = profile->overflow_stack, .state = state});
    }
    return &profile->rows[profile->last_rows[state]];
}

static uint32_t hash_seen(const last_seen *key)
{
    return rpp_hash_words((uint64_t)key->thread_seq << 32 | key->labels, key->state);
}

static bool is_seen(const void *table, uint32_t id, const void *wanted)
{
    const last_seen *seen = &((const rpp_profile *)table)->seen[id], *key = wanted;
    return seen->thread_seq == key->thread_seq && seen->labels == key->labels && seen->state == key->state;
}

/* NULL when there is none so, or (to remember) no memory. */
static last_seen *seen_of(rpp_profile *profile, last_seen key, bool remember)
{
    uint32_t hash = hash_seen(&key);
    uint32_t known = rpp_hash_index_find(&profile->seen_by_thread, hash, is_seen, profile, &key);
    if (known != RPP_INDEX_NONE) return &profile->seen[known];
    if (!remember) return NULL;
    if (rpp_grow((void **)&profile->seen, &profile->seen_capacity, profile->seen_count + 1, sizeof key) != RPP_OK ||
        rpp_hash_index_reserve(&profile->seen_by_thread, 1) != RPP_OK) {
        return NULL;
    }
    rpp_hash_index_add(&profile->seen_by_thread, hash, (uint32_t)profile->seen_count);
    profile->seen[profile->seen_count] = key;
    return &profile->seen[profile->seen_count++];
}

static last_seen as_seen(const rpp_row *row, uint32_t thread_seq)
{
    return (last_seen){.thread_seq = thread_seq, .labels = row->labels, .state = row->state};
}

static void remember(rpp_profile *profile, const rpp_row *row)
{
    uint32_t threads[] = {row->thread_seq, ANY_THREAD};
    for (size_t i = 0; i < (row->labels ? 2 : 1); i++) {
        last_seen *seen = seen_of(profile, as_seen(row, threads[i]), true);
        if (seen) seen->row = (uint32_t)(row - profile->rows);
    }
}

/* The stack where the thread was last seen so, or else any thread under the same labels: they do the same work. */
static bool stack_for_remainder(rpp_profile *profile, rpp_row *key)
{
    const last_seen *seen = seen_of(profile, as_seen(key, key->thread_seq), false);
    if (!seen && key->labels) seen = seen_of(profile, as_seen(key, ANY_THREAD), false);
    if (seen) key->stack = profile->rows[seen->row].stack;
    return seen;
}

/* The row that a sample's stack and labels lead to; *fits says whether they had room. */
static rpp_row *row_for(rpp_profile *profile, const rpp_sample *sample, const rpp_location *locations, bool *fits)
{
    rpp_row key = {.thread_seq = sample->thread_seq, .state = sample->state};
    *fits = rpp_label_sets_intern(profile->label_sets, sample->labels, &key.labels) == RPP_OK;
    bool has_stack = *fits && sample->remainder && stack_for_remainder(profile, &key);
    if (!has_stack) {
        *fits = *fits && rpp_stack_table_intern(profile->stacks, locations, sample->depth, &key.stack) == RPP_OK;
        if (!*fits) key.stack = profile->overflow_stack;
    }
    rpp_row *row = row_of(profile, key);
    if (!row) {
        *fits = false;
        return last_row_of(profile, sample->state);
    }
    if (!has_stack) remember(profile, row);
    return row;
}

rpp_status rpp_profile_add(rpp_profile *profile, const rpp_sample *sample, const rpp_location *locations)
{
    if (sample->state >= RPP_STATE_COUNT) return RPP_INVALID;
    bool fits;
    rpp_row *row = row_for(profile, sample, locations, &fits);
    row->cpu_ns += sample->cpu_ns;
    row->wall_ns += sample->wall_ns;
    row->samples++;
    if (!fits) rpp_stats_add(RPP_STAT_samples_overflowed, 1);
    return RPP_OK;
}

bool rpp_profile_is_named(const rpp_profile *profile, const rpp_frame_names *names)
{
    for (uint32_t i = 0; i < rpp_stack_table_location_count(profile->stacks); i++) {
        uint32_t frame = rpp_stack_table_location(profile->stacks, i).frame;
        if (frame >= RPP_FRAME_FIRST && !rpp_frame_names_get(names, frame)) return false;
    }
    return true;
}

void rpp_profile_seal(rpp_profile *profile, uint64_t time_ns, uint64_t duration_ns)
{
    profile->time_ns = time_ns;
    profile->duration_ns = duration_ns;
}

uint64_t rpp_profile_time_ns(const rpp_profile *profile)
{
    return profile->time_ns;
}

uint64_t rpp_profile_duration_ns(const rpp_profile *profile)
{
    return profile->duration_ns;
}

size_t rpp_profile_row_count(const rpp_profile *profile)
{
    return profile->row_count;
}

const rpp_row *rpp_profile_rows(const rpp_profile *profile)
{
    return profile->rows;
}

const rpp_stack_table *rpp_profile_stacks(const rpp_profile *profile)
{
    return profile->stacks;
}

const rpp_label_sets *rpp_profile_label_sets(const rpp_profile *profile)
{
    return profile->label_sets;
}
