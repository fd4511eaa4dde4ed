/* last_stacks.c - finds each thread's latest stack under each label set, and gives it to rows of the same kind that
 * have none. */
#include "profile/last_stacks.h"

#include "base/alloc.h"
#include "base/hash_index.h"

typedef struct thread_stacks {
    uint32_t thread_seq, labels;
    size_t last_row, last_rows[RPP_STATE_COUNT]; /* 1-based, as in distribution.h */
} thread_stacks;

typedef struct all_stacks {
    thread_stacks *threads;
    size_t count, capacity;
    rpp_hash_index by_thread;
} all_stacks;

static uint32_t hash_of(const rpp_row *row)
{
    return rpp_hash_words(row->thread_seq, row->labels);
}

static bool is_of(const void *table, uint32_t id, const void *wanted)
{
    const thread_stacks *thread = &((const all_stacks *)table)->threads[id];
    const rpp_row *row = wanted;
    return thread->thread_seq == row->thread_seq && thread->labels == row->labels;
}

static thread_stacks *find(const all_stacks *all, const rpp_row *row)
{
    uint32_t known = rpp_hash_index_find(&all->by_thread, hash_of(row), is_of, all, row);
    return known == RPP_INDEX_NONE ? NULL : &all->threads[known];
}

/* NULL: no memory. */
static thread_stacks *find_or_add(all_stacks *all, const rpp_row *row)
{
    thread_stacks *known = find(all, row);
    if (known) return known;
    if (rpp_grow((void **)&all->threads, &all->capacity, all->count + 1, sizeof *known) != RPP_OK ||
        rpp_hash_index_reserve(&all->by_thread, 1) != RPP_OK) {
        return NULL;
    }
    rpp_hash_index_add(&all->by_thread, hash_of(row), (uint32_t)all->count);
    all->threads[all->count] = (thread_stacks){.thread_seq = row->thread_seq, .labels = row->labels};
    return &all->threads[all->count++];
}

static bool is_of_time(const rpp_row *row)
{
    return row->thread_seq && !row->custom_id && !rpp_row_is_of_objects(row);
}

static bool find_last_rows(const rpp_profile *profile, all_stacks *all)
{
    const rpp_row *rows = rpp_profile_rows(profile);
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        if (!is_of_time(&rows[i]) || !rpp_profile_has_stack_of(profile, &rows[i])) continue;
        thread_stacks *thread = find_or_add(all, &rows[i]);
        if (!thread) return false;
        thread->last_row = thread->last_rows[rows[i].state] = i + 1;
    }
    return true;
}

static bool give_last_stack(rpp_profile *profile, size_t index, const all_stacks *all)
{
    rpp_row *row = rpp_profile_row(profile, index);
    bool wants = is_of_time(row) && row->state != RPP_STATE_WAITING;
    if (!wants || rpp_profile_has_stack_of(profile, row)) return false;
    const thread_stacks *thread = find(all, row);
    if (!thread) return false;
    size_t last = thread->last_rows[row->state] ? thread->last_rows[row->state] : thread->last_row;
    row->stack = rpp_profile_rows(profile)[last - 1].stack;
    return true;
}

void rpp_give_last_stacks(rpp_profile *profile)
{
    all_stacks all = {.count = 0};
    bool any = false, known = find_last_rows(profile, &all);
    for (size_t i = 0; known && i < rpp_profile_row_count(profile); i++) any |= give_last_stack(profile, i, &all);
    rpp_free(all.threads);
    rpp_hash_index_destroy(&all.by_thread);
    if (any) rpp_profile_join(profile);
}
