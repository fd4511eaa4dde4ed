/* spool_list.h - reads the spool's directory: a batch of its files, oldest first, and the totals of all files.
 *
 * It allocates nothing. However many files there are, a batch holds the oldest of them; reading the directory again
 * with `after` returns the next batch. Files with other names, and those of other users, are ignored.
 *
 * Threads    one at a time.
 * Ownership  the caller owns directory and list.
 */
#ifndef RPP_SPOOL_LIST_H
#define RPP_SPOOL_LIST_H

#include <dirent.h>

#include "spool/spool_file.h"

#define RPP_SPOOL_BATCH 64u

typedef struct rpp_spool_list {
    rpp_spool_name items[RPP_SPOOL_BATCH];
    size_t count;
    bool more;             /* there are more files than the batch holds */
    uint64_t files, bytes; /* of all the user's spool files in the directory, for any destination */
} rpp_spool_list;

/* Lists the files for `destination` (NULL: any) after `after` (NULL: from the oldest on). RPP_IO: errno has the
 * reason. */
RPP_NODISCARD rpp_status rpp_spool_list_read(DIR *directory, const uint64_t *destination, const rpp_spool_name *after,
                                             rpp_spool_list *list);

#endif
