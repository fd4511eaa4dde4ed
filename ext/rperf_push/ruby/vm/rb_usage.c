/* rb_usage.c - the process's resource usage so far, as a Hash: getrusage, and what our own threads have of it. */
#include "vm/rb_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "vm/rb_values.h"

#ifdef __APPLE__
#define MAXRSS_UNIT 1u
#define BLOCK_BYTES 0u /* it counts operations */
#else
#define MAXRSS_UNIT 1024u
#define BLOCK_BYTES 512u
#endif

static VALUE nanoseconds(struct timeval time)
{
    return LL2NUM((long long)time.tv_sec * 1000000000 + (long long)time.tv_usec * 1000);
}

/* Does not use Ruby, which leaves the file open until the next GC if it is interrupted. */
static bool read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, text, size - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static unsigned long long number_after(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

/* Of the whole process, all its threads, and of no child: /proc/self/io has what children did that were waited for as
 * well. */
static VALUE native_usage(VALUE self)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) != 0) rb_sys_fail("getrusage");
    VALUE hash = rb_hash_new();
    rb_rpp_put(hash, "user_ns", nanoseconds(used.ru_utime));
    rb_rpp_put(hash, "sys_ns", nanoseconds(used.ru_stime));
    rb_rpp_put(hash, "maxrss_bytes", ULL2NUM((unsigned long long)used.ru_maxrss * MAXRSS_UNIT));
    rb_rpp_put(hash, "minor_faults", LONG2NUM(used.ru_minflt));
    rb_rpp_put(hash, "major_faults", LONG2NUM(used.ru_majflt));
    rb_rpp_put(hash, "voluntary_switches", LONG2NUM(used.ru_nvcsw));
    rb_rpp_put(hash, "involuntary_switches", LONG2NUM(used.ru_nivcsw));
    rb_rpp_put(hash, "read_bytes", ULL2NUM((unsigned long long)used.ru_inblock * BLOCK_BYTES));
    rb_rpp_put(hash, "write_bytes", ULL2NUM((unsigned long long)used.ru_oublock * BLOCK_BYTES));
    return hash;
}

static void add_switches(const char *thread, unsigned long long *voluntary, unsigned long long *involuntary)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", thread);
    if (!read_text(path, text, sizeof text) || strncmp(text, "rpp-", 4) != 0) return;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
    if (!read_text(path, text, sizeof text)) return;
    *voluntary += number_after(text, "\nvoluntary_ctxt_switches:");
    *involuntary += number_after(text, "\nnonvoluntary_ctxt_switches:");
}

/* Of our threads: what a program is told of itself is without them. */
static VALUE native_own_switches(VALUE self)
{
    unsigned long long voluntary = 0, involuntary = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *one; threads && (one = readdir(threads));) {
        add_switches(one->d_name, &voluntary, &involuntary);
    }
    if (threads) closedir(threads);
    VALUE hash = rb_hash_new();
    rb_rpp_put(hash, "voluntary_switches", ULL2NUM(voluntary));
    rb_rpp_put(hash, "involuntary_switches", ULL2NUM(involuntary));
    return hash;
}

void rb_rpp_usage_init(VALUE native)
{
    rb_define_singleton_method(native, "usage", native_usage, 0);
    rb_define_singleton_method(native, "own_switches", native_own_switches, 0);
}
