/* rb_on_demand.c - sessions on demand: start, stop, snapshot, profile; their results are Ruby Hashes. */
#include "rb_on_demand.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/delivery/session_folder.h"
#include "core/profile/pipeline.h"
#include "rb_life.h"
#include "rb_outlets.h"
#include "rb_recorder.h"
#include "rb_sampler.h"
#include "rb_waiting.h"

#define LAST_PATIENCE_NS RPP_NS_PER_S /* at the exit, where no thread waits for a result */

/* The arguments of start. */
typedef struct terms {
    rb_rpp_shape shape;
    uint32_t frequency;
    rpp_engine_kind engine;
    bool deferred;
    bool inheritable; /* forked children carry it on */
    char *directory;  /* where their windows become files; NULL: nowhere. The session's own */
} terms;

typedef struct on_demand {
    rb_rpp_outlet outlet;
    rb_rpp_recorder *recorder;
    terms terms;
    bool inherited;         /* continues the parent's: ends when this process starts its own */
    unsigned profiling;     /* profile blocks under way */
    _Atomic unsigned users; /* its collector, and calls and blocks that use it; the last one frees it */
    bool ending;
} on_demand;

static on_demand *sessions[RB_RPP_OUTLETS];
/* In a forked child: the program's own session to continue, until the restart takes it. */
static const on_demand *parents;

/* Whenever this thread releases the GVL, another one may end the session and start a new one. */
static bool is_current(const on_demand *s)
{
    return sessions[s->outlet] == s;
}

static void end_unwanted(void);

/* With a directory its windows, and those of the children that carry it on, become files there. */
static on_demand *session_new(const terms *terms, const char *directory, bool summed)
{
    on_demand *s = rpp_calloc(1, sizeof *s);
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

static void let_go(on_demand *s)
{
    if (atomic_fetch_sub(&s->users, 1) != 1) return;
    rb_rpp_recorder_free(s->recorder);
    rpp_free(s->terms.directory);
    rpp_free(s);
}

static rpp_pipeline *pipeline_of(const on_demand *s)
{
    return rb_rpp_recorder_pipeline(s->recorder);
}

static rpp_status stop_collector(void *session, rpp_patience *patience)
{
    return rpp_pipeline_stop(pipeline_of(session), patience);
}

static void *finish(void *context)
{
    rpp_patience endless = {.deadline_ns = UINT64_MAX};
    if (stop_collector(context, &endless) == RPP_OK) let_go(context);
    return NULL;
}

/* No more samples come. A finisher waits for the collector, because nobody wants its result. */
static void end_session(on_demand *s)
{
    rb_rpp_sampler_detach(s->outlet);
    sessions[s->outlet] = NULL;
    if (rb_rpp_finish_later(finish, s) == RPP_OK) return;
    rpp_log(RPP_LOG_ERROR, "the system gave no thread to end a session with: its memory is kept");
}

/* Does nothing if another thread ends it or has ended it. */
static void give_up(on_demand *s)
{
    if (is_current(s) && !s->ending) end_session(s);
}

static VALUE tell_ruby(void *unused)
{
    return rb_funcall(rb_path2class("RperfPush::Inheritance"), rb_intern("ended"), 0);
}

static VALUE start_telling_thread(VALUE unused)
{
    return rb_thread_create(tell_ruby, NULL);
}

/* In a job. Who was to read the windows is gone: so that the process does not pay for them for as long as it lives. */
static void end_unwanted(void)
{
    bool any = false;
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) {
        on_demand *s = sessions[outlet];
        if (!s || !rb_rpp_recorder_is_unwanted(s->recorder)) continue;
        give_up(s);
        any = true;
    }
    int failed = 0;
    if (any) rb_protect(start_telling_thread, Qnil, &failed);
    if (failed) rb_set_errinfo(Qnil); /* no thread could start: the environment stays as it is */
}

/* All until now, as data. An interrupt of the caller takes effect in here, so that no data is lost on its way out. If a window
 * has ended meanwhile, the data is built again. */
