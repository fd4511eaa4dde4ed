/* rb_demand.c - a session on demand: what it records with, who uses it, and how it begins and ends. */
#include "recordings/rb_demand.h"

#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/profile/pipeline.h"
#include "vm/rb_waiting.h"

#define LAST_PATIENCE_NS RPP_NS_PER_S /* at the exit, where no thread waits for a result */

static rb_rpp_demand *sessions[RB_RPP_OUTLETS];
/* In a forked child: the parent's session, which the restart continues. */
static const rb_rpp_demand *parents;

rb_rpp_demand *rb_rpp_demand_at(rb_rpp_outlet outlet)
{
    return sessions[outlet];
}

rb_rpp_demand *rb_rpp_demand_own(void)
{
    if (parents) rb_thread_check_ints();
    return sessions[RB_RPP_ON_DEMAND];
}

bool rb_rpp_demand_is_current(const rb_rpp_demand *s)
{
    return sessions[s->outlet] == s;
}

rpp_pipeline *rb_rpp_demand_pipeline(const rb_rpp_demand *s)
{
    return rb_rpp_recorder_pipeline(s->recorder);
}

static void end_unwanted(void);

rb_rpp_demand *rb_rpp_demand_new(const rb_rpp_terms *terms, const char *directory, bool summed)
{
    rb_rpp_demand *s = rpp_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->users = 1;
    s->terms = *terms;
    s->terms.directory = directory ? rpp_strdup(directory) : NULL;
    if (!directory || s->terms.directory) {
        s->recorder = rb_rpp_recorder_new(&terms->shape, terms->frequency, directory, summed, end_unwanted);
    }
    if (s->recorder) return s;
    rpp_free(s->terms.directory);
    rpp_free(s);
    return NULL;
}

void rb_rpp_demand_let_go(rb_rpp_demand *s)
{
    if (atomic_fetch_sub(&s->users, 1) != 1) return;
    rb_rpp_recorder_free(s->recorder);
    rpp_free(s->terms.directory);
    rpp_free(s);
}

/* --- the beginning --- */

static rb_rpp_sampler_options options_for(const rb_rpp_terms *terms)
{
    return (rb_rpp_sampler_options){
        .period_ns = RPP_NS_PER_S / terms->frequency,
        .lines = terms->shape.lines,
        .overhead_limit = 1, /* the program asked for this frequency */
        .engine = terms->engine,
        .mode = terms->shape.mode,
        .alloc_interval = terms->alloc_interval,
    };
}

void rb_rpp_demand_prepare(const rb_rpp_terms *terms)
{
    rb_rpp_sampler_options options = options_for(terms);
    rb_rpp_sampler_prepare(&options, terms->deferred);
}

void rb_rpp_demand_begin(rb_rpp_demand *s, rb_rpp_outlet outlet)
{
    rb_rpp_sampler_options options = options_for(&s->terms);
    rb_rpp_life_end_with_process();
    s->outlet = outlet;
    s->users++;
    sessions[outlet] = s;
    rb_rpp_sampler_attach(outlet, &options, rb_rpp_demand_pipeline(s), s->terms.deferred);
    rb_rpp_recorder_begin_counting(s->recorder);
}

/* --- the end --- */

static rpp_status stop_collector(void *session, rpp_patience *patience)
{
    return rpp_pipeline_stop(rb_rpp_demand_pipeline(session), patience);
}

static void *finish(void *context)
{
    rpp_patience endless = {.deadline_ns = UINT64_MAX};
    if (stop_collector(context, &endless) == RPP_OK) rb_rpp_demand_let_go(context);
    return NULL;
}

void rb_rpp_demand_end(rb_rpp_demand *s)
{
    rb_rpp_sampler_detach(s->outlet);
    sessions[s->outlet] = NULL;
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
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        rb_rpp_demand *s = sessions[outlet];
        if (!s || !rb_rpp_recorder_is_unwanted(s->recorder)) continue;
        rb_rpp_demand_give_up(s);
        any = true;
    }
    int failed = 0;
    if (any) rb_protect(start_telling_thread, Qnil, &failed);
    if (failed) rb_set_errinfo(Qnil); /* no thread started: the environment is unchanged */
}

/* --- lending --- */

bool rb_rpp_demand_lend(rb_rpp_outlet outlet, rb_rpp_lent *lent)
{
    rb_rpp_demand *s = sessions[outlet];
    if (!s || s->ending || s->terms.shape.separate) return false;
    s->users++;
    *lent = (rb_rpp_lent){s, outlet, s->recorder};
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
    rb_rpp_sampler_detach(s->outlet);
    sessions[s->outlet] = NULL;
    int thrown = rb_rpp_wait_until(stop_collector, s, deadline_ns, &status);
    if (status == RPP_OK) rb_rpp_demand_let_go(s);
    return thrown;
}

/* Drops what the sessions recorded. A session that a call is stopping is left to that call. An interrupt may end
 * this. */
static VALUE end_at_exit(VALUE unused)
{
    uint64_t deadline_ns = rpp_monotonic_ns() + LAST_PATIENCE_NS;
    int thrown = 0;
    for (rb_rpp_outlet outlet = RB_RPP_ON_DEMAND; outlet < RB_RPP_OUTLETS; outlet++) {
        rb_rpp_demand *s = sessions[outlet];
        int interrupted = s && !s->ending ? drop(s, deadline_ns) : 0;
        if (interrupted) thrown = interrupted;
    }
    if (thrown) rb_jump_tag(thrown);
    return Qnil;
}

/* Does not free the parent's sessions, because the fork may have interrupted a change of their locks and tables. */
static void forget_after_fork(void)
{
    const rb_rpp_demand *own = sessions[RB_RPP_ON_DEMAND];
    if (own) parents = own->terms.inheritable ? own : NULL;
    memset(sessions, 0, sizeof sessions);
}

static VALUE prepare_again(VALUE terms)
{
    rb_rpp_demand_prepare((const rb_rpp_terms *)terms);
    return Qnil;
}

/* False: no memory. */
static bool begin_inherited(const rb_rpp_terms *terms)
{
    rb_rpp_demand *s = rb_rpp_demand_new(terms, terms->directory, true);
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
    rb_protect(prepare_again, (VALUE)&before->terms, &thrown);
    bool is_wanted = !sessions[RB_RPP_ON_DEMAND]; /* or a signal handler has begun one */
    if (is_wanted && (thrown || !begin_inherited(&before->terms))) {
        rpp_log(RPP_LOG_ERROR, "the session on demand does not go on in the forked process %d: %s", (int)getpid(),
                thrown ? "interrupted" : rpp_status_text(RPP_NO_MEMORY));
    }
    if (thrown) rb_jump_tag(thrown);
    return Qnil;
}

const rb_rpp_participant rb_rpp_demand_life = {
    .forget_after_fork = forget_after_fork,
    .restart_in_child = restart_in_child,
    .end_at_exit = end_at_exit,
};
