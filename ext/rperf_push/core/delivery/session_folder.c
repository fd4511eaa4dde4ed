/* session_folder.c - writes and reads the names of session folders. */
#include "delivery/session_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/process.h"

#define OLD_S (24 * 60 * 60)

void rpp_session_folder_name(char name[RPP_SESSION_NAME_MAX])
{
    rpp_process self = rpp_process_self();
    uint64_t seed = rpp_random_seed();
    snprintf(name, RPP_SESSION_NAME_MAX, "session-%ld-%llu-%llu-%08llx", self.pid, (unsigned long long)self.began,
             (unsigned long long)self.world, (unsigned long long)(rpp_random_next(&seed) >> 32));
}

/* False: the name says nothing. */
static bool owner_of(const char *directory, rpp_process *owner)
{
    const char *slash = strrchr(directory, '/'), *name = slash ? slash + 1 : directory;
    unsigned long long began, world;
    int read_to = 0;
    bool whole = sscanf(name, "session-%ld-%llu-%llu-%n", &owner->pid, &began, &world, &read_to) == 3 && read_to;
    owner->began = whole ? began : 0;
    owner->world = whole ? world : 0;
    return (whole || sscanf(name, "session-%ld-", &owner->pid) == 1) && owner->pid > 0;
}

bool rpp_session_folder_is_own(const char *directory)
{
    rpp_process owner;
    return owner_of(directory, &owner) && rpp_process_is_self(&owner);
}

bool rpp_session_folder_is_abandoned(const char *directory)
{
    struct stat found;
    if (stat(directory, &found) != 0) return errno == ENOENT;
    rpp_process owner;
    return owner_of(directory, &owner) && rpp_process_is_gone(&owner);
}

bool rpp_session_folder_is_left_over(const char *directory)
{
    struct stat found;
    rpp_process owner;
    if (rpp_session_folder_is_abandoned(directory)) return true;
    if (stat(directory, &found) != 0 || !owner_of(directory, &owner)) return false;
    return rpp_process_is_foreign(&owner) && time(NULL) - found.st_mtime > OLD_S;
}