static VALUE take_all(VALUE argument)
{
    on_demand *s = (on_demand *)argument;
    for (;;) {
        rb_rpp_recorder_bring_in(s->recorder, s->outlet);
        if (!is_current(s)) return Qnil; /* stopped meanwhile */
        uint32_t window = rpp_pipeline_window(pipeline_of(s));
        VALUE data = rb_rpp_recorder_data(s->recorder);
        rb_thread_check_ints();
        if (!is_current(s) || rpp_pipeline_window(pipeline_of(s)) == window) return data;
    }
}

/* --- methods of Native: arguments were checked by Ruby --- */

static VALUE attach(VALUE argument)
{
    const on_demand *s = (const on_demand *)argument;
    rb_rpp_sampler_options options = {
        .period_ns = RPP_NS_PER_S / s->terms.frequency,
        .lines = s->terms.shape.lines,
        .overhead_limit = 1, /* the program asked for this frequency */
        .engine = s->terms.engine,
    };
    rb_rpp_sampler_attach(s->outlet, &options, pipeline_of(s), s->terms.deferred);
    return Qnil;
}

static VALUE yield_alone(VALUE unused)
{
    return rb_yield_values(0);
}

/* The program's own. Restarts a forked child that has not reached its first safepoint yet. */
static on_demand *own_session(void)
{
    if (parents) rb_thread_check_ints();
    return sessions[RB_RPP_ON_DEMAND];
}

static on_demand *session_of(VALUE number)
{
    unsigned outlet = NUM2UINT(number);
    if (outlet == RB_RPP_ON_DEMAND) return own_session();
    return outlet > RB_RPP_CONTINUOUS && outlet < RB_RPP_OUTLETS ? sessions[outlet] : NULL;
}

static VALUE native_stop(VALUE self, VALUE number)
{
    on_demand *s = session_of(number);
    if (!s || s->ending) return Qnil;
    VALUE data = Qnil;
    int thrown = 0;
    s->ending = true;
    s->users++;
    rpp_pipeline_set_last(pipeline_of(s));
    data = rb_protect(take_all, (VALUE)s, &thrown);
    s->ending = false;
    if (!thrown && is_current(s)) end_session(s);
    let_go(s);
    if (thrown) rb_jump_tag(thrown);
    return data;
}

static VALUE stop_own(VALUE number)
{
    return native_stop(Qnil, number);
}

static VALUE record_block(const on_demand *s, int *thrown)
{
    rb_protect(yield_alone, Qnil, thrown);
    return !*thrown && is_current(s) ? rb_protect(stop_own, UINT2NUM(s->outlet), thrown) : Qnil;
}

/* For a side session, any free outlet. An inherited session ends. */
static rb_rpp_outlet free_outlet(VALUE wanted)
{
    unsigned outlet = NUM2UINT(wanted), end = outlet < RB_RPP_SIDE ? outlet + 1 : RB_RPP_ATTACHED;
    on_demand *before = session_of(wanted);
    if (before && before->inherited) give_up(before);
    while (outlet < end && sessions[outlet]) outlet++;
    if (outlet >= end) rb_raise(rb_eRuntimeError, "profiling on demand is running already");
    return (rb_rpp_outlet)outlet;
}

/* The caller calls let_go. */
static void begin_session(on_demand *s, rb_rpp_outlet outlet, int *thrown)
{
    rb_rpp_life_end_with_process();
    s->outlet = outlet;
    s->users++; /* another thread may stop it while it starts */
    sessions[outlet] = s;
    rb_protect(attach, (VALUE)s, thrown);
    if (!*thrown) rb_rpp_recorder_begin_counting(s->recorder);
}

/* Returns the session's number. With a block: the data, as of stop; however the block ends, the session ends with it. With a
 * directory the windows go there, and what stop returns has no samples; but the program's own session with a directory is one that
 * another process has begun, of which stop returns this one's part. */
