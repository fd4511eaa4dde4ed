/* profile.c - one window's samples, summed by stack, labels, thread and state.
 *
 * Memory for the overflow stack and for one last row per state is allocated at the start, so that no sample is without
 * a place.
 */
#include "profile/profile.h"

#include "base/alloc.h"
#include "base/custom_values.h"
#include "base/hash_index.h"
#include "base/stats.h"
#include "profile/counted_objects.h"
#include "sampling/frame_names.h"

/* A full stack table has 62 MiB: 44 MiB of rows, and the rest locations, entries and indexes. */
const rpp_profile_limits rpp_profile_default_limits = {
    .stacks = {.max_locations = 200000, .max_stacks = 200000, .max_depth_total = UINT64_C(11) << 20},
    .max_label_sets = 16384,
    .max_rows = 200000,
};

#define NO_ROW              SIZE_MAX
/* One for each state, and one for each value that the program counts. */
#define LAST_ROWS           (RPP_STATE_COUNT + RPP_CUSTOM_MAX)
#define SMALLEST_SLOT_BYTES 40u /* of an object, in each Ruby */

static const rpp_location nowhere = {RPP_FRAME_UNKNOWN, 0};

struct rpp_profile {
    rpp_stack_table *stacks;
    rpp_label_sets *label_sets;
    uint32_t overflow_stack;
    uint32_t max_rows;
    bool separate_rows;
    unsigned custom_values; /* a bit for each id */
    rpp_row *rows;          /* always with room for the last rows that do not exist yet */
    size_t row_count, row_capacity;
    size_t last_rows[LAST_ROWS]; /* rows for samples without a row of their own; NO_ROW: none yet */
    size_t last_row_count;
    rpp_hash_index by_key;
    rpp_distribution distribution;
    uint64_t objects_counted, objects_seen; /* by the VM; one by one, in samples */
    double objects_per_sample;
    uint64_t level_ns;
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
    for (size_t i = 0; i < LAST_ROWS; i++) profile->last_rows[i] = NO_ROW;

    rpp_status status = RPP_NO_MEMORY;
    profile->stacks = rpp_stack_table_new(&stacks);
    profile->label_sets = rpp_label_sets_new(limits->max_label_sets);
    if (!profile->stacks || !profile->label_sets) goto done;
    status = rpp_stack_table_intern(profile->stacks, &overflow, 1, &profile->overflow_stack);
    if (status != RPP_OK) goto done;
    status = rpp_grow((void **)&profile->rows, &profile->row_capacity, LAST_ROWS, sizeof *profile->rows);

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
    rpp_distribution_destroy(&profile->distribution);
    rpp_free(profile->rows);
    rpp_free(profile);
}

static uint32_t hash_key(const rpp_row *key)
{
    return rpp_hash_words((uint64_t)key->stack << 32 | key->labels,
                          (uint64_t)key->thread_seq << 16 | (uint64_t)key->custom_id << 8 | key->state);
}

static bool is_row(const void *table, uint32_t id, const void *wanted)
{
    const rpp_row *row = &((const rpp_profile *)table)->rows[id], *key = wanted;
    return row->stack == key->stack && row->labels == key->labels && row->thread_seq == key->thread_seq &&
           row->state == key->state && row->custom_id == key->custom_id;
}

static rpp_row *append(rpp_profile *profile, rpp_row key)
{
    profile->rows[profile->row_count] = key;
    return &profile->rows[profile->row_count++];
}

/* NULL: there is no room for one more. */
static rpp_row *row_of(rpp_profile *profile, rpp_row key)
{
    uint32_t hash = hash_key(&key);
    if (!profile->separate_rows) {
        uint32_t known = rpp_hash_index_find(&profile->by_key, hash, is_row, profile, &key);
        if (known != RPP_INDEX_NONE) return &profile->rows[known];
    }
    if (profile->row_count - profile->last_row_count >= profile->max_rows) return NULL;
    size_t needed = profile->row_count + 1 + (LAST_ROWS - profile->last_row_count);
    if (rpp_grow((void **)&profile->rows, &profile->row_capacity, needed, sizeof *profile->rows) != RPP_OK) return NULL;
    if (!profile->separate_rows) {
        if (rpp_hash_index_reserve(&profile->by_key, 1) != RPP_OK) return NULL;
        rpp_hash_index_add(&profile->by_key, hash, (uint32_t)profile->row_count);
    }
    return append(profile, key);
}

