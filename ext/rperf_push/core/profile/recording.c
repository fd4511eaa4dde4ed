/* recording.c - adds up the closed profiles of a session on demand, with their own names. */
#include "profile/recording.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash_index.h"

#define FRAMES_MAX        1000000u
#define SEPARATE_ROWS_MAX 4000000u

struct rpp_recording {
    bool separate_rows;
    pthread_mutex_t lock;
    /* under lock */
    rpp_profile *profile;
    rpp_frame_names *names;
    rpp_hash_index by_name;
    uint64_t captures;
    uint64_t changes; /* how often something was added or taken */
};

static rpp_profile *new_profile(bool separate_rows)
{
    rpp_profile_limits limits = rpp_profile_default_limits;
    limits.separate_rows = separate_rows;
    if (separate_rows) limits.max_rows = SEPARATE_ROWS_MAX;
    return rpp_profile_new(&limits);
}

rpp_recording *rpp_recording_new(bool separate_rows)
{
    rpp_recording *recording = rpp_calloc(1, sizeof *recording);
    if (!recording) return NULL;
    recording->separate_rows = separate_rows;
    pthread_mutex_init(&recording->lock, NULL);
    recording->profile = new_profile(separate_rows);
    recording->names = rpp_frame_names_new(FRAMES_MAX);
    if (recording->profile && recording->names) return recording;
    rpp_recording_free(recording);
    return NULL;
}

void rpp_recording_free(rpp_recording *recording)
{
    if (!recording) return;
    rpp_profile_free(recording->profile);
    rpp_frame_names_free(recording->names);
    rpp_hash_index_destroy(&recording->by_name);
    pthread_mutex_destroy(&recording->lock);
    rpp_free(recording);
}

/* --- frames by name --- */

static uint32_t hash_name(const rpp_frame_name *name)
{
    uint64_t hash = rpp_hash_bytes(name->name, name->name_length);
    return rpp_hash_words(hash ^ rpp_hash_bytes(name->path, name->path_length), name->first_line);
}

static bool is_named(const void *table, uint32_t id, const void *wanted)
{
    const rpp_frame_name *known = rpp_frame_names_get(table, id), *name = wanted;
    return known->first_line == name->first_line && known->name_length == name->name_length &&
           known->path_length == name->path_length && !memcmp(known->name, name->name, name->name_length) &&
           !memcmp(known->path, name->path, name->path_length);
}

static uint32_t own_id(rpp_recording *recording, const rpp_frame_name *name)
{
    uint32_t hash = hash_name(name);
    uint32_t known = rpp_hash_index_find(&recording->by_name, hash, is_named, recording->names, name);
    if (known != RPP_INDEX_NONE) return known;
    if (rpp_frame_names_ensure(recording->names, 1) != RPP_OK ||
        rpp_hash_index_reserve(&recording->by_name, 1) != RPP_OK) {
        return RPP_FRAME_OVERFLOW;
    }
    uint32_t id = rpp_frame_names_reserve(recording->names);
    if (!id) return RPP_FRAME_OVERFLOW;
    rpp_status status = rpp_frame_names_set(recording->names, id, name->name, name->name_length, name->path,
                                            name->path_length, name->first_line, false);
    if (status != RPP_OK) {
        rpp_frame_names_release(recording->names, id);
        return RPP_FRAME_OVERFLOW;
    }
    rpp_hash_index_add(&recording->by_name, hash, id);
    return id;
}

/* --- adding --- */

/* Maps frames of the profile to ids of the recording; RPP_FRAME_NONE: the frame is left out. */
typedef struct translation {
    uint32_t *ids; /* by location of the profile */
    rpp_location stack[RPP_MAX_DEPTH + 1];
} translation;

static bool translate(rpp_recording *recording, const rpp_profile *profile, const rpp_frame_names *names,
                      translation *t)
{
    const rpp_stack_table *stacks = rpp_profile_stacks(profile);
    uint32_t count = rpp_stack_table_location_count(stacks);
    t->ids = rpp_calloc(count + 1, sizeof *t->ids);
    if (!t->ids) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t frame = rpp_stack_table_location(stacks, i).frame;
        const rpp_frame_name *name = frame < RPP_FRAME_FIRST ? NULL : rpp_frame_names_get(names, frame);
        if (frame < RPP_FRAME_FIRST) {
            t->ids[i] = frame;
        } else if (!name) {
            t->ids[i] = RPP_FRAME_UNKNOWN;
        } else {
            t->ids[i] = name->hidden ? RPP_FRAME_NONE : own_id(recording, name);
        }
    }
    return true;
}

