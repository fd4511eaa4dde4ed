/* session_folder.c - writes and reads the names of session folders. */
#include "delivery/session_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/process.h"

void rpp_session_folder_name(char name[RPP_SESSION_NAME_MAX])
{
    rpp_process self = rpp_process_self();
    uint64_t seed = rpp_random_seed();
    snprintf(name, RPP_SESSION_NAME_MAX, "session-%ld-%llu-%llu-%08llx", self.pid, (unsigned long long)self.began,
             (unsigned long long)self.world, (unsigned long long)(rpp_random_next(&seed) >> 32));
}

/* False: the name says nothing. */
static bool owner_in(const char *name, rpp_process *owner)
{
    unsigned long long began, world;
    int read_to = 0;
    bool whole = sscanf(name, "session-%ld-%llu-%llu-%n", &owner->pid, &began, &world, &read_to) == 3 && read_to;
    owner->began = whole ? began : 0;
    owner->world = whole ? world : 0;
    return whole || sscanf(name, "session-%ld-", &owner->pid) == 1;
}

bool rpp_session_folder_is_abandoned(const char *directory)
{
    struct stat found;
    if (stat(directory, &found) != 0) return errno == ENOENT;
    const char *slash = strrchr(directory, '/');
    rpp_process owner;
    return owner_in(slash ? slash + 1 : directory, &owner) && owner.pid > 0 && rpp_process_is_gone(&owner);
}