static VALUE native_start(VALUE self, VALUE wanted, VALUE mode, VALUE frequency, VALUE lines, VALUE aggregate,
                          VALUE defer, VALUE engine, VALUE directory, VALUE inherit)
{
    rb_rpp_outlet outlet = free_outlet(wanted);
    rb_rpp_life_follow_forks();
    terms terms = {
        .shape = {.mode = NUM2UINT(mode), .lines = RTEST(lines), .separate = !RTEST(aggregate)},
        .frequency = NUM2UINT(frequency),
        .engine = (rpp_engine_kind)NUM2INT(engine),
        .deferred = RTEST(defer),
        .inheritable = RTEST(inherit),
    };
    bool own = outlet == RB_RPP_ON_DEMAND, filed = !NIL_P(directory);
    on_demand *s = session_new(&terms, filed ? StringValueCStr(directory) : NULL, own || !filed);
    if (!s) rb_memerror();
    s->inherited = own && filed;
    int thrown = 0;
    begin_session(s, outlet, &thrown);
    VALUE data = UINT2NUM(outlet);
    if (!thrown && rb_block_given_p()) data = record_block(s, &thrown);
    if (thrown) give_up(s);
    let_go(s);
    if (thrown) rb_jump_tag(thrown);
    return data;
}

/* Windows of the forked children that carry the program's own session on become files in the directory. */
static VALUE native_pass_on(VALUE self, VALUE directory)
{
    on_demand *s = sessions[RB_RPP_ON_DEMAND];
    if (!s) return Qnil;
    char *copy = rpp_strdup(StringValueCStr(directory));
    if (!copy) rb_memerror();
    rpp_free(s->terms.directory);
    s->terms.directory = copy;
    return Qnil;
}

static VALUE native_session_name(VALUE self)
{
    char name[RPP_SESSION_NAME_MAX];
    rpp_session_folder_name(name);
    return rb_usascii_str_new_cstr(name);
}

static VALUE native_is_abandoned(VALUE self, VALUE directory)
{
    return rpp_session_folder_is_abandoned(StringValueCStr(directory)) ? Qtrue : Qfalse;
}

static VALUE native_is_own_session(VALUE self, VALUE directory)
{
    return rpp_session_folder_is_own(StringValueCStr(directory)) ? Qtrue : Qfalse;
}

static VALUE native_is_left_over(VALUE self, VALUE directory)
{
    return rpp_session_folder_is_left_over(StringValueCStr(directory)) ? Qtrue : Qfalse;
}

typedef struct snapshot {
    on_demand *session;
    bool clear;
} snapshot;

/* An interrupt takes effect before anything is cleared. */
static VALUE take_snapshot(VALUE argument)
{
    const snapshot *wanted = (const snapshot *)argument;
    on_demand *s = wanted->session;
    VALUE data = take_all((VALUE)s);
    if (!is_current(s)) return Qnil; /* stopped meanwhile */
    if (wanted->clear && rb_rpp_recorder_clear(s->recorder) != RPP_OK) rb_memerror();
    return data;
}

static VALUE end_snapshot(VALUE argument)
{
    let_go(((snapshot *)argument)->session);
    return Qnil;
}

static VALUE native_snapshot(VALUE self, VALUE number, VALUE clear)
{
    snapshot wanted = {session_of(number), RTEST(clear)};
    if (!wanted.session || wanted.session->ending) return Qnil;
    wanted.session->users++;
    return rb_ensure(take_snapshot, (VALUE)&wanted, end_snapshot, (VALUE)&wanted);
}

static VALUE run_profiled(VALUE argument)
{
    const on_demand *s = (const on_demand *)argument;
    if (s->terms.deferred) rb_rpp_sampler_resume(s->outlet);
    return rb_yield_values(0);
}

static VALUE end_profile(VALUE argument)
{
    on_demand *s = (on_demand *)argument;
    if (--s->profiling == 0 && is_current(s) && s->terms.deferred) rb_rpp_sampler_pause(s->outlet);
    let_go(s);
    return Qnil;
}

static VALUE profile_with(on_demand *s)
{
    s->users++;
    s->profiling++;
    return rb_ensure(run_profiled, (VALUE)s, end_profile, (VALUE)s);
}

/* With the program's own session. If there is only another one, the block just runs. */
static VALUE native_profile(VALUE self)
{
    on_demand *s = own_session();
    if (s) return profile_with(s);
    if (!rb_rpp_outlets_any()) {
        rb_raise(rb_eRuntimeError, "profiling is not started: call RperfPush.start first");
    }
    return rb_yield_values(0);
}

