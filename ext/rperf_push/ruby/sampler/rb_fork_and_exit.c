/* rb_fork_and_exit.c - fork and exit, for all participants in order. */
#include "sampler/rb_fork_and_exit.h"

#include <pthread.h>
#include <stdbool.h>

#include "core/base/stats.h"
#include "sampler/rb_sampler.h"

static const rb_rpp_participant *const *participants;
static size_t count;
static VALUE native_module;
static bool ends_with_process; /* an end proc and a finalizer are registered and have not run */

/* --- fork --- */

static void before_fork(void)
{
    for (size_t i = 0; i < count; i++) {
        if (participants[i]->before_fork) participants[i]->before_fork();
    }
}

static void after_fork_in_parent(void)
{
    for (size_t i = 0; i < count; i++) {
        if (participants[i]->after_fork_in_parent) participants[i]->after_fork_in_parent();
    }
}

static VALUE restart(VALUE index)
{
    const rb_rpp_participant *p = participants[index];
    return p->restart_in_child ? p->restart_in_child(Qnil) : Qnil;
}

/* If one of them raises, the others are restarted anyway. */
static VALUE restart_from(VALUE index)
{
    return index < count ? rb_ensure(restart, index, restart_from, index + 1) : Qnil;
}

static void restart_in_child(void)
{
    restart_from(0);
}

/* The statistics and the sampler come first: participants then count for the child, and no samples come while they
 * discard. */
static void after_fork_in_child(void)
{
    rpp_stats_reset();
    rb_rpp_sampler_discard_after_fork(restart_in_child);
    for (size_t i = 0; i < count; i++) {
        if (participants[i]->discard_after_fork) participants[i]->discard_after_fork();
    }
}

void rb_rpp_process_follow_forks(void)
{
    static bool done;
    if (!done) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    done = true;
}

/* --- exit --- */

static VALUE end(VALUE index)
{
    const rb_rpp_participant *p = participants[index];
    return p->end_at_exit ? p->end_at_exit(Qnil) : Qnil;
}

/* Backwards, from the one before `index`. */
static VALUE end_before(VALUE index)
{
    return index > 0 ? rb_ensure(end, index - 1, end_before, index - 1) : Qnil;
}

/* If a session begins after this, in a later end proc, it registers this function again. */
static void at_exit(VALUE unused)
{
    ends_with_process = false;
    end_before(count);
}

static VALUE at_vm_end(RB_BLOCK_CALL_FUNC_ARGLIST(unused, unused_too))
{
    for (size_t i = 0; i < count; i++) {
        if (participants[i]->leave_vm) participants[i]->leave_vm();
    }
    rb_rpp_sampler_leave_vm();
    at_exit(Qnil);
    return Qnil;
}

/* At the exit, Ruby calls the finalizers of objects that are still alive, even those defined meanwhile. */
void rb_rpp_process_end_with_process(void)
{
    if (ends_with_process) return;
    ends_with_process = true;
    rb_set_end_proc(at_exit, Qnil);
    rb_define_finalizer(native_module, rb_proc_new(at_vm_end, Qnil));
}

/* End procs run in reverse: the earlier this one comes, the more of the program is profiled; some servers run in
 * one. */
void rb_rpp_process_init(VALUE native, const rb_rpp_participant *const *all, size_t size)
{
    native_module = native;
    participants = all;
    count = size;
    rb_rpp_process_end_with_process();
}
