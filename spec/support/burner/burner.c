/* burner.c - C methods of known cost, for specs: each keeps account of the time that it spent inside itself.
 *
 *   Burner.spent            {name => [cpu ns, wall ns]} so far, all threads together
 *   Burner.code             {name => [begin, end]}, the addresses of the C code of plain, yielding and calling
 *   Burner.linger(seconds)  the process goes on for so long when Ruby is gone, and says which threads of the profiler
 *                           it finds
 */
#include <ruby.h>
#include <ruby/thread.h>

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct account {
    const char *name;
    _Atomic uint64_t cpu_ns, wall_ns;
} account;

enum { HEAVY, OTHER, LAST, WITHOUT_GVL, SLEEP_WITH_GVL, SLEEP_WITHOUT_GVL, CALL, ACCOUNTS };

static account accounts[ACCOUNTS] = {
    [HEAVY] = {.name = "heavy"},
    [OTHER] = {.name = "other"},
    [LAST] = {.name = "last"},
    [WITHOUT_GVL] = {.name = "burn_without_gvl"},
    [SLEEP_WITH_GVL] = {.name = "sleep_with_gvl"},
    [SLEEP_WITHOUT_GVL] = {.name = "sleep_without_gvl"},
    [CALL] = {.name = "call"},
};

static uint64_t read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

typedef struct stay {
    account *account;
    uint64_t cpu_ns, wall_ns, goal_ns;
} stay;

static stay enter(account *account, VALUE seconds)
{
    return (stay){account, read_clock(CLOCK_THREAD_CPUTIME_ID), read_clock(CLOCK_MONOTONIC),
                  (uint64_t)(NUM2DBL(seconds) * 1e9)};
}

static void leave(const stay *s)
{
    atomic_fetch_add(&s->account->cpu_ns, read_clock(CLOCK_THREAD_CPUTIME_ID) - s->cpu_ns);
    atomic_fetch_add(&s->account->wall_ns, read_clock(CLOCK_MONOTONIC) - s->wall_ns);
}

/* Burns CPU until the thread's CPU clock has moved on by the goal. */
static void burn(const stay *s)
{
    volatile uint32_t sink = 1;
    do {
        for (int i = 0; i < 5000; i++) sink = sink * 1664525u + 1013904223u;
    } while (read_clock(CLOCK_THREAD_CPUTIME_ID) - s->cpu_ns < s->goal_ns);
}

static VALUE burn_in(int index, VALUE seconds)
{
    stay s = enter(&accounts[index], seconds);
    burn(&s);
    leave(&s);
    return Qnil;
}

/* Three methods alike, so that one can be told from its neighbour. */
static VALUE heavy(VALUE self, VALUE seconds)
{
    return burn_in(HEAVY, seconds);
}

static VALUE other(VALUE self, VALUE seconds)
{
    return burn_in(OTHER, seconds);
}

static VALUE last(VALUE self, VALUE seconds)
{
    return burn_in(LAST, seconds);
}

static VALUE trivial(VALUE self)
{
    return Qnil;
}

static void *burn_and_leave(void *argument)
{
    burn(argument);
    leave(argument);
    return NULL;
}

static VALUE burn_without_gvl(VALUE self, VALUE seconds)
{
    stay s = enter(&accounts[WITHOUT_GVL], seconds);
    rb_thread_call_without_gvl(burn_and_leave, &s, NULL, NULL);
    return Qnil;
}

static void *sleep_and_leave(void *argument)
{
    const stay *s = argument;
    struct timespec left = {(time_t)(s->goal_ns / 1000000000u), (long)(s->goal_ns % 1000000000u)};
    while (nanosleep(&left, &left) != 0) continue;
    leave(s);
    return NULL;
}

static VALUE sleep_with_gvl(VALUE self, VALUE seconds)
{
    stay s = enter(&accounts[SLEEP_WITH_GVL], seconds);
    sleep_and_leave(&s);
    return Qnil;
}

static VALUE sleep_without_gvl(VALUE self, VALUE seconds)
{
    stay s = enter(&accounts[SLEEP_WITHOUT_GVL], seconds);
    rb_thread_call_without_gvl(sleep_and_leave, &s, NULL, NULL);
    return Qnil;
}

/* Burns, then leaves through the block: by return, raise, throw, another thread or fiber. */
static VALUE call(VALUE self, VALUE seconds)
{
    burn_in(CALL, seconds);
    return rb_yield(Qnil);
}

