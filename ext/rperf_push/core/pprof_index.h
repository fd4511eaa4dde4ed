/* pprof_index.h - the numbering pass: which locations, functions and texts some rows need, and their ids in the pprof.
 *
 * Ids run 1..N in the order in which the rows use them, leaf first. Each frame is looked up once, so that a name which
 * arrives meanwhile cannot make the writing pass disagree with this one.
 *
 * Threads    one at a time; reads the profile and the frame names only.
 * Ownership  the profile must outlive the index.
 */
#ifndef RPP_PPROF_INDEX_H
#define RPP_PPROF_INDEX_H

#include "frame_names.h"
#include "pprof_encoder.h"
#include "pprof_labels.h"
#include "profile.h"
#include "string_table.h"

#define RPP_PPROF_HIDDEN UINT32_MAX

typedef struct rpp_pprof_function {
    const rpp_frame_name *frame;
    uint32_t name, path; /* places in the string table */
} rpp_pprof_function;

typedef struct rpp_pprof_location {
    uint32_t function; /* its id */
    uint32_t line;
} rpp_pprof_location;

/* All zero is empty and may be destroyed. */
typedef struct rpp_pprof_index {
    const rpp_profile *profile;
    size_t first, count; /* the rows */
    rpp_string_table *strings;
    uint32_t cpu, wall, nanoseconds, mapping_file, doc_url; /* places in the string table; 0: none */
    uint32_t *comments;
    size_t comment_count;
    rpp_pprof_labels labels;
    uint32_t *location_ids; /* the stack table's id -> the pprof's; 0 when not used, or RPP_PPROF_HIDDEN */
    uint32_t synthetic_ids[RPP_FRAME_FIRST]; /* likewise, of the frames that are not methods */
    rpp_pprof_location *locations;           /* id - 1 -> location */
    size_t location_count, location_capacity;
    rpp_pprof_function *functions; /* id - 1 -> function */
    size_t function_count, function_capacity;
    uint32_t deepest; /* frames of the deepest stack, hidden ones counted */
} rpp_pprof_index;

/* Partly filled on failure: destroy it. */
RPP_NODISCARD rpp_status rpp_pprof_index_init(rpp_pprof_index *index, const rpp_profile *profile, size_t first,
                                              size_t count, const rpp_frame_names *names,
                                              const rpp_pprof_options *options);
void rpp_pprof_index_destroy(rpp_pprof_index *index);

/* Whether the row has a value that the mode shows. */
bool rpp_pprof_shows(const rpp_row *row, unsigned mode);
/* The synthetic leaf frame of a state; RPP_FRAME_NONE while running. */
uint32_t rpp_pprof_state_frame(uint8_t state);

#endif
