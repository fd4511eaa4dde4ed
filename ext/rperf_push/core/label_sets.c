/* label_sets.c - label sets: immutable lists of key and value, and the table of those seen in one window. */
#include "label_sets.h"

#include <stdatomic.h>
#include <string.h>

#include "alloc.h"
#include "hash_index.h"
#include "utf8.h"

#define MAX_PAIRS 64

/* One block: this, the pairs, then the bytes that they point to, each text with a NUL behind it. */
struct rpp_label_set {
    atomic_uint references;
    uint32_t hash;
    uint32_t count;
    rpp_label pairs[];
};

/* --- one set --- */

static int compare_keys(const rpp_label *a, const rpp_label *b)
{
    uint32_t shorter = a->key_length < b->key_length ? a->key_length : b->key_length;
    int order = memcmp(a->key, b->key, shorter);
    if (order) return order;
    return (a->key_length > b->key_length) - (a->key_length < b->key_length);
}

/* Where the key stands in the sorted pairs, or where it would go. */
static size_t position_of(const rpp_label *pairs, size_t count, const rpp_label *wanted, bool *found)
{
    size_t low = 0, high = count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_keys(&pairs[middle], wanted);
        if (!order) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Lays one change over the sorted pairs; there is room for one more. */
static size_t lay_over(rpp_label *pairs, size_t count, rpp_label change)
{
    bool found;
    size_t at = position_of(pairs, count, &change, &found);
    size_t behind = (count - at) * sizeof *pairs;
    if (found && change.value) {
        pairs[at] = change;
    } else if (found) {
        memmove(&pairs[at], &pairs[at + 1], behind - sizeof *pairs);
        count--;
    } else if (change.value) {
        memmove(&pairs[at + 1], &pairs[at], behind);
        pairs[at] = change;
        count++;
    }
    return count;
}

static size_t cut(size_t length, size_t max)
{
    return length < max ? length : max;
}

static rpp_label_set *build(const rpp_label *pairs, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += (size_t)pairs[i].key_length + pairs[i].value_length + 2;
    rpp_label_set *set = rpp_malloc(sizeof *set + count * sizeof *pairs + bytes);
    if (!set) return NULL;

    atomic_init(&set->references, 1);
    set->count = (uint32_t)count;
    set->hash = 0;
    char *to = (char *)&set->pairs[count];
    for (size_t i = 0; i < count; i++) {
        rpp_label from = pairs[i];
        set->pairs[i] = from;
        set->pairs[i].key = memcpy(to, from.key, from.key_length);
        to += from.key_length;
        *to++ = '\0';
        set->pairs[i].value = from.value_length ? memcpy(to, from.value, from.value_length) : to;
        to += from.value_length;
        *to++ = '\0';
        uint32_t key_hash = rpp_hash_bytes(from.key, from.key_length);
        uint32_t value_hash = rpp_hash_bytes(from.value, from.value_length);
        set->hash = rpp_hash_words(set->hash, (uint64_t)key_hash << 32 | value_hash);
    }
    return set;
}

rpp_status rpp_label_set_merge(const rpp_label_set *base, const rpp_label *changes, size_t count, rpp_label_set **set)
{
    /* Usual changes, one or two short pairs, need no allocation but the set's own. */
    rpp_label few[MAX_PAIRS];
    char little[1024];
    rpp_label *pairs = few;
    char *bytes = little;
    rpp_status status = RPP_NO_MEMORY;

    size_t kept = base ? base->count : 0, room = kept + count, size = 0;
    for (size_t i = 0; i < count; i++) {
        size += cut(changes[i].key_length, RPP_LABEL_KEY_MAX);
        if (changes[i].value) size += cut(changes[i].value_length, RPP_LABEL_VALUE_MAX);
    }
    if (room > MAX_PAIRS) {
        pairs = rpp_calloc(room, sizeof *pairs);
        if (!pairs) goto done;
    }
    if (size > sizeof little) {
        bytes = rpp_malloc(size);
        if (!bytes) goto done;
    }

    if (kept) memcpy(pairs, base->pairs, kept * sizeof *pairs);
    char *to = bytes;
    for (size_t i = 0; i < count; i++) {
        rpp_label change = {.key = to, .value = NULL};
        size_t length = rpp_utf8_copy(to, RPP_LABEL_KEY_MAX, changes[i].key, changes[i].key_length);
        change.key_length = (uint32_t)length;
        to += length;
        if (changes[i].value) {
            length = rpp_utf8_copy(to, RPP_LABEL_VALUE_MAX, changes[i].value, changes[i].value_length);
            change.value = to;
            change.value_length = (uint32_t)length;
            to += length;
        }
        kept = lay_over(pairs, kept, change);
    }

    if (kept > MAX_PAIRS) {
        status = RPP_LIMIT;
        goto done;
    }
    rpp_label_set *merged = kept ? build(pairs, kept) : NULL;
    if (kept && !merged) goto done;
    *set = merged;
    status = RPP_OK;

done:
    if (pairs != few) rpp_free(pairs);
    if (bytes != little) rpp_free(bytes);
    return status;
}

rpp_label_set *rpp_label_set_retain(rpp_label_set *set)
{
    if (set) atomic_fetch_add_explicit(&set->references, 1, memory_order_relaxed);
    return set;
}

void rpp_label_set_release(rpp_label_set *set)
{
    /* acq_rel: whoever frees has seen all that the others did with the set. */
    if (set && atomic_fetch_sub_explicit(&set->references, 1, memory_order_acq_rel) == 1) rpp_free(set);
}

size_t rpp_label_set_count(const rpp_label_set *set)
{
    return set ? set->count : 0;
}

rpp_label rpp_label_set_at(const rpp_label_set *set, size_t index)
{
    return set->pairs[index];
}

bool rpp_label_set_equal(const rpp_label_set *a, const rpp_label_set *b)
{
    if (a == b) return true;
    if (!a || !b || a->hash != b->hash || a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const rpp_label *one = &a->pairs[i], *other = &b->pairs[i];
        if (one->key_length != other->key_length || one->value_length != other->value_length) return false;
        if (memcmp(one->key, other->key, one->key_length) != 0) return false;
        if (memcmp(one->value, other->value, one->value_length) != 0) return false;
    }
    return true;
}

/* --- the table of a window --- */

struct rpp_label_sets {
    rpp_label_set **sets; /* by id; the first is NULL, the empty set */
    size_t count, capacity, max_count;
    rpp_hash_index index;
};

rpp_label_sets *rpp_label_sets_new(uint32_t max_sets)
{
    rpp_label_sets *sets = rpp_calloc(1, sizeof *sets);
    if (!sets) return NULL;
    sets->max_count = (size_t)max_sets + 1;
    if (rpp_grow((void **)&sets->sets, &sets->capacity, 1, sizeof(rpp_label_set *)) != RPP_OK) {
        rpp_free(sets);
        return NULL;
    }
    sets->sets[0] = NULL;
    sets->count = 1;
    return sets;
}

void rpp_label_sets_free(rpp_label_sets *sets)
{
    if (!sets) return;
    for (size_t id = 1; id < sets->count; id++) rpp_label_set_release(sets->sets[id]);
    rpp_hash_index_destroy(&sets->index);
    rpp_free(sets->sets);
    rpp_free(sets);
}

static bool is_set(const void *table, uint32_t id, const void *key)
{
    return rpp_label_set_equal(((const rpp_label_sets *)table)->sets[id], key);
}

rpp_status rpp_label_sets_intern(rpp_label_sets *sets, rpp_label_set *set, uint32_t *id)
{
    if (!set) {
        *id = 0;
        return RPP_OK;
    }
    uint32_t known = rpp_hash_index_find(&sets->index, set->hash, is_set, sets, set);
    if (known != RPP_INDEX_NONE) {
        *id = known;
        return RPP_OK;
    }
    if (sets->count == sets->max_count) return RPP_LIMIT;
    if (rpp_hash_index_reserve(&sets->index, 1) != RPP_OK) return RPP_NO_MEMORY;
    if (rpp_grow((void **)&sets->sets, &sets->capacity, sets->count + 1, sizeof(rpp_label_set *)) != RPP_OK) {
        return RPP_NO_MEMORY;
    }
    *id = (uint32_t)sets->count;
    rpp_hash_index_add(&sets->index, set->hash, *id);
    sets->sets[sets->count++] = rpp_label_set_retain(set);
    return RPP_OK;
}

const rpp_label_set *rpp_label_sets_get(const rpp_label_sets *sets, uint32_t id)
{
    return sets->sets[id];
}

uint32_t rpp_label_sets_count(const rpp_label_sets *sets)
{
    return (uint32_t)sets->count;
}