static size_t *last_row_place(rpp_profile *profile, uint8_t state, uint8_t custom_id)
{
    return &profile->last_rows[custom_id ? RPP_STATE_COUNT + custom_id - 1u : state];
}

/* Never NULL. */
static rpp_row *last_row_of(rpp_profile *profile, uint8_t state, uint8_t custom_id)
{
    size_t *last = last_row_place(profile, state, custom_id);
    if (*last == NO_ROW) {
        *last = profile->row_count;
        profile->last_row_count++;
        return append(profile, (rpp_row){.stack = profile->overflow_stack, .state = state, .custom_id = custom_id});
    }
    return &profile->rows[*last];
}

static rpp_status intern_labels(rpp_profile *profile, const rpp_sample *sample, uint32_t *id)
{
    return sample->after_request ? rpp_label_sets_intern_after_request(profile->label_sets, sample->labels, id)
                                 : rpp_label_sets_intern(profile->label_sets, sample->labels, id);
}

/* The row for a sample. *fits becomes false if its stack, its labels or the row had no room. */
static rpp_row *row_for(rpp_profile *profile, const rpp_sample *sample, const rpp_location *locations, bool *fits)
{
    rpp_row key = {.thread_seq = sample->thread_seq, .state = sample->state, .custom_id = sample->custom_id};
    *fits = intern_labels(profile, sample, &key.labels) == RPP_OK;
    *fits = *fits && rpp_stack_table_intern(profile->stacks, locations, sample->depth, &key.stack) == RPP_OK;
    if (!*fits) key.stack = profile->overflow_stack;
    rpp_row *row = row_of(profile, key);
    if (!row) {
        *fits = false;
        return last_row_of(profile, sample->state, sample->custom_id);
    }
    return row;
}

static double square(uint64_t weight)
{
    return (double)weight * (double)weight;
}

static void note_sampled(rpp_row *row, const rpp_sample *sample)
{
    row->cpu_sampled_ns += sample->cpu_sampled_ns;
    row->wall_sampled_ns += sample->wall_sampled_ns;
    row->waits_sampled += sample->waits_sampled;
    row->alloc_sampled += sample->alloc_sampled;
    row->alloc_sampled_bytes += sample->alloc_sampled_bytes;
    row->squares_sampled.of[RPP_VALUE_CPU] += square(sample->cpu_sampled_ns);
    row->squares_sampled.of[RPP_VALUE_WALL] += square(sample->wall_sampled_ns);
    row->squares_sampled.of[RPP_VALUE_ALLOC_OBJECTS] += square(sample->alloc_sampled);
    row->squares_sampled.of[RPP_VALUE_ALLOC_SPACE] += square(sample->alloc_sampled_bytes);
}

rpp_status rpp_profile_add(rpp_profile *profile, const rpp_sample *sample, const rpp_location *locations)
{
    if (sample->state >= RPP_STATE_COUNT || sample->custom_id > RPP_CUSTOM_MAX) return RPP_INVALID;
    if (sample->is_total) {
        uint32_t labels;
        profile->objects_counted += sample->alloc_objects;
        if (sample->alloc_objects) return RPP_OK; /* of no thread: it has no time */
        bool fits = intern_labels(profile, sample, &labels) == RPP_OK;
        rpp_distribution_add(&profile->distribution, sample, fits ? labels : 0);
        return RPP_OK;
    }
    bool fits;
    rpp_row *row = row_for(profile, sample, locations, &fits);
    for (rpp_value value = 0; value < RPP_VALUE_COUNT; value++) row->values[value] += sample->values[value];
    note_sampled(row, sample);
    profile->objects_seen += sample->alloc_objects;
    row->samples++;
    if (sample->custom_id) profile->custom_values |= 1u << sample->custom_id;
    if (!fits) rpp_stats_add(RPP_STAT_samples_overflowed, 1);
    return RPP_OK;
}

