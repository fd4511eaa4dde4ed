/* pairs.h - lists of names and values, and parsing them from text.
 *
 * Threads    one at a time.
 * Ownership  a list owns its strings.
 */
#ifndef RPP_PAIRS_H
#define RPP_PAIRS_H

#include <stddef.h>

#include "base/status.h"

typedef struct rpp_pair {
    char *key, *value; /* value is NULL in lists (label_deny) */
} rpp_pair;

/* Pairs keep the order of insertion; keys are unique. */
typedef struct rpp_pairs {
    rpp_pair *items;
    size_t count, capacity;
} rpp_pairs;

void rpp_pairs_destroy(rpp_pairs *pairs);

/* NULL if the key is absent. */
const char *rpp_pairs_get(const rpp_pairs *pairs, const char *key);
/* An existing key keeps its place and gets the new value. The value may be NULL. */
RPP_NODISCARD rpp_status rpp_pairs_put(rpp_pairs *pairs, const char *key, size_t key_length, const char *value,
                                       size_t value_length);

/* Adds the pairs of "k=v,k=v", or of a flat JSON object of strings if the text begins with '{'. Ignores spaces around
 * names and values. RPP_INVALID: the text is neither; *pairs then holds some of it. */
RPP_NODISCARD rpp_status rpp_pairs_parse(rpp_pairs *pairs, const char *text);
/* Adds the names of "a,b", without values. */
RPP_NODISCARD rpp_status rpp_pairs_parse_list(rpp_pairs *pairs, const char *text);

#endif
