/* label_sets.c - label sets: immutable lists of keys and values, and the table of the sets of one window. */
#include "sampling/label_sets.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash_index.h"
#include "base/stats.h"
#include "base/utf8.h"

/* One block of memory: this struct, the pairs, then the texts that they point to, each with a NUL at its end. */
struct rpp_label_set {
    atomic_uint references;
    atomic_uint route;     /* twice (1 + the pair whose value was asked for), and 1 if it led nowhere; 0: of no pair */
    rpp_outcome *outcome;  /* a reference; NULL: of no request whose end is awaited */
    rpp_label_set *source; /* a reference: its route is this set's too, also if it is known later; NULL: none */
    uint32_t hash;
    uint32_t count;
    uint32_t era;
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

/* The index of the key in the sorted pairs, or the index where it belongs. */
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

/* Applies one change to the sorted pairs. The array has room for one more. */
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

/* Pairs of the base stay; of the new ones, the last by key are dropped. */
static size_t drop_excess(rpp_label *pairs, size_t count, const rpp_label_set *base)
{
    if (count > RPP_LABELS_OF_A_FIBER_MAX) rpp_stats_add(RPP_STAT_labels_dropped, count - RPP_LABELS_OF_A_FIBER_MAX);
    for (size_t at = count; count > RPP_LABELS_OF_A_FIBER_MAX && at-- > 0;) {
        bool was_there = false;
        if (base) position_of(base->pairs, base->count, &pairs[at], &was_there);
        if (!was_there)
            count = lay_over(pairs, count, (rpp_label){.key = pairs[at].key, .key_length = pairs[at].key_length});
    }
    return count;
}

static size_t cut(size_t length, size_t max)
{
    return length < max ? length : max;
}

static rpp_label_set *build(const rpp_label *pairs, size_t count, rpp_outcome *outcome)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += (size_t)pairs[i].key_length + pairs[i].value_length + 2;
    rpp_label_set *set = rpp_malloc(sizeof *set + count * sizeof *pairs + bytes);
    if (!set) return NULL;

