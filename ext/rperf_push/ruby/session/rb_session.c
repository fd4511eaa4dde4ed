/* rb_session.c - the continuous session: settings in, everything started in order, and ended in order. */
#include "session/rb_session.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "captures/rb_outcomes.h"
#include "control/rb_control.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "core/http/http_client.h"
#include "core/settings/options.h"
#include "sampler/rb_fork_and_exit.h"
#include "sampler/rb_log.h"
#include "sampler/rb_sampler.h"
#include "session/rb_chain.h"
#include "session/rb_settings.h"
#include "threads/rb_subscribers.h"
#include "vm/rb_values.h"
#include "vm/rb_waiting.h"

/* An aborted upload ends within milliseconds; a disk may take longer. */
#define AFTER_DEADLINE_NS  RPP_NS_PER_S
#define AFTER_INTERRUPT_NS (50 * RPP_NS_PER_MS)
#define FORK_LOCK_WAIT_NS  (100 * RPP_NS_PER_MS)

/* A session is a delivery chain that runs. */
typedef rb_rpp_chain session;

static session *current;
static uint64_t current_began_ns;
/* The settings of a forked child, until its restart takes them. */
static rpp_settings *settings_for_child;
/* A thread inside libcurl holds it, and a fork waits for it. */
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool holds_fork_lock; /* the thread that forks */

/* --- beginning and ending --- */

static rb_rpp_sampler_options options_for(const rpp_settings *settings)
{
    return (rb_rpp_sampler_options){
        .period_ns = RPP_NS_PER_S / settings->frequency,
        .lines = settings->lines,
        .overhead_limit = settings->overhead_limit,
        .engine = (rpp_engine_kind)settings->engine,
        .mode = settings->mode,
    };
}

static VALUE prepare(VALUE settings)
{
    rb_rpp_sampler_options options = options_for((const rpp_settings *)settings);
    rb_rpp_sampler_prepare(&options, false);
    return Qnil;
}

/* Runs no Ruby code. */
static rpp_status session_start(session *s)
{
    rb_rpp_sampler_options options = options_for(s->settings);
    rb_rpp_process_end_with_process();
    current_began_ns = rpp_monotonic_ns();
    rpp_status status = rpp_uploader_start(s->uploader);
    if (status == RPP_OK) status = rpp_pipeline_start(s->pipeline);
    if (status != RPP_OK) return status;
    rb_rpp_sampler_attach(RB_RPP_CONTINUOUS, &options, s->pipeline, false);
    rb_rpp_outcomes_follow(s->settings);
    return RPP_OK;
}

typedef struct starting {
    session *session;
    rpp_status status;
} starting;

static VALUE start_protected(VALUE argument)
{
    starting *s = (starting *)argument;
    s->status = session_start(s->session);
    return Qnil;
}

typedef struct ending {
    session *session;
    uint64_t deadline_ns;
} ending;

/* A signal handler may cancel a wait that then goes on: the uploader that was told to stop would not wait for the last
 * window. */
static rpp_status end_threads(void *context, rpp_cancellation *cancellation)
{
    const ending *e = context;
    rpp_status collector = rpp_pipeline_stop(e->session->pipeline, cancellation);
    if (collector == RPP_TIMEOUT && atomic_load(&cancellation->cancelled)) return RPP_TIMEOUT;
    rpp_status uploader = rpp_uploader_stop(e->session->uploader, e->deadline_ns, cancellation);
    return collector == RPP_OK ? uploader : collector;
}

/* On a thread of its own, because no other one waits. */
static void *finish(void *context)
{
    ending e = {.session = context};
    rpp_cancellation endless = {.deadline_ns = UINT64_MAX};
    if (end_threads(&e, &endless) == RPP_OK) rb_rpp_chain_let_go(e.session);
    return NULL;
}

static bool is_attached(const session *s)
{
    return rb_rpp_subscriber_pipeline(RB_RPP_CONTINUOUS) == s->pipeline;
}

static VALUE flush_protected(VALUE argument)
{
    rb_rpp_flush_until(RB_RPP_CONTINUOUS, ((const ending *)argument)->deadline_ns);
    return Qnil;
}

