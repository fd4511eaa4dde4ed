/* rb_proc_task.c - asks the kernel which threads there are, whether one sleeps, and its name. */
#include "vm/rb_proc_task.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

/* The file's beginning as text; empty if it cannot be read. */
static void read_task_file(pid_t tid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)tid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, size - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = '\0';
}

/* If the clock moves between two readings, the thread is on a core. To ask that costs a fraction of what it costs to
 * read /proc. */
static bool is_on_a_core(pid_t tid)
{
    clockid_t clock = RB_RPP_CPU_CLOCK_OF_TASK(tid);
    uint64_t before_ns = rpp_cpu_clock_ns(clock);
    return rpp_cpu_clock_ns(clock) != before_ns;
}

bool rb_rpp_task_is_asleep(pid_t tid)
{
    if (is_on_a_core(tid)) return false;
    char text[256]; /* "1234 (name) S ...": the name may contain anything, even brackets */
    read_task_file(tid, "stat", text, sizeof text);
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && (name_end[2] == 'S' || name_end[2] == 'D');
}

void rb_rpp_task_name(pid_t tid, char *name, size_t size)
{
    read_task_file(tid, "comm", name, size);
    name[strcspn(name, "\n")] = '\0';
}

/* Ours begin so, and nothing else that is known. */
static bool is_ours(pid_t tid)
{
    static const char prefix[] = "rpp-";
    char name[32];
    rb_rpp_task_name(tid, name, sizeof name);
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

size_t rb_rpp_tasks(pid_t *tids, size_t most)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/task");
    if (!directory) return 0;
    for (const struct dirent *entry; count < most && (entry = readdir(directory));) {
        pid_t tid = (pid_t)atoi(entry->d_name); /* 0: "." and ".." */
        if (tid && !is_ours(tid)) tids[count++] = tid;
    }
    closedir(directory);
    return count;
}
