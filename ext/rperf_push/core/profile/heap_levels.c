/* heap_levels.c - what the watched objects of a session are: the stacks and labels that they were born with, for longer
 * than a window. */
#include "profile/heap_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"

/* Allocations wait for the end of their window to hear who is alive, so there may be more of them than watched objects.
 * */
#define ALLOCATIONS_A_PLACE 4u
#define MANY_STACKS         1024u

typedef struct allocation {
    uint64_t number;
    double objects; /* that it stands for; of a sample of an open window, not scaled yet */
    uint32_t bytes; /* of one object */
    uint32_t window;
    uint32_t stack;
    bool sampled; /* and not scaled yet */
    rpp_label_set *labels;
} allocation;

struct rpp_levels {
    rpp_frame_names *names;
    bool ages;
    uint32_t capacity;
    allocation *allocations; /* by number */
    size_t count, room;
    rpp_stack_table *stacks;

    /* of the latest boundary */
    rpp_survivor *survivors;
    size_t survivor_count;
    uint64_t next_allocation, told_ns;
};

static rpp_stack_table *new_stacks(void)
{
    return rpp_stack_table_new(&rpp_profile_default_limits.stacks);
}

rpp_levels *rpp_levels_new(rpp_frame_names *names, uint32_t capacity, bool ages)
{
    rpp_levels *l = rpp_calloc(1, sizeof *l);
    if (!l) return NULL;
    l->names = names;
    l->ages = ages;
    l->capacity = capacity;
    l->stacks = new_stacks();
    /* Sessions share the table, so it may grow later. What is not used takes addresses only. */
    l->survivors = rpp_malloc(sizeof *l->survivors * ((size_t)RPP_WATCHED_MAX + 1));
    if (l->stacks && l->survivors) return l;
    rpp_levels_free(l);
    return NULL;
}

static void hold_from(const rpp_levels *l, const rpp_stack_table *stacks, uint32_t first)
{
    for (uint32_t i = first; i < rpp_stack_table_location_count(stacks); i++) {
        rpp_frame_names_hold(l->names, rpp_stack_table_location(stacks, i).frame);
    }
}

static void let_go(const rpp_levels *l, const rpp_stack_table *stacks)
{
    for (uint32_t i = 0; i < rpp_stack_table_location_count(stacks); i++) {
        rpp_frame_names_let_go(l->names, rpp_stack_table_location(stacks, i).frame);
    }
}

void rpp_levels_free(rpp_levels *l)
{
    if (!l) return;
    for (size_t i = 0; i < l->count; i++) rpp_label_set_release(l->allocations[i].labels);
    if (l->stacks) let_go(l, l->stacks);
    rpp_stack_table_free(l->stacks);
    rpp_free(l->allocations);
    rpp_free(l->survivors);
    rpp_free(l);
}

/* --- allocations --- */

static size_t most_allocations(const rpp_levels *l)
{
    return (size_t)l->capacity * ALLOCATIONS_A_PLACE;
}

bool rpp_levels_are_filling(const rpp_levels *l)
{
    return l->count >= most_allocations(l) / 4 * 3;
}

void rpp_levels_note(rpp_levels *l, const rpp_sample *sample, const rpp_location *locations)
{
    uint64_t weight = sample->alloc_sampled ? sample->alloc_sampled : sample->alloc_objects;
    uint64_t bytes = sample->alloc_sampled ? sample->alloc_sampled_bytes : sample->alloc_space;
    uint32_t stack, known = rpp_stack_table_location_count(l->stacks);
    rpp_status status = l->count < most_allocations(l) ? RPP_OK : RPP_LIMIT;
    if (status == RPP_OK) status = rpp_grow((void **)&l->allocations, &l->room, l->count + 1, sizeof *l->allocations);
    if (status == RPP_OK) status = rpp_stack_table_intern(l->stacks, locations, sample->depth, &stack);
    if (status != RPP_OK || !weight) {
        rpp_stats_add(RPP_STAT_objects_unwatched, 1);
        return;
    }
    hold_from(l, l->stacks, known);
    l->allocations[l->count++] = (allocation){
        .number = sample->watched,
        .objects = (double)weight,
        .bytes = (uint32_t)(bytes / weight),
        .window = sample->window,
        .stack = stack,
        .sampled = sample->alloc_sampled > 0,
        .labels = rpp_label_set_retain(sample->labels),
    };
}

void rpp_levels_tell(rpp_levels *l, const rpp_watched *watched, uint64_t boundary_ns)
{
    l->survivor_count = watched ? rpp_watched_list(watched, l->survivors, RPP_WATCHED_MAX) : 0;
    l->next_allocation = watched ? rpp_watched_next_allocation(watched) : UINT64_MAX;
    l->told_ns = boundary_ns;
}

/* An outcome is known when the window of the allocation is over, and its request must not be kept for as long as the
 * object lives. */
static void resolve_labels(allocation *b)
{
    rpp_label_set *resolved;
    if (!rpp_label_set_outcome(b->labels) || rpp_label_set_resolved(b->labels, &resolved) != RPP_OK) return;
    rpp_label_set_release(b->labels);
    b->labels = resolved;
}