static void tell_losses(const ending *e, uint64_t timeout_ns, uint64_t dropped, bool interrupted)
{
    char error[RPP_LAST_ERROR_MAX];
    bool known = rpp_stats_last_error(error, sizeof error) > 0;
    if (!interrupted && rpp_monotonic_ns() >= e->deadline_ns) {
        rpp_log(RPP_LOG_WARN,
                "the shutdown timeout of %.1f s passed before all was sent; profiles lost: %" PRIu64 "%s%s",
                (double)timeout_ns / (double)RPP_NS_PER_S, dropped, known ? "; last error: " : "", known ? error : "");
    } else {
        rpp_log(RPP_LOG_WARN, "the shutdown ended before all was sent (%s); profiles lost: %" PRIu64,
                known && !interrupted ? error : "it was broken off", dropped);
    }
}

/* Ends by the deadline, or soon after an exception for the caller, which counts as a deadline that has passed.
 * Afterwards no thread of ours calls Ruby; a finisher joins threads that take longer. While this releases the GVL,
 * another session may take over the sampler. */
static void session_stop(session *s, uint64_t timeout_ns)
{
    ending e = {.session = s, .deadline_ns = rpp_monotonic_ns() + timeout_ns};
    uint64_t dropped_before = rpp_stats_get(RPP_STAT_payloads_dropped_shutdown);
    rpp_status status = RPP_TIMEOUT;
    int thrown = 0;
    if (is_attached(s)) rpp_pipeline_set_last(s->pipeline);
    if (is_attached(s)) rb_protect(flush_protected, (VALUE)&e, &thrown);
    if (is_attached(s)) rb_rpp_sampler_detach(RB_RPP_CONTINUOUS);
    if (!thrown) thrown = rb_rpp_wait_until(end_threads, &e, e.deadline_ns + AFTER_DEADLINE_NS, &status);
    if (thrown && status != RPP_OK) {
        e.deadline_ns = rpp_monotonic_ns();
        int thrown_again = rb_rpp_wait_until(end_threads, &e, e.deadline_ns + AFTER_INTERRUPT_NS, &status);
        if (thrown_again) thrown = thrown_again;
    }
    uint64_t dropped = rpp_stats_get(RPP_STAT_payloads_dropped_shutdown) - dropped_before;
    if (dropped || status != RPP_OK) tell_losses(&e, timeout_ns, dropped, thrown);
    if (status == RPP_OK) {
        rb_rpp_chain_let_go(s);
    } else if (rb_rpp_finish_later(finish, s) != RPP_OK) {
        rpp_log(RPP_LOG_ERROR, "the system gave no thread to end a session with: its memory is kept");
    }
    if (thrown) rb_jump_tag(thrown);
}

static void stop_current(uint64_t timeout_ns)
{
    session *s = current;
    current = NULL; /* others may come while we wait without the GVL */
    rb_rpp_outcomes_follow(NULL);
    if (s) session_stop(s, timeout_ns);
    rb_rpp_log_flush();
}

/* --- fork --- */

/* libcurl before 7.87 waits inside for an abandoned name lookup. A fork does not wait that long: the child
 * leaves the parent's client alone in any case. */
static void before_fork(void)
{
    holds_fork_lock = rpp_mutex_lock_within(&fork_lock, FORK_LOCK_WAIT_NS);
}

static void after_fork_in_parent(void)
{
    if (holds_fork_lock) pthread_mutex_unlock(&fork_lock);
}

/* The parent's chain stays as it is in the child's memory: its locks and tables may be half-way, and it has no
 * threads. */
static void discard_after_fork(void)
{
    session *parents = current;
    pthread_mutex_init(&fork_lock, NULL);
    current = NULL;
    rb_rpp_outcomes_follow(NULL);
    rpp_exporter_discard_after_fork();
    if (parents) {
        settings_for_child = parents->settings;
        rpp_uploader_discard_after_fork(parents->uploader);
        parents->http->discard_after_fork(parents->http);
        rpp_pipeline_discard_after_fork(parents->pipeline);
    }
    if (settings_for_child) rpp_stats_add(RPP_STAT_forks, 1);
}

static VALUE restart_in_child(VALUE unused)
{
    rpp_settings *settings = settings_for_child;
    settings_for_child = NULL;
    int thrown = 0;
    if (settings) rb_protect(prepare, (VALUE)settings, &thrown);
    if (!settings || current) {
        rpp_settings_free(settings);
        if (thrown) rb_jump_tag(thrown);
        return Qnil;
    }
    starting s = {.session = rb_rpp_chain_new(settings, &fork_lock), .status = RPP_NO_MEMORY};
    if (s.session && !thrown) rb_protect(start_protected, (VALUE)&s, &thrown);
    if (s.status == RPP_OK && !thrown) {
        current = s.session;
        return Qnil;
    }
    rpp_log(RPP_LOG_ERROR, "not started in the forked process %d: %s", (int)getpid(),
            thrown ? "interrupted" : rpp_status_text(s.status));
    if (s.session) session_stop(s.session, 0);
    if (thrown) rb_jump_tag(thrown);
    return Qnil;
}