void rpp_profile_add_row(rpp_profile *profile, const rpp_row *added, rpp_label_set *labels,
                         const rpp_location *locations, uint32_t depth)
{
    bool fits;
    rpp_sample key = {.labels = labels,
                      .thread_seq = added->thread_seq,
                      .depth = depth,
                      .state = added->state,
                      .custom_id = added->custom_id};
    rpp_row *row = row_for(profile, &key, locations, &fits);
    for (rpp_value value = 0; value < RPP_VALUE_COUNT; value++) row->values[value] += added->values[value];
    rpp_squares_add(&row->squares, &added->squares);
    row->samples += added->samples;
    if (added->custom_id) profile->custom_values |= 1u << added->custom_id;
    if (!fits) rpp_stats_add(RPP_STAT_samples_overflowed, 1);
}

void rpp_profile_set_level_ns(rpp_profile *profile, uint64_t level_ns)
{
    profile->level_ns = level_ns;
}

uint64_t rpp_profile_level_ns(const rpp_profile *profile)
{
    return profile->level_ns;
}

/* Where rows are samples, levels would otherwise pile up. */
static bool was_only_level(const rpp_profile *profile, const rpp_row *row)
{
    uint64_t any = row->samples || row->stack == profile->overflow_stack;
    for (rpp_value value = 0; value < RPP_VALUE_COUNT; value++) any |= row->values[value];
    return profile->separate_rows && !any;
}

void rpp_profile_drop_level(rpp_profile *profile)
{
    unsigned levels = rpp_level_mode();
    size_t kept = 0;
    for (size_t i = 0; i < profile->row_count; i++) {
        rpp_row row = profile->rows[i];
        size_t *last = last_row_place(profile, row.state, row.custom_id);
        for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
            if (levels >> value & 1) row.values[value] = 0;
        }
        if (was_only_level(profile, &row)) continue;
        if (*last == i) *last = kept;
        profile->rows[kept++] = row;
    }
    profile->row_count = kept;
    profile->level_ns = 0;
}

double rpp_profile_objects_per_sample(const rpp_profile *profile)
{
    return profile->objects_per_sample;
}

/* A row with the stack and labels of that one. */
static rpp_row *row_like(rpp_profile *profile, size_t index, uint32_t thread_seq, rpp_state state)
{
    const rpp_row *like = &profile->rows[index];
    return row_of(
        profile,
        (rpp_row){.stack = like->stack, .labels = like->labels, .thread_seq = thread_seq, .state = (uint8_t)state});
}

bool rpp_profile_has_stack_of(const rpp_profile *profile, const rpp_row *row)
{
    uint32_t depth;
    const uint32_t *stack = rpp_stack_table_get(profile->stacks, row->stack, &depth);
    return depth != 1 || rpp_stack_table_location(profile->stacks, stack[0]).frame != RPP_FRAME_UNKNOWN;
}

/* The last row in this state, else the last of all. RPP_NO_ROW: no row is of time and has a stack. */
static size_t last_row_in(const rpp_profile *profile, rpp_state state)
{
    size_t last = RPP_NO_ROW;
    for (size_t i = profile->row_count; i-- > 0;) {
        const rpp_row *row = &profile->rows[i];
        if (rpp_row_is_of_objects(row) || !rpp_profile_has_stack_of(profile, row)) continue;
        if (row->state == state) return i;
        if (last == RPP_NO_ROW) last = i;
    }
    return last;
}

/* Adds time that no sample found. A little of it goes to the latest row in this state. Much of it gets no stack,
 * because something prevented samples. */
static void add_unseen(rpp_profile *profile, rpp_state state, const rpp_unplaced *unplaced, uint64_t little_ns)
{
    rpp_sample unseen = {.state = (uint8_t)state, .depth = 1};
    uint64_t cpu_ns = unplaced->unseen.cpu_ns[state], wall_ns = unplaced->unseen.wall_ns[state];
    uint64_t waits = state == RPP_STATE_WAITING ? unplaced->waits_unseen : 0;
    if (!cpu_ns && !wall_ns && !waits) return;
    rpp_row *row = NULL;
    size_t last = last_row_in(profile, state);
    if (last != RPP_NO_ROW && cpu_ns < little_ns && wall_ns < little_ns) row = row_like(profile, last, 0, state);
    bool fits;
    if (!row) row = row_for(profile, &unseen, &nowhere, &fits);
    row->cpu_ns += cpu_ns;
    row->wall_ns += wall_ns;
    row->contentions += waits;
    row->squares.of[RPP_VALUE_CPU] += square(cpu_ns);
    row->squares.of[RPP_VALUE_WALL] += square(wall_ns);
}

