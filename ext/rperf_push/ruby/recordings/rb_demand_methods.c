/* rb_demand_methods.c - the methods of Native for sessions on demand. */
#include "recordings/rb_demand_methods.h"

#include "captures/rb_heap.h"
#include "core/base/alloc.h"
#include "core/profile/pipeline.h"
#include "recordings/rb_demand.h"
#include "recordings/rb_recorder.h"
#include "sampler/rb_fork_and_exit.h"
#include "sampler/rb_sampler.h"
#include "threads/rb_subscribers.h"

/* Returns all data until now. An interrupt of the caller takes effect here, so that no data is lost afterwards. If a
 * window ends meanwhile, this builds the data again. */
static VALUE take_all(rb_rpp_demand *s, uint64_t *changes)
{
    for (;;) {
        rb_rpp_recorder_bring_in(s->recorder, s->subscriber);
        if (!rb_rpp_demand_is_current(s)) return Qnil; /* stopped meanwhile */
        uint32_t window = rpp_pipeline_window(rb_rpp_demand_pipeline(s));
        VALUE data = rb_rpp_recorder_data(s->recorder, changes);
        rb_thread_check_ints();
        if (!rb_rpp_demand_is_current(s) || rpp_pipeline_window(rb_rpp_demand_pipeline(s)) == window) return data;
    }
}

typedef struct snapshot {
    rb_rpp_demand *session;
    bool clear;
} snapshot;

/* An interrupt takes effect before it clears anything. A sibling may take of it, or put back, at any moment: what is
 * not read is not cleared. */
static VALUE take_snapshot(VALUE argument)
{
    const snapshot *wanted = (const snapshot *)argument;
    rb_rpp_demand *s = wanted->session;
    rpp_status status = RPP_BUSY;
    VALUE data = Qnil;
    while (status == RPP_BUSY) {
        uint64_t changes = 0;
        data = take_all(s, &changes);
        if (!rb_rpp_demand_is_current(s)) return Qnil; /* stopped meanwhile */
        status = wanted->clear ? rb_rpp_recorder_clear(s->recorder, changes) : RPP_OK;
    }
    if (status != RPP_OK) rb_memerror();
    return data;
}

/* --- methods of Native: Ruby has checked the arguments --- */

static VALUE yield_alone(VALUE unused)
{
    return rb_yield_values(0);
}

static rb_rpp_demand *session_of(VALUE number)
{
    unsigned subscriber = NUM2UINT(number);
    if (subscriber == RB_RPP_ON_DEMAND) return rb_rpp_demand_own();
    return subscriber > RB_RPP_CONTINUOUS && subscriber < RB_RPP_SUBSCRIBERS ? rb_rpp_demand_at(subscriber) : NULL;
}

static VALUE native_stop(VALUE self, VALUE number)
{
    rb_rpp_demand *s = session_of(number);
    if (!s || s->ending) return Qnil;
    snapshot last = {s, true}; /* cleared: a sibling that still has the session is not to take it, too */
    int thrown = 0;
    s->ending = true;
    s->users++;
    rpp_pipeline_set_last(rb_rpp_demand_pipeline(s));
    VALUE data = rb_protect(take_snapshot, (VALUE)&last, &thrown);
    s->ending = false;
    if (!thrown && rb_rpp_demand_is_current(s)) rb_rpp_demand_end(s);
    rb_rpp_demand_let_go(s);
    if (thrown) rb_jump_tag(thrown);
    return data;
}

static VALUE stop_own(VALUE number)
{
    return native_stop(Qnil, number);
}

static VALUE record_block(const rb_rpp_demand *s, int *thrown)
{
    rb_protect(yield_alone, Qnil, thrown);
    return !*thrown && rb_rpp_demand_is_current(s) ? rb_protect(stop_own, UINT2NUM(s->subscriber), thrown) : Qnil;
}

/* Returns the wanted subscriber, or any free one for a side session. Ends an inherited session. */
static rb_rpp_subscriber free_subscriber(VALUE wanted)
{
    unsigned subscriber = NUM2UINT(wanted), end = subscriber < RB_RPP_SIDE ? subscriber + 1 : RB_RPP_ATTACHED;
    rb_rpp_demand *before = session_of(wanted);
    if (before && before->inherited) rb_rpp_demand_give_up(before);
    while (subscriber < end && rb_rpp_demand_at(subscriber)) subscriber++;
    if (subscriber >= end) rb_raise(rb_eRuntimeError, "profiling on demand is running already");
    return (rb_rpp_subscriber)subscriber;
}

/* Returns the session's number. With a block it returns the data, as stop does, and the session ends with the block,
 * however the block ends. With a directory the windows become files, and stop returns no samples. The exception is the
 * program's own session: with a directory it continues the session of another process, and stop returns the samples of
 * this process. */
