/* label_sets.h - label sets: immutable lists of key and value, and the table of those seen in one window.
 *
 * A set is shared by the fibers, samples and windows that refer to it and goes when the last lets go. Two sets with the same
 * pairs in any order are equal. Keys are unique within a set; pairs are kept sorted by key.
 *
 * Threads    retain is async-signal-safe, release frees and is not. Sets may be shared by threads; a table belongs to one.
 * Ownership  merge returns a reference of the caller's own. NULL is the empty set everywhere.
 */
#ifndef RPP_LABEL_SETS_H
#define RPP_LABEL_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define RPP_LABEL_VALUE_MAX 200
#define RPP_LABEL_KEY_MAX   200

typedef struct rpp_label {
    const char *key, *value;
    uint32_t key_length, value_length;
} rpp_label;

typedef struct rpp_label_set rpp_label_set;

/* `base` with `changes` laid over it; a change whose value is NULL removes its key; of a key twice in `changes` the last
 * holds. Bytes are copied, made valid UTF-8, and cut to 200 bytes at a character. *set is NULL when nothing remains.
 * RPP_LIMIT: more than 64 pairs. */
RPP_NODISCARD rpp_status rpp_label_set_merge(const rpp_label_set *base, const rpp_label *changes, size_t count,
                                             rpp_label_set **set);
rpp_label_set *rpp_label_set_retain(rpp_label_set *set);
void rpp_label_set_release(rpp_label_set *set);
size_t rpp_label_set_count(const rpp_label_set *set);
rpp_label rpp_label_set_at(const rpp_label_set *set, size_t index);
bool rpp_label_set_equal(const rpp_label_set *a, const rpp_label_set *b);

typedef struct rpp_label_sets rpp_label_sets;

/* At most `max_sets` sets besides the empty one, whose id is 0. NULL when out of memory. */
rpp_label_sets *rpp_label_sets_new(uint32_t max_sets);
void rpp_label_sets_free(rpp_label_sets *sets);
/* Retains the set on first sight. RPP_LIMIT: the table is full. */
RPP_NODISCARD rpp_status rpp_label_sets_intern(rpp_label_sets *sets, rpp_label_set *set, uint32_t *id);
/* The set of an id; NULL for 0. */
const rpp_label_set *rpp_label_sets_get(const rpp_label_sets *sets, uint32_t id);
/* Ids in use, 0 counted. */
uint32_t rpp_label_sets_count(const rpp_label_sets *sets);

#endif