static rpp_row *stand_in_for(rpp_profile *profile, const rpp_stand_in *wanted)
{
    if (wanted->row != RPP_NO_ROW) return row_like(profile, wanted->row, wanted->thread_seq, wanted->state);
    rpp_row key = {.labels = wanted->labels, .thread_seq = wanted->thread_seq, .state = (uint8_t)wanted->state};
    rpp_status status = rpp_stack_table_intern(profile->stacks, &nowhere, 1, &key.stack);
    return status == RPP_OK ? row_of(profile, key) : NULL;
}

/* If there is no room for a row, the time is of no thread. */
static void add_stand_ins(rpp_profile *profile, const rpp_distribution_rules *how)
{
    rpp_stand_in wanted;
    size_t cursor = 0;
    rpp_distribution_find_rows(&profile->distribution, profile->rows, profile->row_count);
    while (rpp_distribution_next_stand_in(&profile->distribution, how, &cursor, &wanted)) {
        rpp_row *row = stand_in_for(profile, &wanted);
        if (row) note_sampled(row, &(rpp_sample){.wall_sampled_ns = wanted.of_wall, .cpu_sampled_ns = wanted.of_cpu});
    }
}

static void place_unassigned(rpp_profile *profile, const rpp_unplaced *unplaced)
{
    uint64_t before[RPP_STATE_COUNT] = {0};
    for (size_t i = 0, count = profile->row_count; i < count; i++) {
        rpp_state state = (rpp_state)profile->rows[i].state;
        uint64_t over = profile->rows[i].wall_sampled_ns;
        double squares = profile->rows[i].squares_sampled.of[RPP_VALUE_WALL];
        profile->rows[i].wall_sampled_ns = 0;
        profile->rows[i].squares_sampled.of[RPP_VALUE_WALL] = 0;
        if (!over) continue;
        uint64_t part = rpp_share_of(unplaced->unassigned[state], before[state], over, unplaced->over_ns[state]);
        before[state] += over;
        if (!part) continue;
        rpp_row *row = row_like(profile, i, 0, state);
        if (!row) row = last_row_of(profile, (uint8_t)state, RPP_CUSTOM_NONE);
        row->wall_ns += part;
        row->squares.of[RPP_VALUE_WALL] += rpp_squares_scaled(squares, part, over);
    }
}

/* Objects that were counted and not seen one by one. Without a sample they have no stack, and the bytes of the smallest
 * slot. */
static void distribute_objects(rpp_profile *profile)
{
    uint64_t counted = profile->objects_counted, seen = profile->objects_seen;
    if (!counted) return; /* the window is still open: samples wait for its sum */
    profile->objects_counted = profile->objects_seen = 0;
    uint64_t to_share = counted > seen ? counted - seen : 0;
    uint64_t sampled = rpp_counted_sampled(profile->rows, profile->row_count);
    profile->objects_per_sample = sampled ? (double)to_share / (double)sampled : 0;
    uint64_t left = rpp_counted_distribute(profile->rows, profile->row_count, to_share);
    if (!left) return;
    bool fits;
    rpp_row *row = row_for(profile, &(rpp_sample){.depth = 1}, &nowhere, &fits);
    row->alloc_objects += left;
    row->alloc_space += left * SMALLEST_SLOT_BYTES;
}

void rpp_profile_distribute(rpp_profile *profile, uint64_t period_ns, bool last, rpp_carry_over *carry_over)
{
    rpp_distribution_rules how = {.period_ns = period_ns, .one_pool = profile->last_row_count > 0, .last = last};
    rpp_unplaced unplaced;
    add_stand_ins(profile, &how);
    rpp_distribution_give(&profile->distribution, profile->rows, profile->row_count, &how, carry_over, &unplaced);
    place_unassigned(profile, &unplaced);
    uint64_t little_ns =
        (last ? RPP_OWN_PERIODS : RPP_MISSED_PERIODS) * period_ns; /* a carry-over may be as much as that */
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        add_unseen(profile, state, &unplaced, little_ns);
    }
    distribute_objects(profile);
}

bool rpp_profile_is_named(const rpp_profile *profile, const rpp_frame_names *names)
{
    for (uint32_t i = 0; i < rpp_stack_table_location_count(profile->stacks); i++) {
        uint32_t frame = rpp_stack_table_location(profile->stacks, i).frame;
        if (frame >= RPP_FRAME_FIRST && !rpp_frame_names_get(names, frame)) return false;
    }
    return true;
}

