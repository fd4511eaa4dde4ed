/* job_watch.c - times every postponed job of any extension, from outside of it: the GVL is held meanwhile.
 *
 * Preloaded, it stands between an extension and rb_postponed_job_preregister. Required in the same process, it tells
 * Ruby. Jobs run under the GVL, so nothing here needs a lock.
 */
#include <dlfcn.h>
#include <ruby.h>
#include <ruby/debug.h>
#include <stdint.h>
#include <time.h>

typedef rb_postponed_job_handle_t preregister(unsigned, rb_postponed_job_func_t, void *);

typedef struct job {
    rb_postponed_job_func_t function;
    void *data;
} job;

static job jobs[64];
static unsigned known;
static uint64_t count, total_ns, longest_ns, longest_cpu_ns;

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run(void *argument)
{
    const job *j = argument;
    uint64_t cpu = now_ns(CLOCK_THREAD_CPUTIME_ID), wall = now_ns(CLOCK_MONOTONIC);
    j->function(j->data);
    wall = now_ns(CLOCK_MONOTONIC) - wall;
    cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    count++;
    total_ns += wall;
    if (wall > longest_ns) longest_ns = wall;
    if (cpu > longest_cpu_ns) longest_cpu_ns = cpu;
}

rb_postponed_job_handle_t rb_postponed_job_preregister(unsigned flags, rb_postponed_job_func_t function, void *data)
{
    preregister *original = (preregister *)dlsym(RTLD_NEXT, "rb_postponed_job_preregister");
    if (known == sizeof jobs / sizeof *jobs) return original(flags, function, data);
    job *j = &jobs[known];
    *j = (job){function, data};
    rb_postponed_job_handle_t handle = original(flags, run, j);
    known++;
    return handle;
}

/* What was seen since the last call. */
static VALUE take(VALUE self)
{
    VALUE seen = rb_hash_new();
    rb_hash_aset(seen, ID2SYM(rb_intern("count")), ULL2NUM(count));
    rb_hash_aset(seen, ID2SYM(rb_intern("total_ns")), ULL2NUM(total_ns));
    rb_hash_aset(seen, ID2SYM(rb_intern("longest_ns")), ULL2NUM(longest_ns));
    rb_hash_aset(seen, ID2SYM(rb_intern("longest_cpu_ns")), ULL2NUM(longest_cpu_ns));
    count = total_ns = longest_ns = longest_cpu_ns = 0;
    return seen;
}

void Init_job_watch(void)
{
    rb_define_singleton_method(rb_define_module("JobWatch"), "take", take, 0);
}