static uint32_t translate_stack(const rpp_profile *profile, uint32_t stack, translation *t)
{
    const rpp_stack_table *stacks = rpp_profile_stacks(profile);
    uint32_t depth, kept = 0;
    const uint32_t *locations = rpp_stack_table_get(stacks, stack, &depth);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t id = t->ids[locations[i]];
        if (id == RPP_FRAME_NONE) continue;
        t->stack[kept++] = (rpp_location){id, rpp_stack_table_location(stacks, locations[i]).line};
    }
    if (!kept) t->stack[kept++] = (rpp_location){RPP_FRAME_UNKNOWN, 0};
    return kept;
}

/* The latest level replaces those before it: what is put back may be older. */
static bool begin_level(rpp_recording *recording, const rpp_profile *profile)
{
    uint64_t level_ns = rpp_profile_level_ns(profile);
    if (level_ns <= rpp_profile_level_ns(recording->profile)) return false;
    rpp_profile_drop_level(recording->profile);
    rpp_profile_set_level_ns(recording->profile, level_ns);
    return true;
}

static void drop_level(rpp_row *row)
{
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        if (rpp_level_mode() >> value & 1) row->values[value] = 0;
    }
}

static bool has_any(const rpp_row *row)
{
    uint64_t any = row->samples;
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) any |= row->values[value];
    return any;
}

static void add_rows(rpp_recording *recording, const rpp_profile *profile, translation *t)
{
    bool with_level = begin_level(recording, profile);
    const rpp_row *rows = rpp_profile_rows(profile);
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) {
        rpp_row row = rows[i];
        rpp_label_set *labels = (rpp_label_set *)rpp_label_sets_get(rpp_profile_label_sets(profile), row.labels);
        recording->captures += row.samples;
        if (!with_level) drop_level(&row);
        if (!has_any(&row)) continue;
        rpp_profile_add_row(recording->profile, &row, labels, t->stack, translate_stack(profile, row.stack, t));
    }
}

rpp_status rpp_recording_add(rpp_recording *recording, const rpp_profile *profile, const rpp_frame_names *names)
{
    translation *t = rpp_calloc(1, sizeof *t);
    pthread_mutex_lock(&recording->lock);
    recording->changes++;
    bool translated = t && translate(recording, profile, names, t);
    if (translated) add_rows(recording, profile, t);
    pthread_mutex_unlock(&recording->lock);
    if (t) rpp_free(t->ids);
    rpp_free(t);
    return translated ? RPP_OK : RPP_NO_MEMORY;
}

void rpp_recording_read(rpp_recording *recording, void (*visit)(const rpp_recorded *recorded, void *context),
                        void *context)
{
    pthread_mutex_lock(&recording->lock);
    rpp_recorded recorded = {recording->profile, recording->names, recording->captures, recording->changes};
    visit(&recorded, context);
    pthread_mutex_unlock(&recording->lock);
}

/* Call it under the lock. */
static rpp_profile *replace_locked(rpp_recording *recording, rpp_profile *fresh)
{
    rpp_profile *taken = recording->profile;
    recording->profile = fresh;
    recording->captures = 0;
    recording->changes++;
    return taken;
}

rpp_profile *rpp_recording_take(rpp_recording *recording, const rpp_frame_names **names)
{
    rpp_profile *fresh = new_profile(recording->separate_rows);
    if (!fresh) return NULL;
    pthread_mutex_lock(&recording->lock);
    rpp_profile *taken = replace_locked(recording, fresh);
    *names = recording->names;
    pthread_mutex_unlock(&recording->lock);
    return taken;
}

rpp_status rpp_recording_clear_if(rpp_recording *recording, uint64_t changes)
{
    rpp_profile *unwanted = new_profile(recording->separate_rows);
    if (!unwanted) return RPP_NO_MEMORY;
    pthread_mutex_lock(&recording->lock);
    bool unchanged = recording->changes == changes;
    if (unchanged) unwanted = replace_locked(recording, unwanted);
    pthread_mutex_unlock(&recording->lock);
    rpp_profile_free(unwanted);
    return unchanged ? RPP_OK : RPP_BUSY;
}
