/* call_objects.c - the objects that calls create: how many, by the node that creates them, their class, and the code
 * and line. */
#include "calls/call_objects.h"

#include "base/alloc.h"
#include "base/hash_index.h"

struct rpp_call_objects {
    rpp_call_object *kinds;
    uint32_t count, max;
    uint64_t unattributed;
    rpp_hash_index index;
};

rpp_call_objects *rpp_call_objects_new(uint32_t max)
{
    rpp_call_objects *objects = rpp_calloc(1, sizeof *objects);
    if (!objects) return NULL;
    objects->max = max;
    objects->kinds = rpp_reserve(max, sizeof *objects->kinds);
    if (objects->kinds && rpp_hash_index_reserve(&objects->index, max) == RPP_OK) return objects;
    rpp_call_objects_free(objects);
    return NULL;
}

void rpp_call_objects_free(rpp_call_objects *objects)
{
    if (!objects) return;
    rpp_hash_index_destroy(&objects->index);
    rpp_unreserve(objects->kinds, objects->max, sizeof *objects->kinds);
    rpp_free(objects);
}

static bool is_kind(const void *table, uint32_t id, const void *key)
{
    const rpp_call_object *known = &((const rpp_call_objects *)table)->kinds[id], *wanted = key;
    return known->klass == wanted->klass && known->code == wanted->code && known->node == wanted->node &&
           known->line == wanted->line;
}

void rpp_call_objects_add(rpp_call_objects *objects, const rpp_call_object *kind, uint64_t bytes)
{
    uint32_t hash = rpp_hash_words(kind->klass ^ kind->code << 1, (uint64_t)kind->node << 32 | kind->line);
    uint32_t id = rpp_hash_index_find(&objects->index, hash, is_kind, objects, kind);
    if (id == RPP_INDEX_NONE && objects->count == objects->max) {
        objects->unattributed++;
        return;
    }
    if (id == RPP_INDEX_NONE) {
        id = objects->count++;
        objects->kinds[id] =
            (rpp_call_object){.klass = kind->klass, .code = kind->code, .node = kind->node, .line = kind->line};
        rpp_hash_index_add(&objects->index, hash, id);
    }
    objects->kinds[id].count++;
    objects->kinds[id].bytes += bytes;
}

uint32_t rpp_call_objects_count(const rpp_call_objects *objects)
{
    return objects->count;
}

const rpp_call_object *rpp_call_objects_at(const rpp_call_objects *objects, uint32_t index)
{
    return &objects->kinds[index];
}

uint64_t rpp_call_objects_unattributed(const rpp_call_objects *objects)
{
    return objects->unattributed;
}
