/* pprof_index.h - the numbering pass: finds the locations, functions and texts that rows need, and gives them pprof
 * ids.
 *
 * Ids run 1..N in the order in which the rows use them, leaf first. Each frame is looked up once, so that a name which
 * arrives in between cannot make the writing pass differ from this one.
 *
 * Threads    one at a time; it only reads the profile and the frame names.
 * Ownership  the profile must outlive the index.
 */
#ifndef RPP_PPROF_INDEX_H
#define RPP_PPROF_INDEX_H

#include "encoding/encoder.h"
#include "encoding/pprof_labels.h"
#include "encoding/string_table.h"
#include "profile/profile.h"
#include "profile/value_columns.h"
#include "sampling/frame_names.h"

#define RPP_PPROF_HIDDEN UINT32_MAX

typedef struct rpp_pprof_function {
    const rpp_frame_name *frame;
    uint32_t name, path; /* ids in the string table */
} rpp_pprof_function;

typedef struct rpp_pprof_location {
    uint32_t function; /* its id */
    uint32_t line;
} rpp_pprof_location;

/* A struct of all zeros is empty and may be destroyed. */
typedef struct rpp_pprof_index {
    const rpp_profile *profile;
    const rpp_row *rows; /* all of them */
    size_t first, count; /* the encoded rows */
    rpp_string_table *strings;
    uint32_t period_type, period_unit, mapping_file, doc_url; /* places in the string table; 0: none */
    uint32_t value_types[RPP_ENCODE_MAX_VALUES], value_units[RPP_ENCODE_MAX_VALUES];
    rpp_column columns[RPP_COLUMNS_MAX]; /* the values of the rows, if they are not replaced */
    size_t value_count;
    uint32_t *comments;
    size_t comment_count;
    rpp_pprof_labels labels;
    uint32_t *location_ids; /* the stack table's id -> the pprof's id; 0: unused, or RPP_PPROF_HIDDEN */
    uint32_t synthetic_ids[RPP_FRAME_FIRST]; /* likewise, of the frames that are not methods */
    rpp_pprof_location *locations;           /* id - 1 -> location */
    size_t location_count, location_capacity;
    rpp_pprof_function *functions; /* id - 1 -> function */
    size_t function_count, function_capacity;
    uint32_t deepest; /* frames of the deepest stack, including hidden ones */
} rpp_pprof_index;

/* Destroy it even on failure. */
RPP_NODISCARD rpp_status rpp_pprof_index_init(rpp_pprof_index *index, const rpp_profile *profile, size_t first,
                                              size_t count, const rpp_frame_names *names,
                                              const rpp_encode_options *options);
void rpp_pprof_index_destroy(rpp_pprof_index *index);

/* Returns the number of a row's values, and the values. */
size_t rpp_pprof_values_of(const rpp_pprof_index *index, const rpp_encode_options *options, size_t row,
                           int64_t values[RPP_ENCODE_MAX_VALUES]);
/* The label set of a row: its own, or the caller's. */
uint32_t rpp_pprof_set_of(const rpp_encode_options *options, const rpp_row *rows, size_t row);
/* True if one of these values is not zero. */
bool rpp_pprof_shows(const rpp_encode_options *options, const rpp_row *rows, size_t row);

#endif
