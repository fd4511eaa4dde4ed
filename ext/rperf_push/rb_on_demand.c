/* rb_on_demand.c - the session on demand: start, stop, snapshot, profile; its result is a Ruby Hash. */
#include "rb_on_demand.h"

#include "core/alloc.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/pipeline.h"
#include "core/recording.h"
#include "core/stats.h"
#include "rb_frames.h"
#include "rb_recorded.h"
#include "rb_sampler.h"
#include "rb_session.h"

#define BUFFER_HALF_BYTES (1024 * 1024)
/* Windows only keep the tables small here: what they hold is added up. */
#define WINDOW_NS         (10 * RPP_NS_PER_S)
#define PATIENCE_NS       (30 * RPP_NS_PER_S)
#define LAST_PATIENCE_NS  RPP_NS_PER_S /* at the exit, where nobody waits for a result */

typedef struct on_demand {
    rpp_pipeline *pipeline;
    rpp_recording *recording;
    rb_rpp_shape shape;
    uint32_t frequency;
    bool deferred;
    unsigned profiling; /* profile blocks under way */
    unsigned users;     /* calls and blocks that hold on to it; the last one frees what was stopped */
    bool ending, stopped;
    uint64_t start_ns, began_ns; /* epoch, monotonic */
    uint64_t overhead_before_ns, ticks_before;
} on_demand;

static on_demand *session;

static void deliver(rpp_profile *profile, void *context)
{
    const on_demand *s = context;
    if (rpp_recording_add(s->recording, profile, rb_rpp_frames_names()) != RPP_OK) {
        rpp_log(RPP_LOG_ERROR, "out of memory: a window of the session on demand is incomplete");
    }
    rpp_profile_free(profile);
}

static void begin_counting(on_demand *s, uint64_t now)
{
    s->start_ns = rpp_realtime_ns() - (rpp_monotonic_ns() - now);
    s->began_ns = now;
    s->overhead_before_ns = rpp_stats_get(RPP_STAT_overhead_ns);
    s->ticks_before = rpp_stats_get(RPP_STAT_ticks);
}

static void session_free(on_demand *s)
{
    rpp_pipeline_free(s->pipeline);
    rpp_recording_free(s->recording);
    rpp_free(s);
}

static void let_go(on_demand *s)
{
    if (--s->users == 0 && s->stopped) session_free(s);
}

static on_demand *session_new(const rb_rpp_shape *shape, uint32_t frequency)
{
    on_demand *s = rpp_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->shape = *shape;
    s->frequency = frequency;
    rpp_pipeline_options options = {
        .interval_ns = WINDOW_NS,
        .period_ns = RPP_NS_PER_S / frequency,
        .buffer_half_bytes = BUFFER_HALF_BYTES,
        .limits = rpp_profile_default_limits,
    };
    options.limits.separate_rows = shape->separate;
    rpp_pipeline_seams seams = rb_rpp_sampler_seams;
    seams.deliver = deliver;
    seams.context = s;
    s->recording = rpp_recording_new(shape->separate);
    s->pipeline = rpp_pipeline_new(&options, &seams, rb_rpp_frames_names());
    if (s->recording && s->pipeline && rpp_pipeline_start(s->pipeline) == RPP_OK) return s;
    session_free(s);
    return NULL;
}

typedef struct waiting {
    rpp_pipeline *pipeline;
    uint64_t deadline_ns;
    bool stop;
    rpp_status status;
} waiting;

static void *wait_without_gvl(void *argument)
{
    waiting *w = argument;
    w->status = w->stop ? rpp_pipeline_stop(w->pipeline, w->deadline_ns)
                        : rpp_pipeline_wait_delivered(w->pipeline, rpp_pipeline_window(w->pipeline), w->deadline_ns);
    return NULL;
}

/* All that was sampled until now is in the recording. */
static void bring_in(on_demand *s)
{
    waiting w = {.pipeline = s->pipeline, .deadline_ns = rpp_monotonic_ns() + PATIENCE_NS};
    if (!rb_rpp_settle_until(RB_RPP_ON_DEMAND, w.deadline_ns)) return;
    rb_thread_call_without_gvl(wait_without_gvl, &w, NULL, NULL);
}

/* No sample comes any more, and the collector is gone, unless that takes too long: then it keeps what it works on. */
static void end_session(on_demand *s, uint64_t patience_ns)
{
    waiting w = {.pipeline = s->pipeline, .deadline_ns = rpp_monotonic_ns() + patience_ns, .stop = true};
    rb_rpp_sampler_detach(RB_RPP_ON_DEMAND);
    session = NULL;
    rb_thread_call_without_gvl(wait_without_gvl, &w, NULL, NULL);
    s->stopped = w.status == RPP_OK;
}

static VALUE mode_symbols(unsigned mode)
{
    VALUE cpu = ID2SYM(rb_intern("cpu")), wall = ID2SYM(rb_intern("wall"));
    if (mode == RPP_MODE_CPU) return cpu;
    return mode == RPP_MODE_WALL ? wall : rb_ary_new_from_args(2, cpu, wall);
}

static void put(VALUE hash, const char *key, VALUE value)
{
    rb_hash_aset(hash, ID2SYM(rb_intern(key)), value);
}

