/* process.c - asks /proc, where there is one, and else whether a signal would find the process. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* "1234 (name) S 1 ...": the name may contain anything, even brackets. The state is the 3rd field, the start the 22nd.
 * False: not known. */
static bool read_stat(long pid, char *state, uint64_t *began)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    unsigned long long ticks;
    int found = name_end ? sscanf(name_end + 1,
                                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                                  state, &ticks)
                         : 0;
    *began = found == 2 ? ticks : 0;
    return found == 2;
}

static uint64_t own_world(void)
{
    struct stat found;
    return stat("/proc/self/ns/pid", &found) == 0 ? (uint64_t)found.st_ino : 0;
}

rpp_process rpp_process_self(void)
{
    rpp_process self = {.pid = (long)getpid(), .world = own_world()};
    char state;
    read_stat(self.pid, &state, &self.began);
    return self;
}

static bool differ(uint64_t one, uint64_t other)
{
    return one && other && one != other;
}

bool rpp_process_is_foreign(const rpp_process *process)
{
    return differ(process->world, own_world());
}

bool rpp_process_is_self(const rpp_process *process)
{
    if (process->pid != (long)getpid()) return false;
    rpp_process self = rpp_process_self();
    return !differ(process->world, self.world) && !differ(process->began, self.began);
}

bool rpp_process_is_gone(const rpp_process *process)
{
    if (rpp_process_is_foreign(process)) return false;
    if (kill((pid_t)process->pid, 0) != 0 && errno == ESRCH) return true;
    char state;
    uint64_t began;
    if (!read_stat(process->pid, &state, &began)) return false;
    return state == 'Z' || state == 'X' || differ(process->began, began);
}