static void scale(rpp_levels *l, uint32_t window, double objects_per_sample)
{
    for (size_t i = 0; i < l->count; i++) {
        allocation *b = &l->allocations[i];
        if (b->window != window) continue;
        if (b->sampled) b->objects *= objects_per_sample;
        b->sampled = false;
        resolve_labels(b);
    }
}

/* --- the level --- */

const char *rpp_gcs_text(uint32_t gcs)
{
    if (gcs < 2) return gcs ? "1" : "0";
    if (gcs < 4) return "2-3";
    if (gcs < 8) return "4-7";
    if (gcs < 16) return "8-15";
    return gcs < 64 ? "16-63" : "64+";
}

/* A reference to the allocation's labels, with the age if it is wanted and there is room and memory for it. */
static rpp_label_set *labels_of(const rpp_levels *l, const allocation *b, uint32_t gcs)
{
    const char *text = rpp_gcs_text(gcs);
    const rpp_label age = {RPP_GCS_LABEL, text, sizeof RPP_GCS_LABEL - 1, (uint32_t)strlen(text)};
    rpp_label_set *aged;
    if (l->ages && rpp_label_set_merge(b->labels, &age, 1, &aged) == RPP_OK) return aged;
    return rpp_label_set_retain(b->labels);
}

static void add_row(const rpp_levels *l, const allocation *b, const rpp_survivor *survivor, rpp_profile *profile)
{
    rpp_location locations[RPP_MAX_DEPTH + 1];
    uint32_t depth;
    const uint32_t *stack = rpp_stack_table_get(l->stacks, b->stack, &depth);
    for (uint32_t i = 0; i < depth; i++) locations[i] = rpp_stack_table_location(l->stacks, stack[i]);
    rpp_label_set *labels = labels_of(l, b, survivor->gcs);
    rpp_row level = {.state = RPP_STATE_RUNNING};
    level.inuse_objects = (uint64_t)llround(ldexp(b->objects, (int)survivor->doublings));
    level.inuse_space = level.inuse_objects * b->bytes;
    rpp_profile_add_row(profile, &level, labels, locations, depth);
    rpp_label_set_release(labels);
}

static int by_allocation(const void *a, const void *b)
{
    uint64_t one = ((const rpp_survivor *)a)->allocation, other = ((const rpp_survivor *)b)->allocation;
    return one < other ? -1 : one > other;
}

/* Both lists are sorted. Keeps who is alive, and who was born after the boundary. */
static void meet(rpp_levels *l, rpp_profile *profile)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < l->count; i++) {
        allocation *b = &l->allocations[i];
        while (at < l->survivor_count && l->survivors[at].allocation < b->number) at++;
        const rpp_survivor *its = at < l->survivor_count ? &l->survivors[at] : NULL;
        bool lives = its && its->allocation == b->number;
        if (!lives && b->number < l->next_allocation) {
            rpp_label_set_release(b->labels);
            continue;
        }
        if (lives && its->gcs && profile) add_row(l, b, its, profile);
        l->allocations[kept++] = *b;
    }
    l->count = kept;
}

/* Without the stacks of the dead. */
static void renew_stacks(rpp_levels *l)
{
    size_t stacks = rpp_stack_table_count(l->stacks), most = rpp_profile_default_limits.stacks.max_stacks;
    if (stacks < 2 * l->count + MANY_STACKS && stacks < most / 4 * 3) return;
    rpp_stack_table *fresh = new_stacks();
    uint32_t *ids = rpp_calloc(l->count + 1, sizeof *ids);
    bool all = fresh && ids;
    for (size_t i = 0; all && i < l->count; i++) {
        rpp_location locations[RPP_MAX_DEPTH + 1];
        uint32_t depth;
        const uint32_t *stack = rpp_stack_table_get(l->stacks, l->allocations[i].stack, &depth);
        for (uint32_t k = 0; k < depth; k++) locations[k] = rpp_stack_table_location(l->stacks, stack[k]);
        all = rpp_stack_table_intern(fresh, locations, depth, &ids[i]) == RPP_OK;
    }
    rpp_stack_table *unwanted = fresh;
    if (all) {
        hold_from(l, fresh, 0);
        let_go(l, l->stacks);
        for (size_t i = 0; i < l->count; i++) l->allocations[i].stack = ids[i];
        unwanted = l->stacks;
        l->stacks = fresh;
    }
    rpp_stack_table_free(unwanted);
    rpp_free(ids);
}

void rpp_levels_add(rpp_levels *l, uint32_t window, const rpp_profile_limits *limits, rpp_profile **profile)
{
    if (*profile) scale(l, window, rpp_profile_objects_per_sample(*profile));
    if (!*profile && l->survivor_count) *profile = rpp_profile_new(limits);
    if (l->survivor_count) qsort(l->survivors, l->survivor_count, sizeof *l->survivors, by_allocation);
    meet(l, *profile);
    renew_stacks(l);
    if (*profile) rpp_profile_set_level_ns(*profile, l->told_ns);
    l->survivor_count = 0;
}

size_t rpp_levels_allocations(const rpp_levels *l)
{
    return l->count;
}