/* --- exit --- */

static VALUE end_at_exit(VALUE unused)
{
    if (current) stop_current(current->settings->shutdown_timeout_ns);
    return Qnil;
}

const rb_rpp_participant rb_rpp_session_participant = {
    .before_fork = before_fork,
    .after_fork_in_parent = after_fork_in_parent,
    .discard_after_fork = discard_after_fork,
    .restart_in_child = restart_in_child,
    .end_at_exit = end_at_exit,
};

static void prepare_process_once(void)
{
    static bool done;
    if (done) return;
    if (rpp_curl_global_init() != RPP_OK) rb_raise(rb_eRuntimeError, "libcurl could not be initialized");
    rb_rpp_process_follow_forks();
    done = true;
}

/* Restarts a forked child that has not reached its first safepoint yet. */
static void catch_up_after_fork(void)
{
    if (settings_for_child) rb_thread_check_ints();
}

/* --- methods of Native --- */

static VALUE description_of_ruby(void)
{
    VALUE description = rb_const_get(rb_cObject, rb_intern("RUBY_DESCRIPTION"));
    return RB_TYPE_P(description, T_STRING) ? description : rb_utf8_str_new_cstr("ruby");
}

/* Another thread, or a signal handler, may configure meanwhile. */
static VALUE make_way_for(VALUE settings)
{
    if (((const rpp_settings *)settings)->enabled) prepare(settings);
    while (current) stop_current(current->settings->shutdown_timeout_ns);
    return Qnil;
}

/* Takes ownership of the settings. Also after an exception, a session either runs or has ended. */
static void start_current(rpp_settings *settings, VALUE errors)
{
    starting s = {.session = rb_rpp_chain_new(settings, &fork_lock)};
    if (!s.session) rb_memerror();
    int thrown = 0;
    rb_protect(start_protected, (VALUE)&s, &thrown);
    if (!thrown && s.status == RPP_OK) {
        current = s.session;
        rb_rpp_control_follow(current->settings);
        return;
    }
    session_stop(s.session, thrown ? 0 : RPP_NS_PER_S);
    if (thrown) rb_jump_tag(thrown);
    rb_ary_push(errors, rb_utf8_str_new_cstr("the system gave no thread"));
}

static VALUE native_configure(VALUE self, VALUE options, VALUE texts, VALUE logger, VALUE known_errors)
{
    VALUE errors = rb_ary_dup(known_errors), description = description_of_ruby();
    Check_Type(options, T_HASH);
    Check_Type(texts, T_HASH);
    prepare_process_once();
    rpp_settings *settings = rb_rpp_settings_from(texts, options, errors);
    if (!settings) return errors;
    settings->ruby_description = rpp_strdup(StringValueCStr(description));
    int thrown = 0;
    rb_protect(make_way_for, (VALUE)settings, &thrown);
    if (thrown) {
        rpp_settings_free(settings);
        rb_jump_tag(thrown);
    }
    rpp_settings_free(settings_for_child); /* configured in a forked child before its restart came */
    settings_for_child = NULL;
    rb_rpp_log_to(logger);
    if (settings->enabled) {
        start_current(settings, errors);
    } else {
        rpp_settings_free(settings);
        rb_rpp_control_leave();
    }
    return errors;
}

static uint64_t timeout_ns_of(VALUE seconds, uint64_t otherwise)
{
    if (NIL_P(seconds)) return otherwise;
    double value = NUM2DBL(seconds);
    if (!(value >= 0)) rb_raise(rb_eArgError, "timeout must not be negative");
    return value > 86400 ? 86400 * RPP_NS_PER_S : (uint64_t)(value * 1e9);
}

static VALUE native_shutdown(VALUE self, VALUE timeout)
{
    catch_up_after_fork();
    if (current) stop_current(timeout_ns_of(timeout, current->settings->shutdown_timeout_ns));
    if (!current) rb_rpp_control_leave();
    return Qnil;
}

typedef struct flush {
    session *session;
    uint64_t deadline_ns;
    uint32_t window;
    rpp_flush of_uploader;
} flush;

