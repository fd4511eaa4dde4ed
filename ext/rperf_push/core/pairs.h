/* pairs.h - lists of names and values, and reading them from text.
 *
 * Ownership  a list owns its strings.
 */
#ifndef RPP_PAIRS_H
#define RPP_PAIRS_H

#include "settings.h"

void rpp_pairs_destroy(rpp_pairs *pairs);
/* A key that is there keeps its place and gets the new value. value may be NULL. */
RPP_NODISCARD rpp_status rpp_pairs_put(rpp_pairs *pairs, const char *key, size_t key_length, const char *value,
                                       size_t value_length);

/* Adds what "k=v,k=v" holds, or a flat JSON object of strings when it starts with '{'. Spaces around names and values
 * do not count. RPP_INVALID: it is neither; *pairs then holds some of it. */
RPP_NODISCARD rpp_status rpp_pairs_parse(rpp_pairs *pairs, const char *text);
/* Adds what "a,b" holds, without values. */
RPP_NODISCARD rpp_status rpp_pairs_parse_list(rpp_pairs *pairs, const char *text);

#endif
