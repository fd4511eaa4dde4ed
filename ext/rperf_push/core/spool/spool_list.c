/* spool_list.c - reads the spool's directory: a batch of its files, oldest first, and the totals of all files. */
#include "spool/spool_list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void insert(rpp_spool_list *list, const rpp_spool_name *name)
{
    size_t at = list->count;
    while (at > 0 && rpp_spool_name_compare(name, &list->items[at - 1]) < 0) at--;
    if (list->count == RPP_SPOOL_BATCH) {
        list->more = true;
        if (at == RPP_SPOOL_BATCH) return;
        list->count--;
    }
    memmove(&list->items[at + 1], &list->items[at], (list->count - at) * sizeof *list->items);
    list->items[at] = *name;
    list->count++;
}

/* Where others may write, a name can claim any size. Only the user's own files count, by what they hold; one that is
 * being written will hold what its name says. */
static bool is_own(DIR *directory, const char *text, const rpp_spool_name *name, uint64_t *bytes)
{
    struct stat status;
    if (fstatat(dirfd(directory), text, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return false;
    *bytes = name->state == RPP_SPOOL_WRITING ? name->bytes : (uint64_t)status.st_size;
    return true;
}

rpp_status rpp_spool_list_read(DIR *directory, const uint64_t *destination, const rpp_spool_name *after,
                               rpp_spool_list *list)
{
    rpp_spool_name name, last = {0};
    uint64_t bytes;
    if (after) last = *after; /* it may point into the list */
    list->count = 0;
    list->more = false;
    list->files = list->bytes = 0;
    rewinddir(directory);
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(directory);
        if (!entry) return errno ? RPP_IO : RPP_OK;
        if (!rpp_spool_name_parse(entry->d_name, &name) || !is_own(directory, entry->d_name, &name, &bytes)) continue;
        list->files++;
        list->bytes += bytes;
        if (destination && name.destination != *destination) continue;
        if (!after || rpp_spool_name_compare(&name, &last) > 0) insert(list, &name);
    }
}