static rpp_status wait_delivered(void *context, rpp_cancellation *cancellation)
{
    flush *f = context;
    rpp_status status = rpp_pipeline_wait_delivered(f->session->pipeline, f->window, cancellation);
    return status == RPP_OK ? rpp_uploader_flush(f->session->uploader, &f->of_uploader, cancellation) : status;
}

static VALUE flush_window(VALUE argument)
{
    flush *f = (flush *)argument;
    f->of_uploader = rpp_uploader_begin_flush(f->session->uploader);
    if (!rb_rpp_flush_until(RB_RPP_CONTINUOUS, f->deadline_ns)) return Qfalse;
    if (f->session != current) return Qtrue; /* the thread that stopped it has sent the rest */
    f->window = rpp_pipeline_window(f->session->pipeline);
    rpp_status status;
    int thrown = rb_rpp_wait_until(wait_delivered, f, f->deadline_ns, &status);
    if (thrown) rb_jump_tag(thrown);
    return status == RPP_OK ? Qtrue : Qfalse;
}

static VALUE end_flush(VALUE argument)
{
    rb_rpp_chain_let_go(((const flush *)argument)->session);
    return Qnil;
}

static VALUE native_flush(VALUE self, VALUE timeout)
{
    catch_up_after_fork();
    flush f = {.session = current, .deadline_ns = rpp_monotonic_ns() + timeout_ns_of(timeout, 5 * RPP_NS_PER_S)};
    if (!f.session) return Qfalse;
    f.session->users++;
    VALUE delivered = rb_ensure(flush_window, (VALUE)&f, end_flush, (VALUE)&f);
    rb_rpp_log_flush();
    return delivered;
}

bool rb_rpp_session_runs(void)
{
    catch_up_after_fork();
    return current != NULL;
}

static VALUE native_is_running(VALUE self)
{
    return rb_rpp_session_runs() ? Qtrue : Qfalse;
}

/* Where profiles go, and how often. */
static VALUE destination_of(const rpp_settings *s)
{
    VALUE hash = rb_hash_new();
    rb_rpp_put(hash, "backend", rb_utf8_str_new_cstr(rpp_option_find("backend")->choices[s->backend]));
    rb_rpp_put(hash, "target", rb_rpp_settings_target(s));
    rb_rpp_put(hash, "frequency", UINT2NUM(s->frequency));
    rb_rpp_put(hash, "interval", DBL2NUM((double)s->upload_interval_ns / RPP_NS_PER_S));
    return hash;
}

/* The facts for the line in the log at the start, and the age. nil: no session runs. */
static VALUE native_started(VALUE self)
{
    if (!current) return Qnil;
    VALUE hash = destination_of(current->settings);
    rb_rpp_put(hash, "application", rb_utf8_str_new_cstr(current->settings->application_name));
    rb_rpp_put(hash, "engine", rb_utf8_str_new_cstr(rb_rpp_sampler_engine()));
    rb_rpp_put(hash, "age_ns", ULL2NUM(rpp_ns_since(rpp_monotonic_ns(), current_began_ns)));
    return hash;
}

/* What a session with these settings would send to. nil: they are wrong, or switch it off. */
static VALUE native_destination(VALUE self, VALUE options, VALUE texts)
{
    rpp_settings *settings = rb_rpp_settings_from(texts, options, rb_ary_new());
    VALUE destination = settings && settings->enabled ? destination_of(settings) : Qnil;
    rpp_settings_free(settings);
    return destination;
}

static VALUE native_option_names(VALUE self)
{
    VALUE names = rb_ary_new();
    for (size_t i = 0; i < rpp_option_count(); i++) rb_ary_push(names, rb_utf8_str_new_cstr(rpp_option_name(i)));
    return names;
}

static VALUE native_option_meant_by(VALUE self, VALUE name)
{
    const char *option = rpp_option_meant_by(StringValueCStr(name));
    return option ? rb_utf8_str_new_cstr(option) : Qnil;
}

void rb_rpp_session_init(VALUE native)
{
    rb_define_singleton_method(native, "configure", native_configure, 4);
    rb_define_singleton_method(native, "shutdown", native_shutdown, 1);
    rb_define_singleton_method(native, "flush", native_flush, 1);
    rb_define_singleton_method(native, "running?", native_is_running, 0);
    rb_define_singleton_method(native, "started", native_started, 0);
    rb_define_singleton_method(native, "destination", native_destination, 2);
    rb_define_singleton_method(native, "option_names", native_option_names, 0);
    rb_define_singleton_method(native, "option_meant_by", native_option_meant_by, 1);
}