static void add_up(rpp_row *to, const rpp_row *row)
{
    for (rpp_value value = 0; value < RPP_VALUE_COUNT; value++) to->values[value] += row->values[value];
    to->cpu_sampled_ns += row->cpu_sampled_ns;
    to->wall_sampled_ns += row->wall_sampled_ns;
    to->waits_sampled += row->waits_sampled;
    to->alloc_sampled += row->alloc_sampled;
    to->alloc_sampled_bytes += row->alloc_sampled_bytes;
    rpp_squares_add(&to->squares, &row->squares);
    rpp_squares_add(&to->squares_sampled, &row->squares_sampled);
    to->samples += row->samples;
}

/* The index has enough room, because it had all of these rows before. */
void rpp_profile_join(rpp_profile *profile)
{
    size_t kept = 0;
    if (profile->separate_rows) return;
    rpp_hash_index_clear(&profile->by_key);
    for (size_t i = 0; i < profile->row_count; i++) {
        rpp_row row = profile->rows[i];
        uint32_t hash = hash_key(&row);
        size_t *last = last_row_place(profile, row.state, row.custom_id);
        bool is_last = *last == i;
        uint32_t same = is_last ? RPP_INDEX_NONE : rpp_hash_index_find(&profile->by_key, hash, is_row, profile, &row);
        if (same != RPP_INDEX_NONE) {
            add_up(&profile->rows[same], &row);
            continue;
        }
        if (is_last) {
            *last = kept;
        } else {
            rpp_hash_index_add(&profile->by_key, hash, (uint32_t)kept);
        }
        profile->rows[kept++] = row;
    }
    profile->row_count = kept;
}

/* A slow request runs across the end of a window more often than others: without this share, what is known of the ends
 * of requests looks like all of them. */
static void count_requests(const rpp_profile *profile)
{
    uint64_t all_ns = 0, open_ns = 0;
    for (size_t i = 0; i < profile->row_count; i++) {
        const rpp_row *row = &profile->rows[i];
        const rpp_outcome *outcome = rpp_label_set_outcome(rpp_label_sets_get(profile->label_sets, row->labels));
        if (!outcome) continue;
        all_ns += row->wall_ns;
        if (!rpp_outcome_has_ended(outcome)) open_ns += row->wall_ns;
    }
    rpp_stats_add(RPP_STAT_requests_ns, all_ns);
    rpp_stats_add(RPP_STAT_requests_open_ns, open_ns);
}

static void resolve_outcomes(rpp_profile *profile)
{
    if (!rpp_label_sets_have_outcomes(profile->label_sets)) return;
    count_requests(profile);
    uint32_t *ids = rpp_calloc(rpp_label_sets_count(profile->label_sets), sizeof *ids);
    rpp_label_sets *resolved = ids ? rpp_label_sets_resolved(profile->label_sets, ids) : NULL;
    if (resolved) {
        for (size_t i = 0; i < profile->row_count; i++) profile->rows[i].labels = ids[profile->rows[i].labels];
        rpp_label_sets_free(profile->label_sets);
        profile->label_sets = resolved;
        rpp_profile_join(profile);
    }
    rpp_free(ids);
}

rpp_status rpp_profile_restack(rpp_profile *profile, size_t index, const rpp_location *locations, uint32_t depth)
{
    return rpp_stack_table_intern(profile->stacks, locations, depth, &profile->rows[index].stack);
}

rpp_status rpp_profile_relabel(rpp_profile *profile, size_t index, rpp_label_set *labels)
{
    return rpp_label_sets_intern(profile->label_sets, labels, &profile->rows[index].labels);
}

void rpp_profile_close(rpp_profile *profile, uint64_t time_ns, uint64_t duration_ns)
{
    resolve_outcomes(profile);
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

rpp_row *rpp_profile_row(rpp_profile *profile, size_t index)
{
    return &profile->rows[index];
}

const rpp_row *rpp_profile_rows(const rpp_profile *profile)
{
    return profile->rows;
}

unsigned rpp_profile_custom_values(const rpp_profile *profile)
{
    return profile->custom_values;
}

const rpp_stack_table *rpp_profile_stacks(const rpp_profile *profile)
{
    return profile->stacks;
}

const rpp_label_sets *rpp_profile_label_sets(const rpp_profile *profile)
{
    return profile->label_sets;
}
