/* rb_demand.c - a session on demand: what it records with, who uses it, and how it begins and ends. */
#include "recordings/rb_demand.h"

#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/profile/pipeline.h"
#include "vm/rb_waiting.h"

#define LAST_WAIT_NS RPP_NS_PER_S /* at the exit, where no thread waits for a result */

static rb_rpp_demand *sessions[RB_RPP_SUBSCRIBERS];
/* In a forked child: the parent's session, which the restart continues. */
static const rb_rpp_demand *parents;

rb_rpp_demand *rb_rpp_demand_at(rb_rpp_subscriber subscriber)
{
    return sessions[subscriber];
}

rb_rpp_demand *rb_rpp_demand_own(void)
{
    if (parents) rb_thread_check_ints();
    return sessions[RB_RPP_ON_DEMAND];
}

bool rb_rpp_demand_is_current(const rb_rpp_demand *s)
{
    return sessions[s->subscriber] == s;
}

rpp_pipeline *rb_rpp_demand_pipeline(const rb_rpp_demand *s)
{
    return rb_rpp_recorder_pipeline(s->recorder);
}

static void end_unwanted(void);

rb_rpp_demand *rb_rpp_demand_new(const rb_rpp_demand_settings *settings, const char *directory, bool summed)
{
    rb_rpp_demand *s = rpp_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->users = 1;
    s->settings = *settings;
    s->settings.directory = directory ? rpp_strdup(directory) : NULL;
    if (!directory || s->settings.directory) {
        s->recorder = rb_rpp_recorder_new(&settings->shape, settings->frequency, directory, summed, end_unwanted);
    }
    if (s->recorder) return s;
    rpp_free(s->settings.directory);
    rpp_free(s);
    return NULL;
}

void rb_rpp_demand_let_go(rb_rpp_demand *s)
{
    if (atomic_fetch_sub(&s->users, 1) != 1) return;
    rb_rpp_recorder_free(s->recorder);
    rpp_free(s->settings.directory);
    rpp_free(s);
}

/* --- the beginning --- */

static rb_rpp_sampler_options options_for(const rb_rpp_demand_settings *settings)
{
    return (rb_rpp_sampler_options){
        .period_ns = RPP_NS_PER_S / settings->frequency,
        .lines = settings->shape.lines,
        .overhead_limit = 1, /* the program asked for this frequency */
        .engine = settings->engine,
        .mode = settings->shape.mode,
        .alloc_interval = settings->alloc_interval,
    };
}

void rb_rpp_demand_prepare(const rb_rpp_demand_settings *settings)
{
    rb_rpp_sampler_options options = options_for(settings);
    rb_rpp_sampler_prepare(&options, settings->deferred);
}

void rb_rpp_demand_begin(rb_rpp_demand *s, rb_rpp_subscriber subscriber)
{
    rb_rpp_sampler_options options = options_for(&s->settings);
    rb_rpp_process_end_with_process();
    s->subscriber = subscriber;
    s->users++;
    sessions[subscriber] = s;
    rb_rpp_sampler_attach(subscriber, &options, rb_rpp_demand_pipeline(s), s->settings.deferred);
    rb_rpp_recorder_begin_counting(s->recorder);
}

/* --- the end --- */

static rpp_status stop_collector(void *session, rpp_cancellation *cancellation)
{
    return rpp_pipeline_stop(rb_rpp_demand_pipeline(session), cancellation);
}

static void *finish(void *context)
{
    rpp_cancellation endless = {.deadline_ns = UINT64_MAX};
    if (stop_collector(context, &endless) == RPP_OK) rb_rpp_demand_let_go(context);
    return NULL;
}

void rb_rpp_demand_end(rb_rpp_demand *s)
{
    rb_rpp_sampler_detach(s->subscriber);
    sessions[s->subscriber] = NULL;
    if (rb_rpp_finish_later(finish, s) == RPP_OK) return;
    rpp_log(RPP_LOG_ERROR, "the system gave no thread to end a session with: its memory is kept");
}

void rb_rpp_demand_give_up(rb_rpp_demand *s)
{
    if (rb_rpp_demand_is_current(s) && !s->ending) rb_rpp_demand_end(s);
}

static VALUE tell_ruby(void *unused)
{
    return rb_funcall(rb_path2class("RperfPush::Inheritance"), rb_intern("ended"), 0);
}

static VALUE start_telling_thread(VALUE unused)
{
    return rb_thread_create(tell_ruby, NULL);
}