/* Each in a section of its own, so that it is known where its code begins and ends. */
#define CODE_OF(name)                                                                                                  \
    extern const char __start_code_of_##name[], __stop_code_of_##name[];                                               \
    static VALUE name
#define IN_SECTION(name) __attribute__((section("code_of_" #name), noinline))

CODE_OF(plain)(VALUE self, VALUE turns) IN_SECTION(plain);
CODE_OF(yielding)(VALUE self) IN_SECTION(yielding);
CODE_OF(calling)(VALUE self, VALUE receiver) IN_SECTION(calling);

static VALUE plain(VALUE self, VALUE turns)
{
    volatile long sum = 0;
    for (long i = FIX2LONG(turns); i > 0; i--) sum += i;
    return LONG2FIX(sum);
}

static VALUE yielding(VALUE self)
{
    rb_yield(Qnil);
    return rb_yield(Qtrue);
}

static VALUE calling(VALUE self, VALUE receiver)
{
    return rb_funcall(receiver, rb_intern("call"), 0);
}

static VALUE addresses(const char *begin, const char *end)
{
    return rb_ary_new_from_args(2, ULL2NUM((uintptr_t)begin), ULL2NUM((uintptr_t)end));
}

static VALUE code(VALUE self)
{
    VALUE all = rb_hash_new();
    rb_hash_aset(all, rb_str_new_cstr("plain"), addresses(__start_code_of_plain, __stop_code_of_plain));
    rb_hash_aset(all, rb_str_new_cstr("yielding"), addresses(__start_code_of_yielding, __stop_code_of_yielding));
    rb_hash_aset(all, rb_str_new_cstr("calling"), addresses(__start_code_of_calling, __stop_code_of_calling));
    return all;
}

static uint64_t lingering_ns;

static void tell_profiler_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *comm = fopen(path, "r");
        if (!comm) continue;
        if (fgets(name, sizeof name, comm) && strncmp(name, "rpp-", 4) == 0) fprintf(stderr, "still there: %s", name);
        fclose(comm);
    }
    if (tasks) closedir(tasks);
}

/* Time for a timer's signal to come, and for a thread to do something. */
static void linger_on(void)
{
    stay s = {.cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID), .goal_ns = lingering_ns / 2};
    struct timespec rest = {(time_t)(lingering_ns / 2 / 1000000000u), (long)(lingering_ns / 2 % 1000000000u)};
    tell_profiler_threads();
    burn(&s);
    nanosleep(&rest, NULL);
}

static VALUE linger(VALUE self, VALUE seconds)
{
    lingering_ns = (uint64_t)(NUM2DBL(seconds) * 1e9);
    atexit(linger_on);
    return Qnil;
}

/* For this thread, those it starts, and what it executes. */
static VALUE block_signal(VALUE self, VALUE name)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, NUM2INT(rb_hash_aref(rb_funcall(rb_path2class("Signal"), rb_intern("list"), 0), name)));
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return Qnil;
}

static VALUE spent(VALUE self)
{
    VALUE all = rb_hash_new();
    for (int i = 0; i < ACCOUNTS; i++) {
        rb_hash_aset(all, rb_str_new_cstr(accounts[i].name),
                     rb_ary_new_from_args(2, ULL2NUM(accounts[i].cpu_ns), ULL2NUM(accounts[i].wall_ns)));
    }
    return all;
}

void Init_burner(void)
{
    VALUE burner = rb_define_module("Burner");
    rb_define_singleton_method(burner, "heavy", heavy, 1);
    rb_define_singleton_method(burner, "other", other, 1);
    rb_define_singleton_method(burner, "last", last, 1);
    rb_define_singleton_method(burner, "trivial", trivial, 0);
    rb_define_singleton_method(burner, "burn_without_gvl", burn_without_gvl, 1);
    rb_define_singleton_method(burner, "sleep_with_gvl", sleep_with_gvl, 1);
    rb_define_singleton_method(burner, "sleep_without_gvl", sleep_without_gvl, 1);
    rb_define_singleton_method(burner, "call", call, 1);
    rb_define_singleton_method(burner, "plain", plain, 1);
    rb_define_singleton_method(burner, "yielding", yielding, 0);
    rb_define_singleton_method(burner, "calling", calling, 1);
    rb_define_singleton_method(burner, "code", code, 0);
    rb_define_singleton_method(burner, "linger", linger, 1);
    rb_define_singleton_method(burner, "block_signal", block_signal, 1);
    rb_define_singleton_method(burner, "spent", spent, 0);
}
