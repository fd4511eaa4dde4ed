/* string_table.h - maps strings to small ids, for the string table of one pprof.
 *
 * Id 0 is the empty string, as pprof requires. Ids are dense and in the order of first use. One arena holds the bytes.
 *
 * Threads    one at a time.
 * Ownership  the table copies strings.
 */
#ifndef RPP_STRING_TABLE_H
#define RPP_STRING_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/utf8.h"

typedef struct rpp_string_table rpp_string_table;

/* NULL if out of memory. */
rpp_string_table *rpp_string_table_new(void);
void rpp_string_table_free(rpp_string_table *table);

/* Copies a new string, made valid UTF-8 ('?' for each invalid byte) and cut to 65,535 bytes at a character boundary. */
RPP_NODISCARD rpp_status rpp_string_table_intern(rpp_string_table *table, const char *bytes, size_t length,
                                                 uint32_t *id);
uint32_t rpp_string_table_count(const rpp_string_table *table);
/* NUL-terminated; valid until the next intern. */
const char *rpp_string_table_get(const rpp_string_table *table, uint32_t id, size_t *length);

#endif
