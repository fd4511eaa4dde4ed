/* label_sets.h - label sets: immutable lists of keys and values, and the table of the sets of one window.
 *
 * Fibers, samples and windows share a set and count their references to it. Two sets are equal if they have the same
 * pairs in any order, and the same request or none. Keys are unique within a set, and pairs are sorted by key.
 *
 * If the settings ask for outcomes, each request has its own sets: they refer to its outcome (outcome.h), and so do the
 * sets that are merged from them. A resolved set has the outcome as labels instead.
 *
 * Threads    any thread may use a set; a table has one user at a time. retain, has_no_route and sent_at are
 *            async-signal-safe; release is not, because it frees.
 * Ownership  merge returns a reference that the caller owns. NULL is the empty set everywhere.
 */
#ifndef RPP_LABEL_SETS_H
#define RPP_LABEL_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/label_caps.h"
#include "base/status.h"
#include "requests/outcome.h"

#define RPP_LABEL_NO_ROUTE "unrouted"

typedef struct rpp_label {
    const char *key, *value;
    uint32_t key_length, value_length;
} rpp_label;

typedef struct rpp_label_set rpp_label_set;

/* Applies `changes` to `base`. A change whose value is NULL removes its key; if a key occurs twice, the last change
 * counts. Copies the bytes, makes them valid UTF-8, and cuts them to 200 bytes between characters. *set is NULL if no
 * pair remains. Pairs beyond RPP_LABELS_OF_A_FIBER_MAX are left out, and counted. */
RPP_NODISCARD rpp_status rpp_label_set_merge(const rpp_label_set *base, const rpp_label *changes, size_t count,
                                             rpp_label_set **set);
rpp_label_set *rpp_label_set_retain(rpp_label_set *set);
void rpp_label_set_release(rpp_label_set *set);
/* The era of sessions in which it was set: afterwards it says nothing. Before others see it. */
void rpp_label_set_begin_in(rpp_label_set *set, uint32_t era);
bool rpp_label_set_is_of(const rpp_label_set *set, uint32_t era);
size_t rpp_label_set_count(const rpp_label_set *set);
rpp_label rpp_label_set_at(const rpp_label_set *set, size_t index);
/* The value of this key comes from what a client asked for. `none`: no route matched, so the value is sent as
 * RPP_LABEL_NO_ROUTE. False undoes this. Sets that are merged from this one after the first call and have the same
 * value share the answer: a call for one is a call for all. */
void rpp_label_set_has_no_route(rpp_label_set *set, const char *key, size_t key_length, bool none);
/* Like rpp_label_set_at, but with the value that is sent. */
rpp_label rpp_label_set_sent_at(const rpp_label_set *set, size_t index);
bool rpp_label_set_equal(const rpp_label_set *a, const rpp_label_set *b);
/* Finds a label by its key, with the value that is sent. False: there is no such key. */
bool rpp_label_set_find(const rpp_label_set *set, const char *key, size_t key_length, rpp_label *label);

/* A set with the same pairs and this outcome, which it retains. */
RPP_NODISCARD rpp_status rpp_label_set_with_outcome(const rpp_label_set *base, rpp_outcome *outcome,
                                                    rpp_label_set **set);
/* The set keeps its reference. NULL: it has none. */
rpp_outcome *rpp_label_set_outcome(const rpp_label_set *set);
/* A set with the values that are sent, and the outcome so far as labels, if it has one. If the program has set a label
 * of the same name, that one stays. */
RPP_NODISCARD rpp_status rpp_label_set_resolved(const rpp_label_set *set, rpp_label_set **resolved);

typedef struct rpp_label_sets rpp_label_sets;

/* At most `max_sets` sets and the empty one, whose id is 0. At most RPP_OUTCOME_SETS_MAX of them have an outcome;
 * further ones lose theirs (samples_without_outcome), but not their route. NULL if out of memory. */
rpp_label_sets *rpp_label_sets_new(uint32_t max_sets);
void rpp_label_sets_free(rpp_label_sets *sets);
/* Retains the set if it is new. RPP_LIMIT: the table is full. */
RPP_NODISCARD rpp_status rpp_label_sets_intern(rpp_label_sets *sets, rpp_label_set *set, uint32_t *id);
/* The set of an id; NULL for 0. */
const rpp_label_set *rpp_label_sets_get(const rpp_label_sets *sets, uint32_t id);
/* The number of ids in use, including 0. */
uint32_t rpp_label_sets_count(const rpp_label_sets *sets);
/* The same, for what was sampled when the request was over: without the outcome. */
RPP_NODISCARD rpp_status rpp_label_sets_intern_after_request(rpp_label_sets *sets, rpp_label_set *set, uint32_t *id);
/* True if a set has an outcome. */
bool rpp_label_sets_have_outcomes(const rpp_label_sets *sets);
/* A new table of the same sets, resolved; ids[id] is the new id of a set. NULL if out of memory. */
rpp_label_sets *rpp_label_sets_resolved(const rpp_label_sets *sets, uint32_t *ids);

#endif