/* For integrations: as profile, but without a session the block just runs. */
static VALUE native_join(VALUE self)
{
    on_demand *s = own_session();
    return s ? profile_with(s) : rb_yield_values(0);
}

/* True if the program or its parent has started one. */
static VALUE native_is_recording(VALUE self)
{
    return own_session() ? Qtrue : Qfalse;
}

static VALUE native_is_inherited(VALUE self)
{
    const on_demand *s = own_session();
    return s && s->inherited ? Qtrue : Qfalse;
}

static int drop(on_demand *s, uint64_t deadline_ns)
{
    rpp_status status;
    rb_rpp_sampler_detach(s->outlet);
    sessions[s->outlet] = NULL;
    int thrown = rb_rpp_wait_until(stop_collector, s, deadline_ns, &status);
    if (status == RPP_OK) let_go(s);
    return thrown;
}

/* What they have recorded is gone. One that is being stopped is left to the call that stops it. May be interrupted. */
static VALUE end_at_exit(VALUE unused)
{
    uint64_t deadline_ns = rpp_monotonic_ns() + LAST_PATIENCE_NS;
    int thrown = 0;
    for (rb_rpp_outlet outlet = RB_RPP_ON_DEMAND; outlet < RB_RPP_OUTLETS; outlet++) {
        on_demand *s = sessions[outlet];
        int interrupted = s && !s->ending ? drop(s, deadline_ns) : 0;
        if (interrupted) thrown = interrupted;
    }
    if (thrown) rb_jump_tag(thrown);
    return Qnil;
}

/* The parent's stay as they are in the child's memory; their locks and tables may be half-way. */
static void forget_after_fork(void)
{
    const on_demand *own = sessions[RB_RPP_ON_DEMAND];
    if (own) parents = own->terms.inheritable ? own : NULL;
    memset(sessions, 0, sizeof sessions);
}

/* The program's own goes on as the parent's was begun, if that was inheritable. May be interrupted. */
static VALUE restart_in_child(VALUE unused)
{
    const on_demand *before = parents;
    parents = NULL;
    if (!before || sessions[RB_RPP_ON_DEMAND]) return Qnil;
    on_demand *s = session_new(&before->terms, before->terms.directory, true);
    int thrown = 0;
    if (s) {
        s->inherited = true;
        begin_session(s, RB_RPP_ON_DEMAND, &thrown);
        if (thrown) give_up(s);
        let_go(s);
    }
    if (!s || thrown) {
        rpp_log(RPP_LOG_ERROR, "the session on demand does not go on in the forked process %d: %s", (int)getpid(),
                thrown ? "interrupted" : rpp_status_text(RPP_NO_MEMORY));
    }
    if (thrown) rb_jump_tag(thrown);
    return Qnil;
}

const rb_rpp_participant rb_rpp_on_demand_life = {
    .forget_after_fork = forget_after_fork,
    .restart_in_child = restart_in_child,
    .end_at_exit = end_at_exit,
};

void rb_rpp_on_demand_init(VALUE native)
{
    rb_define_singleton_method(native, "start", native_start, 9);
    rb_define_singleton_method(native, "pass_on", native_pass_on, 1);
    rb_define_singleton_method(native, "stop", native_stop, 1);
    rb_define_singleton_method(native, "snapshot", native_snapshot, 2);
    rb_define_singleton_method(native, "profile", native_profile, 0);
    rb_define_singleton_method(native, "join", native_join, 0);
    rb_define_singleton_method(native, "recording?", native_is_recording, 0);
    rb_define_singleton_method(native, "inherited?", native_is_inherited, 0);
    rb_define_singleton_method(native, "session_name", native_session_name, 0);
    rb_define_singleton_method(native, "abandoned?", native_is_abandoned, 1);
    rb_define_singleton_method(native, "own_session?", native_is_own_session, 1);
    rb_define_singleton_method(native, "left_over?", native_is_left_over, 1);
}