static VALUE data_of(on_demand *s)
{
    VALUE data = rb_hash_new();
    put(data, "mode", mode_symbols(s->shape.mode));
    put(data, "frequency", UINT2NUM(s->frequency));
    put(data, "start_time_ns", ULL2NUM(s->start_ns));
    put(data, "duration_ns", ULL2NUM(rpp_pipeline_boundary_ns(s->pipeline) - s->began_ns));
    put(data, "trigger_count", ULL2NUM(rpp_stats_get(RPP_STAT_ticks) - s->ticks_before));
    put(data, "sampling_time_ns", ULL2NUM(rpp_stats_get(RPP_STAT_overhead_ns) - s->overhead_before_ns));
    rb_rpp_recorded_into(data, s->recording, &s->shape);
    return data;
}

/* --- methods of Native: arguments were checked by Ruby --- */

static VALUE native_start(VALUE self, VALUE mode, VALUE frequency, VALUE lines, VALUE aggregate, VALUE defer,
                          VALUE engine)
{
    if (session) rb_raise(rb_eRuntimeError, "profiling on demand is running already");
    rb_rpp_session_end_with_process();
    rb_rpp_shape shape = {.mode = NUM2UINT(mode), .lines = RTEST(lines), .separate = !RTEST(aggregate)};
    on_demand *s = session_new(&shape, NUM2UINT(frequency));
    if (!s) rb_memerror();
    rb_rpp_sampler_options options = {.period_ns = RPP_NS_PER_S / s->frequency,
                                      .lines = shape.lines,
                                      .overhead_limit = 1, /* whoever asks for it wants it */
                                      .engine = (rpp_engine_kind)NUM2INT(engine)};
    s->deferred = RTEST(defer);
    rb_rpp_sampler_attach(RB_RPP_ON_DEMAND, &options, s->pipeline, s->deferred);
    begin_counting(s, rpp_pipeline_boundary_ns(s->pipeline));
    session = s;
    return Qtrue;
}

static VALUE bring_in_all(VALUE argument)
{
    bring_in((on_demand *)argument);
    return Qnil;
}

/* Whatever is thrown at it while it waits without the GVL, the session ends. */
static VALUE native_stop(VALUE self)
{
    on_demand *s = session;
    int thrown = 0;
    if (!s || s->ending) return Qnil;
    s->ending = true;
    s->users++;
    rb_protect(bring_in_all, (VALUE)s, &thrown);
    end_session(s, PATIENCE_NS);
    VALUE data = thrown ? Qnil : data_of(s);
    let_go(s);
    if (thrown) rb_jump_tag(thrown);
    return data;
}

typedef struct snapshot {
    on_demand *session;
    bool clear;
} snapshot;

static VALUE take_snapshot(VALUE argument)
{
    const snapshot *wanted = (const snapshot *)argument;
    on_demand *s = wanted->session;
    bring_in(s);
    if (s != session) return Qnil; /* stopped meanwhile */
    VALUE data = data_of(s);
    if (wanted->clear) {
        if (rpp_recording_clear(s->recording) != RPP_OK) rb_memerror();
        begin_counting(s, rpp_pipeline_boundary_ns(s->pipeline));
    }
    return data;
}

static VALUE end_snapshot(VALUE argument)
{
    let_go(((snapshot *)argument)->session);
    return Qnil;
}

static VALUE native_snapshot(VALUE self, VALUE clear)
{
    snapshot wanted = {session, RTEST(clear)};
    if (!session || session->ending) return Qnil;
    session->users++;
    return rb_ensure(take_snapshot, (VALUE)&wanted, end_snapshot, (VALUE)&wanted);
}

static VALUE end_profile(VALUE argument)
{
    on_demand *s = (on_demand *)argument;
    if (--s->profiling == 0 && s == session && s->deferred) rb_rpp_sampler_pause(RB_RPP_ON_DEMAND);
    let_go(s);
    return Qnil;
}

static VALUE native_profile(VALUE self)
{
    on_demand *s = session;
    if (!s) rb_raise(rb_eRuntimeError, "profiling is not started: call RperfPush.start first");
    s->users++;
    if (s->profiling++ == 0 && s->deferred) rb_rpp_sampler_resume(RB_RPP_ON_DEMAND);
    return rb_ensure(rb_yield, Qundef, end_profile, (VALUE)s);
}

static VALUE native_is_recording(VALUE self)
{
    return session ? Qtrue : Qfalse;
}

VALUE rb_rpp_on_demand_drop(VALUE unused)
{
    on_demand *s = session;
    if (!s || s->ending) return Qnil;
    s->users++;
    end_session(s, LAST_PATIENCE_NS);
    let_go(s);
    return Qnil;
}

/* The parent's stays as it is in the child's memory; its locks and tables may be half-way. */
void rb_rpp_on_demand_forget_after_fork(void)
{
    session = NULL;
}

void rb_rpp_on_demand_init(VALUE native)
{
    rb_define_singleton_method(native, "start", native_start, 6);
    rb_define_singleton_method(native, "stop", native_stop, 0);
    rb_define_singleton_method(native, "snapshot", native_snapshot, 1);
    rb_define_singleton_method(native, "profile", native_profile, 0);
    rb_define_singleton_method(native, "recording?", native_is_recording, 0);
}
