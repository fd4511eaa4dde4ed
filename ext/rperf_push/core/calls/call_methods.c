/* call_methods.c - the methods of a call tree: three words identify one, and it gets a small id. */
#include "calls/call_methods.h"

#include "base/alloc.h"
#include "base/hash_index.h"

struct rpp_call_methods {
    rpp_call_key *keys; /* by id */
    uint32_t end, max_end;
    bool is_full;
    rpp_hash_index index;
};

rpp_call_methods *rpp_call_methods_new(uint32_t max)
{
    rpp_call_methods *methods = rpp_calloc(1, sizeof *methods);
    if (!methods) return NULL;
    methods->max_end = max + 1;
    methods->end = RPP_CALL_OTHER + 1;
    methods->keys = rpp_reserve(methods->max_end, sizeof *methods->keys);
    if (methods->keys && rpp_hash_index_reserve(&methods->index, max) == RPP_OK) return methods;
    rpp_call_methods_free(methods);
    return NULL;
}

void rpp_call_methods_free(rpp_call_methods *methods)
{
    if (!methods) return;
    rpp_hash_index_destroy(&methods->index);
    rpp_unreserve(methods->keys, methods->max_end, sizeof *methods->keys);
    rpp_free(methods);
}

static bool is_key(const void *table, uint32_t id, const void *key)
{
    const rpp_call_key *known = &((const rpp_call_methods *)table)->keys[id], *wanted = key;
    return known->code == wanted->code && known->name == wanted->name && known->owner == wanted->owner;
}

uint32_t rpp_call_methods_intern(rpp_call_methods *methods, rpp_call_key key, bool *is_new)
{
    uint32_t hash = rpp_hash_words(key.code ^ key.owner << 1, key.name);
    uint32_t id = rpp_hash_index_find(&methods->index, hash, is_key, methods, &key);
    *is_new = id == RPP_INDEX_NONE && methods->end < methods->max_end;
    if (id != RPP_INDEX_NONE) return id;
    if (!*is_new) {
        methods->is_full = true;
        return RPP_CALL_OTHER;
    }
    id = methods->end++;
    methods->keys[id] = key;
    rpp_hash_index_add(&methods->index, hash, id);
    return id;
}

uint32_t rpp_call_methods_end(const rpp_call_methods *methods)
{
    return methods->end;
}

bool rpp_call_methods_is_full(const rpp_call_methods *methods)
{
    return methods->is_full;
}

rpp_call_key rpp_call_methods_key(const rpp_call_methods *methods, uint32_t id)
{
    return methods->keys[id];
}
