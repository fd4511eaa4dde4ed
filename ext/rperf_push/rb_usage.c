/* rb_usage.c - the process's resource usage so far: getrusage, and bytes read and written, as a Hash. */
#include "rb_usage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rb_values.h"

#ifdef __APPLE__
#define MAXRSS_UNIT 1u
#else
#define MAXRSS_UNIT 1024u
#endif

static VALUE nanoseconds(struct timeval time)
{
    return LL2NUM((long long)time.tv_sec * 1000000000 + (long long)time.tv_usec * 1000);
}

/* Does not use Ruby, which leaves the file open until the next GC if it is interrupted. False: not this system, or not allowed. */
static bool read_io(char *text, size_t size)
{
    int file = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
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

/* Of the whole process, all its threads. */
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
    char io[512] = "";
    bool is_known = read_io(io, sizeof io);
    rb_rpp_put(hash, "read_bytes", ULL2NUM(is_known ? number_after(io, "\nread_bytes: ") : 0));
    rb_rpp_put(hash, "write_bytes", ULL2NUM(is_known ? number_after(io, "\nwrite_bytes: ") : 0));
    return hash;
}

void rb_rpp_usage_init(VALUE native)
{
    rb_define_singleton_method(native, "usage", native_usage, 0);
}
