/* label_sets.h - label sets: immutable lists of key and value, and the table of those seen in one window.
 *
 * A set is shared by the fibers, samples and windows that refer to it and goes when the last lets go. Two sets with the same
 * pairs in any order, of the same request or of none, are equal. Keys are unique within a set; pairs are kept sorted by key.
 *
 * Where outcomes are wanted, a request has sets of its own: they refer to its outcome (outcome.h), and so does what is merged from
 * them. A settled set has the outcome as labels instead.
 *
 * Threads    retain is async-signal-safe, has_no_route and sent_at too; release frees and is not. Sets may be shared by threads; a table belongs to one.
 * Ownership  merge returns a reference of the caller's own. NULL is the empty set everywhere.
 */
#ifndef RPP_LABEL_SETS_H
#define RPP_LABEL_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/label_caps.h"
#include "base/status.h"
#include "sampling/outcome.h"

#define RPP_LABEL_NO_ROUTE "unrouted"

typedef struct rpp_label {
    const char *key, *value;
    uint32_t key_length, value_length;
} rpp_label;

typedef struct rpp_label_set rpp_label_set;

/* `base` with `changes` laid over it; a change whose value is NULL removes its key; of a key twice in `changes` the last
 * holds. Bytes are copied, made valid UTF-8, and cut to 200 bytes at a character. *set is NULL when nothing remains.
 * A set has 64 pairs at the most: what goes beyond is left out, and counted. */
RPP_NODISCARD rpp_status rpp_label_set_merge(const rpp_label_set *base, const rpp_label *changes, size_t count,
                                             rpp_label_set **set);
rpp_label_set *rpp_label_set_retain(rpp_label_set *set);
void rpp_label_set_release(rpp_label_set *set);
size_t rpp_label_set_count(const rpp_label_set *set);
rpp_label rpp_label_set_at(const rpp_label_set *set, size_t index);
/* The value of this key was made from what a client asked for. None: it led nowhere, and is sent as RPP_LABEL_NO_ROUTE; otherwise not, or
 * not any more. Sets that are merged from this one after the first call and have the same value know it, too, and their calls are this set's. */
void rpp_label_set_has_no_route(rpp_label_set *set, const char *key, size_t key_length, bool none);
/* As rpp_label_set_at, with the value that is sent. */
rpp_label rpp_label_set_sent_at(const rpp_label_set *set, size_t index);
bool rpp_label_set_equal(const rpp_label_set *a, const rpp_label_set *b);
/* False if there is no such key. The label is as rpp_label_set_sent_at has it. */
bool rpp_label_set_find(const rpp_label_set *set, const char *key, size_t key_length, rpp_label *label);

/* The same pairs, with this outcome. The set retains it. */
RPP_NODISCARD rpp_status rpp_label_set_with_outcome(const rpp_label_set *base, rpp_outcome *outcome,
                                                    rpp_label_set **set);
/* Borrowed; NULL: none. */
rpp_outcome *rpp_label_set_outcome(const rpp_label_set *set);
/* The pairs that are sent, with what is known by now of the set's outcome, if it has one. A label of the program goes before one of ours. */
RPP_NODISCARD rpp_status rpp_label_set_settled(const rpp_label_set *set, rpp_label_set **settled);

typedef struct rpp_label_sets rpp_label_sets;

/* At most `max_sets` sets besides the empty one, whose id is 0; RPP_OUTCOME_SETS_MAX of them have an outcome, further ones lose
 * theirs (samples_without_outcome), not what becomes known of their route. NULL when out of memory. */
rpp_label_sets *rpp_label_sets_new(uint32_t max_sets);
void rpp_label_sets_free(rpp_label_sets *sets);
/* Retains the set on first sight. RPP_LIMIT: the table is full. */
RPP_NODISCARD rpp_status rpp_label_sets_intern(rpp_label_sets *sets, rpp_label_set *set, uint32_t *id);
/* The set of an id; NULL for 0. */
const rpp_label_set *rpp_label_sets_get(const rpp_label_sets *sets, uint32_t id);
/* Ids in use, 0 counted. */
uint32_t rpp_label_sets_count(const rpp_label_sets *sets);
/* True if a set has an outcome. */
bool rpp_label_sets_have_outcomes(const rpp_label_sets *sets);
/* A table of the same sets, settled; ids[id] is the new id of a set. NULL if out of memory. */
rpp_label_sets *rpp_label_sets_settled(const rpp_label_sets *sets, uint32_t *ids);

#endif