    atomic_init(&set->references, 1);
    atomic_init(&set->route, 0);
    set->outcome = rpp_outcome_retain(outcome);
    set->source = NULL;
    set->era = 0;
    set->count = (uint32_t)count;
    set->hash = outcome ? rpp_hash_bytes(&outcome, sizeof outcome) : 0;
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

static bool find_key(const rpp_label_set *set, const char *key, size_t key_length, size_t *at)
{
    bool found = false;
    const rpp_label wanted = {.key = key, .key_length = (uint32_t)key_length};
    if (set) *at = position_of(set->pairs, set->count, &wanted, &found);
    return found;
}

static bool same_pair(const rpp_label *one, const rpp_label *other)
{
    if (one->key_length != other->key_length || one->value_length != other->value_length) return false;
    return memcmp(one->key, other->key, one->key_length) == 0 &&
           memcmp(one->value, other->value, one->value_length) == 0;
}

static bool has_pair(const rpp_label_set *set, const rpp_label *label)
{
    size_t at = 0;
    return find_key(set, label->key, label->key_length, &at) && same_pair(&set->pairs[at], label);
}

/* The nearest set that knows, or will, where a value that the new set has led to. Others are let go: a thread may serve
 * request after request with labels that it inherited. */
static rpp_label_set *source_for(const rpp_label_set *set, const rpp_label_set *base)
{
    for (; base; base = base->source) {
        unsigned route = atomic_load_explicit(&base->route, memory_order_relaxed);
        if (route && has_pair(set, &base->pairs[(route >> 1) - 1])) break;
    }
    return rpp_label_set_retain((rpp_label_set *)base);
}

rpp_status rpp_label_set_merge(const rpp_label_set *base, const rpp_label *changes, size_t count, rpp_label_set **set)
{
    /* A usual change, one or two short pairs, allocates only the set. */
    rpp_label few[RPP_LABELS_OF_A_FIBER_MAX];
    char little[1024];
    rpp_label *pairs = few;
    char *bytes = little;
    rpp_status status = RPP_NO_MEMORY;

    size_t kept = base ? base->count : 0, room = kept + count, size = 0;
    for (size_t i = 0; i < count; i++) {
        size += cut(changes[i].key_length, RPP_LABEL_KEY_MAX);
        if (changes[i].value) size += cut(changes[i].value_length, RPP_LABEL_VALUE_MAX);
    }
    if (room > RPP_LABELS_OF_A_FIBER_MAX) {
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

    kept = drop_excess(pairs, kept, base);
    bool is_empty = !kept && !rpp_label_set_outcome(base);
    rpp_label_set *merged = is_empty ? NULL : build(pairs, kept, rpp_label_set_outcome(base));
    if (!is_empty && !merged) goto done;
    if (merged) merged->source = source_for(merged, base);
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
    /* acq_rel: the thread that frees sees everything that others did with the set. */
    while (set && atomic_fetch_sub_explicit(&set->references, 1, memory_order_acq_rel) == 1) {
        rpp_label_set *source = set->source;
        rpp_outcome_release(set->outcome);
        rpp_free(set);
        set = source;
    }
}

void rpp_label_set_begin_in(rpp_label_set *set, uint32_t era)
{
    set->era = era;
}

bool rpp_label_set_is_of(const rpp_label_set *set, uint32_t era)
{
    return set->era == era;
}

size_t rpp_label_set_count(const rpp_label_set *set)
{
    return set ? set->count : 0;
}

rpp_label rpp_label_set_at(const rpp_label_set *set, size_t index)
{
    return set->pairs[index];
}

/* The set that knows, or will, whether this label's value led somewhere; NULL: none. */
static rpp_label_set *knowing_route_of(const rpp_label_set *set, const rpp_label *label)
{
    for (; set; set = set->source) {
        unsigned route = atomic_load_explicit(&set->route, memory_order_relaxed);
        if (route && same_pair(&set->pairs[(route >> 1) - 1], label)) break;
    }
    return (rpp_label_set *)set;
}

void rpp_label_set_has_no_route(rpp_label_set *set, const char *key, size_t key_length, bool none)
{
    size_t at = 0;
    if (!find_key(set, key, key_length, &at)) return;
    rpp_label_set *knowing = knowing_route_of(set, &set->pairs[at]);
    if (!knowing) knowing = set;
    (void)find_key(knowing, key, key_length, &at);
    atomic_store_explicit(&knowing->route, (unsigned)(at + 1) << 1 | none, memory_order_relaxed);
}

rpp_label rpp_label_set_sent_at(const rpp_label_set *set, size_t index)
{
    rpp_label label = rpp_label_set_at(set, index);
    const rpp_label_set *knowing = knowing_route_of(set, &label);
    if (knowing && atomic_load_explicit(&knowing->route, memory_order_relaxed) & 1) {
        label.value = RPP_LABEL_NO_ROUTE;
        label.value_length = sizeof RPP_LABEL_NO_ROUTE - 1;
    }
    return label;
}

bool rpp_label_set_equal(const rpp_label_set *a, const rpp_label_set *b)
{
    if (a == b) return true;
    if (!a || !b || a->hash != b->hash || a->count != b->count || a->outcome != b->outcome) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (!same_pair(&a->pairs[i], &b->pairs[i])) return false;
    }
    return true;
}

bool rpp_label_set_find(const rpp_label_set *set, const char *key, size_t key_length, rpp_label *label)
{
    size_t at = 0;
    bool found = find_key(set, key, key_length, &at);
    if (found) *label = rpp_label_set_sent_at(set, at);
    return found;
}

/* --- outcomes --- */

rpp_status rpp_label_set_with_outcome(const rpp_label_set *base, rpp_outcome *outcome, rpp_label_set **set)
{
    rpp_label_set *copy = build(base ? base->pairs : NULL, rpp_label_set_count(base), outcome);
    if (!copy) return RPP_NO_MEMORY;
    copy->source = source_for(copy, base);
    *set = copy;
    return RPP_OK;
}

rpp_outcome *rpp_label_set_outcome(const rpp_label_set *set)
{
    return set ? set->outcome : NULL;
}

static size_t add_text(rpp_label *pairs, size_t count, const char *key, const char *value)
{
    if (value) pairs[count++] = (rpp_label){key, value, (uint32_t)strlen(key), (uint32_t)strlen(value)};
    return count;
}

rpp_status rpp_label_set_resolved(const rpp_label_set *set, rpp_label_set **resolved)
{
    rpp_label pairs[2 + RPP_LABELS_OF_A_FIBER_MAX];
    rpp_outcome_view known = set->outcome ? rpp_outcome_now(set->outcome) : (rpp_outcome_view){NULL, NULL};
    size_t count = add_text(pairs, 0, RPP_OUTCOME_STATUS_LABEL, known.status);
    count = add_text(pairs, count, RPP_OUTCOME_SLOW_LABEL, known.slow);
    for (size_t i = 0; i < set->count; i++) pairs[count++] = rpp_label_set_sent_at(set, i);
    return rpp_label_set_merge(NULL, pairs, count, resolved);
}

/* --- the table of a window --- */

struct rpp_label_sets {
    rpp_label_set **sets; /* by id; the first is NULL, the empty set */
    size_t count, capacity, max_count;
    size_t with_outcome; /* the number of sets that have one */
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

/* Only the end of a request tells whether it had a route. Of requests with the same labels, the first one decides: if
 * it still runs when the window is closed, its path is sent, whatever the others say. */
rpp_status rpp_label_sets_intern_after_request(rpp_label_sets *sets, rpp_label_set *set, uint32_t *id)
{
    rpp_label_set *plain = NULL;
    if (set->count) {
        plain = build(set->pairs, set->count, NULL);
        if (!plain) return RPP_NO_MEMORY;
        plain->source = rpp_label_set_retain(set);
    }
    rpp_status status = rpp_label_sets_intern(sets, plain, id);
    rpp_label_set_release(plain);
    return status;
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
    if (set->outcome && sets->with_outcome == RPP_OUTCOME_SETS_MAX) {
        rpp_stats_add(RPP_STAT_samples_without_outcome, 1);
        return rpp_label_sets_intern_after_request(sets, set, id);
    }
    if (sets->count == sets->max_count) return RPP_LIMIT;
    if (rpp_hash_index_reserve(&sets->index, 1) != RPP_OK) return RPP_NO_MEMORY;
    if (rpp_grow((void **)&sets->sets, &sets->capacity, sets->count + 1, sizeof(rpp_label_set *)) != RPP_OK) {
        return RPP_NO_MEMORY;
    }
    *id = (uint32_t)sets->count;
    rpp_hash_index_add(&sets->index, set->hash, *id);
    sets->sets[sets->count++] = rpp_label_set_retain(set);
    if (set->outcome) sets->with_outcome++;
    return RPP_OK;
}

bool rpp_label_sets_have_outcomes(const rpp_label_sets *sets)
{
    return sets->with_outcome > 0;
}

static rpp_status intern_resolved(rpp_label_sets *into, rpp_label_set *set, uint32_t *id)
{
    bool is_resolved = !set || (!set->outcome && !set->source);
    if (is_resolved) return rpp_label_sets_intern(into, set, id);
    rpp_label_set *resolved;
    rpp_status status = rpp_label_set_resolved(set, &resolved);
    if (status != RPP_OK) return status;
    status = rpp_label_sets_intern(into, resolved, id);
    rpp_label_set_release(resolved);
    return status;
}

rpp_label_sets *rpp_label_sets_resolved(const rpp_label_sets *sets, uint32_t *ids)
{
    rpp_label_sets *resolved = rpp_label_sets_new((uint32_t)sets->max_count - 1);
    rpp_status status = resolved ? RPP_OK : RPP_NO_MEMORY;
    for (size_t id = 0; id < sets->count && status == RPP_OK; id++) {
        status = intern_resolved(resolved, sets->sets[id], &ids[id]);
    }
    if (status == RPP_OK) return resolved;
    rpp_label_sets_free(resolved);
    return NULL;
}

const rpp_label_set *rpp_label_sets_get(const rpp_label_sets *sets, uint32_t id)
{
    return sets->sets[id];
}

uint32_t rpp_label_sets_count(const rpp_label_sets *sets)
{
    return (uint32_t)sets->count;
}
