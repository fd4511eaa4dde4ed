/* spool_list.h - what lies in the spool's directory: a batch of its files, oldest first, and the sum of all.
 *
 * Properties  no memory of its own: however many files there are, a batch holds the oldest of them. Reading the directory
 *             again with `after` gives the next.
 *             Files whose names are not a spool's are as if they were not there.
 */
#ifndef RPP_SPOOL_LIST_H
#define RPP_SPOOL_LIST_H

#include <dirent.h>

#include "spool_file.h"

#define RPP_SPOOL_BATCH 64u

typedef struct rpp_spool_list {
    rpp_spool_name items[RPP_SPOOL_BATCH];
    size_t count;
    bool more;             /* than the batch holds */
    uint64_t files, bytes; /* all of the spool in the directory, whomever they are for */
} rpp_spool_list;

/* Those for `destination` (NULL: for any) that come after `after` (NULL: from the oldest on). RPP_IO: errno says why. */
RPP_NODISCARD rpp_status rpp_spool_list_read(DIR *directory, const uint64_t *destination, const rpp_spool_name *after,
                                             rpp_spool_list *list);

#endif