/* In a job: ends the sessions whose reader is gone, so that the process does not pay for them until it ends. */
static void end_unwanted(void)
{
    bool any = false;
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++) {
        rb_rpp_demand *s = sessions[subscriber];
        if (!s || !rb_rpp_recorder_is_unwanted(s->recorder)) continue;
        rb_rpp_demand_give_up(s);
        any = true;
    }
    int failed = 0;
    if (any) rb_protect(start_telling_thread, Qnil, &failed);
    if (failed) rb_set_errinfo(Qnil); /* no thread started: the environment is unchanged */
}

/* --- lending --- */

bool rb_rpp_demand_lend(rb_rpp_subscriber subscriber, rb_rpp_lent *lent)
{
    rb_rpp_demand *s = sessions[subscriber];
    if (!s || s->ending || s->settings.shape.separate) return false;
    s->users++;
    *lent = (rb_rpp_lent){s, subscriber, s->recorder};
    return true;
}

void rb_rpp_demand_lend_too(const rb_rpp_lent *lent, rb_rpp_lent *too)
{
    atomic_fetch_add(&lent->session->users, 1);
    *too = *lent;
}

bool rb_rpp_demand_goes_on(const rb_rpp_lent *lent)
{
    return rb_rpp_demand_is_current(lent->session);
}

void rb_rpp_demand_return(const rb_rpp_lent *lent)
{
    rb_rpp_demand_let_go(lent->session);
}

/* --- exit and fork --- */

static int drop(rb_rpp_demand *s, uint64_t deadline_ns)
{
    rpp_status status;
    rb_rpp_sampler_detach(s->subscriber);
    sessions[s->subscriber] = NULL;
    int thrown = rb_rpp_wait_until(stop_collector, s, deadline_ns, &status);
    if (status == RPP_OK) rb_rpp_demand_let_go(s);
    return thrown;
}

/* Drops what the sessions recorded. A session that a call is stopping is left to that call. An interrupt may end
 * this. */
static VALUE end_at_exit(VALUE unused)
{
    uint64_t deadline_ns = rpp_monotonic_ns() + LAST_WAIT_NS;
    int thrown = 0;
    for (rb_rpp_subscriber subscriber = RB_RPP_ON_DEMAND; subscriber < RB_RPP_SUBSCRIBERS; subscriber++) {
        rb_rpp_demand *s = sessions[subscriber];
        int interrupted = s && !s->ending ? drop(s, deadline_ns) : 0;
        if (interrupted) thrown = interrupted;
    }
    if (thrown) rb_jump_tag(thrown);
    return Qnil;
}

/* Does not free the parent's sessions, because the fork may have interrupted a change of their locks and tables. */
static void discard_after_fork(void)
{
    const rb_rpp_demand *own = sessions[RB_RPP_ON_DEMAND];
    if (own) parents = own->settings.inheritable ? own : NULL;
    memset(sessions, 0, sizeof sessions);
}

static VALUE prepare_again(VALUE settings)
{
    rb_rpp_demand_prepare((const rb_rpp_demand_settings *)settings);
    return Qnil;
}

/* False: no memory. */
static bool begin_inherited(const rb_rpp_demand_settings *settings)
{
    rb_rpp_demand *s = rb_rpp_demand_new(settings, settings->directory, true);
    if (!s) return false;
    s->inherited = true;
    rb_rpp_demand_begin(s, RB_RPP_ON_DEMAND);
    rb_rpp_demand_let_go(s);
    return true;
}

/* Continues the parent's own session with the same settings, if it was inheritable. An interrupt may end this. */
static VALUE restart_in_child(VALUE unused)
{
    const rb_rpp_demand *before = parents;
    int thrown = 0;
    parents = NULL;
    if (!before || sessions[RB_RPP_ON_DEMAND]) return Qnil;
    rb_protect(prepare_again, (VALUE)&before->settings, &thrown);
    bool is_wanted = !sessions[RB_RPP_ON_DEMAND]; /* or a signal handler has begun one */
    if (is_wanted && (thrown || !begin_inherited(&before->settings))) {
        rpp_log(RPP_LOG_ERROR, "the session on demand does not go on in the forked process %d: %s", (int)getpid(),
                thrown ? "interrupted" : rpp_status_text(RPP_NO_MEMORY));
    }
    if (thrown) rb_jump_tag(thrown);
    return Qnil;
}

const rb_rpp_participant rb_rpp_demand_participant = {
    .discard_after_fork = discard_after_fork,
    .restart_in_child = restart_in_child,
    .end_at_exit = end_at_exit,
};