static VALUE native_start(VALUE self, VALUE wanted, VALUE mode, VALUE frequency, VALUE lines, VALUE aggregate,
                          VALUE defer, VALUE engine, VALUE alloc_interval, VALUE class_labels, VALUE directory,
                          VALUE inherit)
{
    uint32_t watched_max = rb_rpp_watched_max(NUM2UINT(mode), NUM2UINT(alloc_interval));
    const char *why_not = watched_max ? rb_rpp_heap_why_not() : NULL;
    if (why_not) rb_raise(rb_eArgError, "%s", why_not);
    rb_rpp_demand_settings settings = {
        .shape = {.mode = NUM2UINT(mode),
                  .lines = RTEST(lines),
                  .separate = !RTEST(aggregate),
                  .class_labels = RTEST(class_labels),
                  .watched_max = watched_max},
        .frequency = NUM2UINT(frequency),
        .engine = (rpp_engine_kind)NUM2INT(engine),
        .alloc_interval = NUM2UINT(alloc_interval),
        .deferred = RTEST(defer),
        .inheritable = RTEST(inherit),
    };
    rb_rpp_process_follow_forks();
    rb_rpp_demand_prepare(&settings);
    rb_rpp_subscriber subscriber = free_subscriber(wanted);
    bool own = subscriber == RB_RPP_ON_DEMAND, filed = !NIL_P(directory);
    rb_rpp_demand *s = rb_rpp_demand_new(&settings, filed ? StringValueCStr(directory) : NULL, own || !filed);
    if (!s) rb_memerror();
    s->inherited = own && filed;
    int thrown = 0;
    rb_rpp_demand_begin(s, subscriber);
    VALUE data = UINT2NUM(subscriber);
    if (rb_block_given_p()) data = record_block(s, &thrown);
    if (thrown) rb_rpp_demand_give_up(s);
    rb_rpp_demand_let_go(s);
    if (thrown) rb_jump_tag(thrown);
    return data;
}

/* Forked children that continue the program's own session write their windows into the directory. */
static VALUE native_pass_on(VALUE self, VALUE directory)
{
    rb_rpp_demand *s = rb_rpp_demand_at(RB_RPP_ON_DEMAND);
    if (!s) return Qnil;
    char *copy = rpp_strdup(StringValueCStr(directory));
    if (!copy) rb_memerror();
    rpp_free(s->settings.directory);
    s->settings.directory = copy;
    return Qnil;
}

static VALUE end_snapshot(VALUE argument)
{
    rb_rpp_demand_let_go(((snapshot *)argument)->session);
    return Qnil;
}

static VALUE native_snapshot(VALUE self, VALUE number, VALUE clear)
{
    snapshot wanted = {session_of(number), RTEST(clear)};
    if (!wanted.session || wanted.session->ending) return Qnil;
    wanted.session->users++;
    return rb_ensure(take_snapshot, (VALUE)&wanted, end_snapshot, (VALUE)&wanted);
}

/* Not if it has ended meanwhile. */
static void resume(const rb_rpp_demand *s)
{
    rb_rpp_demand_settings settings = s->settings;
    settings.deferred = false;
    rb_rpp_demand_prepare(&settings);
    if (rb_rpp_demand_is_current(s)) rb_rpp_sampler_resume(s->subscriber);
}

static VALUE run_profiled(VALUE argument)
{
    const rb_rpp_demand *s = (const rb_rpp_demand *)argument;
    if (s->settings.deferred) resume(s);
    return rb_yield_values(0);
}

static VALUE end_profile(VALUE argument)
{
    rb_rpp_demand *s = (rb_rpp_demand *)argument;
    if (--s->profiling == 0 && rb_rpp_demand_is_current(s) && s->settings.deferred) rb_rpp_sampler_pause(s->subscriber);
    rb_rpp_demand_let_go(s);
    return Qnil;
}

static VALUE profile_with(rb_rpp_demand *s)
{
    s->users++;
    s->profiling++;
    return rb_ensure(run_profiled, (VALUE)s, end_profile, (VALUE)s);
}

/* Profiles the block if the program's own session runs. If only another one does, the block just runs. */
static VALUE native_profile(VALUE self)
{
    rb_rpp_demand *s = rb_rpp_demand_own();
    if (s) return profile_with(s);
    if (!rb_rpp_subscribers_any()) {
        rb_raise(rb_eRuntimeError, "profiling is not started: call RperfPush.start first");
    }
    return rb_yield_values(0);
}

/* For integrations: like profile, but without any session the block just runs. */
static VALUE native_join(VALUE self)
{
    rb_rpp_demand *s = rb_rpp_demand_own();
    return s ? profile_with(s) : rb_yield_values(0);
}

/* True if the program or its parent has started a session. */
static VALUE native_is_recording(VALUE self)
{
    return rb_rpp_demand_own() ? Qtrue : Qfalse;
}

/* True if it samples in blocks of profile only. */
static VALUE native_is_deferred(VALUE self)
{
    const rb_rpp_demand *s = rb_rpp_demand_own();
    return s && s->settings.deferred ? Qtrue : Qfalse;
}

static VALUE native_is_inherited(VALUE self)
{
    const rb_rpp_demand *s = rb_rpp_demand_own();
    return s && s->inherited ? Qtrue : Qfalse;
}

void rb_rpp_demand_methods_init(VALUE native)
{
    rb_define_singleton_method(native, "start", native_start, 11);
    rb_define_singleton_method(native, "pass_on", native_pass_on, 1);
    rb_define_singleton_method(native, "stop", native_stop, 1);
    rb_define_singleton_method(native, "snapshot", native_snapshot, 2);
    rb_define_singleton_method(native, "profile", native_profile, 0);
    rb_define_singleton_method(native, "join", native_join, 0);
    rb_define_singleton_method(native, "recording?", native_is_recording, 0);
    rb_define_singleton_method(native, "deferred?", native_is_deferred, 0);
    rb_define_singleton_method(native, "inherited?", native_is_inherited, 0);
}
