/* rb_session.c - the continuous session: settings in, everything started in order, and ended in order; fork and exit. */
#include "rb_session.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/exporter.h"
#include "core/http_client.h"
#include "core/log.h"
#include "core/pipeline.h"
#include "core/stats.h"
#include "core/uploader.h"
#include "rb_frames.h"
#include "rb_log.h"
#include "rb_on_demand.h"
#include "rb_sampler.h"
#include "rb_settings.h"
#include "rb_threads.h"

#define BUFFER_HALF_BYTES  (1024 * 1024)
#define QUEUE_MAX_PAYLOADS 4096
#define RETRY_FIRST_NS     RPP_NS_PER_S
#define RETRY_MAX_NS       (60 * RPP_NS_PER_S)

/* One running delivery chain, in the order of the path of a sample. */
typedef struct session {
    rpp_settings *settings;
    rpp_payload_queue *queue;
    rpp_http_client *http;
    rpp_backend *backend;
    rpp_exporter *exporter;
    rpp_spool *spool; /* NULL: none is wanted */
    rpp_uploader *uploader;
    rpp_pipeline *pipeline;
    unsigned flushing; /* calls that wait on it without the GVL; the last one frees what was stopped meanwhile */
    bool stopped;
} session;

static session *current;
static VALUE native_module;
static bool ends_with_process; /* an end proc and a finalizer are still to come */
/* What a forked child shall run with; taken over by the restart job. */
static rpp_settings *settings_for_child;
/* Held by whoever is inside libcurl; a fork waits for it. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* --- building and ending --- */

static void deliver(rpp_profile *profile, void *context)
{
    rpp_exporter_export(((session *)context)->exporter, profile);
}

static void session_free(session *s)
{
    if (!s) return;
    rpp_pipeline_free(s->pipeline);
    rpp_uploader_free(s->uploader);
    rpp_spool_free(s->spool);
    rpp_exporter_free(s->exporter);
    if (s->backend) s->backend->free(s->backend);
    if (s->http) s->http->free(s->http);
    rpp_payload_queue_free(s->queue);
    rpp_settings_free(s->settings);
    rpp_free(s);
}

static rpp_uploader *new_uploader(session *s)
{
    rpp_uploader_options options = {
        .upload_timeout_ns = s->settings->upload_timeout_ns,
        .max_age_ns = s->backend->limits.max_age_ns,
        .backoff = {.first_ns = RETRY_FIRST_NS,
                    .max_ns = RETRY_MAX_NS,
                    .resend_unconfirmed = s->settings->resend_unconfirmed},
        .spool = s->spool,
    };
    return rpp_uploader_new(&options, s->queue, s->backend, s->http);
}

static rpp_pipeline *new_pipeline(session *s)
{
    rpp_pipeline_options options = {
        .interval_ns = s->settings->upload_interval_ns,
        .period_ns = RPP_NS_PER_S / s->settings->frequency,
        .buffer_half_bytes = BUFFER_HALF_BYTES,
        .limits = rpp_profile_default_limits,
        .tells_silence = true,
    };
    rpp_pipeline_seams seams = rb_rpp_sampler_seams;
    seams.deliver = deliver;
    seams.context = s;
    return rpp_pipeline_new(&options, &seams, rb_rpp_frames_names());
}

/* Takes the settings. NULL when out of memory. */
static session *session_new(rpp_settings *settings)
{
    session *s = rpp_calloc(1, sizeof *s);
    if (!s) {
        rpp_settings_free(settings);
        return NULL;
    }
    s->settings = settings;
    s->queue = rpp_payload_queue_new(QUEUE_MAX_PAYLOADS, settings->queue_max_bytes);
    s->http = rpp_curl_client_new(settings, &gate);
    if (s->http) s->backend = rpp_backend_new(settings, s->http);
    bool wants_spool = settings->spool_directory && *settings->spool_directory;
    if (wants_spool) s->spool = rpp_spool_new(settings);
    if (s->backend && s->queue && (s->spool || !wants_spool)) {
        s->exporter = rpp_exporter_new(settings, rb_rpp_frames_names(), s->queue, &s->backend->limits,
                                       s->backend->legal_label_names);
        s->uploader = new_uploader(s);
        s->pipeline = new_pipeline(s);
    }
    if (s->exporter && s->uploader && s->pipeline) return s;
    session_free(s);
    return NULL;
}

static rpp_status session_start(session *s)
{
    rb_rpp_sampler_options options = {
        .period_ns = RPP_NS_PER_S / s->settings->frequency,
        .lines = s->settings->lines,
        .overhead_limit = s->settings->overhead_limit,
        .engine = (rpp_engine_kind)s->settings->engine,
    };
    rb_rpp_session_end_with_process();
    rpp_status status = rpp_uploader_start(s->uploader);
    if (status == RPP_OK) status = rpp_pipeline_start(s->pipeline);
    if (status == RPP_OK) rb_rpp_sampler_attach(RB_RPP_CONTINUOUS, &options, s->pipeline, false);
    return status;
}

typedef struct waiting {
    session *session;
    uint64_t deadline_ns;
    uint32_t window;
    uint64_t lost_before;
    rpp_status status;
} waiting;

static void *stop_threads(void *argument)
{
    waiting *w = argument;
    rpp_status collector = rpp_pipeline_stop(w->session->pipeline, w->deadline_ns);
    rpp_status uploader = rpp_uploader_stop(w->session->uploader, w->deadline_ns);
    w->status = collector == RPP_OK ? uploader : collector;
    return NULL;
}

static bool is_attached(const session *s)
{
    return rb_rpp_outlet_pipeline(RB_RPP_CONTINUOUS) == s->pipeline;
}

static VALUE settle_protected(VALUE argument)
{
    rb_rpp_settle_until(RB_RPP_CONTINUOUS, ((const waiting *)argument)->deadline_ns);
    return Qnil;
}

static VALUE stop_threads_protected(VALUE argument)
{
    rb_thread_call_without_gvl(stop_threads, (void *)argument, NULL, NULL);
    return Qnil;
}

static void tell_losses(const waiting *w, uint64_t timeout_ns, uint64_t dropped)
{
    char error[RPP_LAST_ERROR_MAX];
    bool known = rpp_stats_last_error(error, sizeof error) > 0;
    if (rpp_monotonic_ns() >= w->deadline_ns) {
        rpp_log(RPP_LOG_WARN, "the shutdown timeout of %.1f s passed before all was sent; profiles lost: %" PRIu64,
                (double)timeout_ns / (double)RPP_NS_PER_S, dropped);
    } else {
        rpp_log(RPP_LOG_WARN, "the shutdown ended before all was sent (%s); profiles lost: %" PRIu64,
                known ? error : "it was broken off", dropped);
    }
}

/* Whatever the deadline says, and whatever is thrown at the caller meanwhile (Timeout, Thread#kill), afterwards no thread of
 * ours calls Ruby. While this lets go of the GVL, another session may take the sampler over. */
static void session_stop(session *s, uint64_t timeout_ns)
{
    waiting w = {.session = s, .deadline_ns = rpp_monotonic_ns() + timeout_ns, .status = RPP_TIMEOUT};
    uint64_t dropped_before = rpp_stats_get(RPP_STAT_payloads_dropped_shutdown);
    int thrown_settling = 0, thrown_stopping = 0;
    if (is_attached(s)) rb_protect(settle_protected, (VALUE)&w, &thrown_settling);
    if (is_attached(s)) rb_rpp_sampler_detach(RB_RPP_CONTINUOUS);
    rb_protect(stop_threads_protected, (VALUE)&w, &thrown_stopping);
    uint64_t dropped = rpp_stats_get(RPP_STAT_payloads_dropped_shutdown) - dropped_before;
    if (dropped || w.status != RPP_OK) tell_losses(&w, timeout_ns, dropped);
    if (w.status == RPP_OK) { /* else a thread is still in there */
        s->stopped = true;
        if (!s->flushing) session_free(s);
    }
    if (thrown_settling || thrown_stopping) rb_jump_tag(thrown_settling ? thrown_settling : thrown_stopping);
}

static void stop_current(uint64_t timeout_ns)
{
    session *s = current;
    current = NULL; /* others may come while we wait without the GVL */
    if (s) session_stop(s, timeout_ns);
    rb_rpp_log_flush();
}

/* --- fork --- */

static void before_fork(void)
{
    pthread_mutex_lock(&gate);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&gate);
}

/* The parent's chain stays as it is in the child's memory: its locks and tables may be half-way, and it has no threads. */
static void restart_in_child(void)
{
    rpp_settings *settings = settings_for_child;
    settings_for_child = NULL;
    if (!settings || current) return;
    session *s = session_new(settings);
    rpp_status status = s ? session_start(s) : RPP_NO_MEMORY;
    if (status == RPP_OK) {
        current = s;
        return;
    }
    if (s) session_stop(s, 0);
    rpp_log(RPP_LOG_ERROR, "not started in the forked process %d: %s", (int)getpid(), rpp_status_text(status));
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&gate, NULL);
    rb_rpp_log_forget_after_fork();
    bool was_running = current != NULL;
    if (was_running) {
        settings_for_child = current->settings;
        rpp_uploader_forget_after_fork(current->uploader);
        current = NULL;
    }
    rpp_stats_reset();
    if (was_running || settings_for_child) rpp_stats_add(RPP_STAT_forks, 1);
    rb_rpp_on_demand_forget_after_fork();
    rb_rpp_sampler_forget_after_fork(restart_in_child);
}

/* --- exit --- */

static VALUE end_continuous(VALUE unused)
{
    if (current) stop_current(current->settings->shutdown_timeout_ns);
    return Qnil;
}

/* What is begun after this, by an end proc that comes later, has it called once more. */
static void at_exit(VALUE unused)
{
    ends_with_process = false;
    rb_ensure(rb_rpp_on_demand_drop, Qnil, end_continuous, Qnil);
}

/* All end procs have run and all other threads are gone, but Ruby still works. Next it is taken apart. */
static VALUE at_vm_end(RB_BLOCK_CALL_FUNC_ARGLIST(unused, unused_too))
{
    rb_rpp_sampler_leave_vm();
    at_exit(Qnil);
    return Qnil;
}

/* Of objects that are still alive Ruby calls the finalizers at the exit, even those defined meanwhile. */
void rb_rpp_session_end_with_process(void)
{
    if (ends_with_process) return;
    ends_with_process = true;
    rb_set_end_proc(at_exit, Qnil);
    rb_define_finalizer(native_module, rb_proc_new(at_vm_end, Qnil));
}

static void prepare_process_once(void)
{
    static bool done;
    if (done) return;
    if (rpp_curl_global_init() != RPP_OK) rb_raise(rb_eRuntimeError, "libcurl could not be initialized");
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    done = true;
}

/* A forked child that has not come to its restart yet comes to it now. */
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

static VALUE native_configure(VALUE self, VALUE options, VALUE texts, VALUE logger)
{
    VALUE mistakes = rb_ary_new(), description = description_of_ruby();
    Check_Type(options, T_HASH);
    Check_Type(texts, T_HASH);
    rpp_settings *settings = rb_rpp_settings_from(texts, options, mistakes);
    if (!settings) return mistakes;
    settings->ruby_description = rpp_strdup(StringValueCStr(description));
    prepare_process_once();
    while (current) stop_current(current->settings->shutdown_timeout_ns); /* others may configure meanwhile */
    rpp_settings_free(settings_for_child); /* configured in a forked child before its restart came */
    settings_for_child = NULL;
    rb_rpp_log_to(logger);
    if (!settings->enabled) {
        rpp_settings_free(settings);
        return mistakes;
    }
    session *s = session_new(settings);
    if (!s) rb_memerror();
    rpp_status status = session_start(s);
    if (status != RPP_OK) {
        session_stop(s, RPP_NS_PER_S);
        rb_ary_push(mistakes, rb_utf8_str_new_cstr("the system gave no thread"));
        return mistakes;
    }
    current = s;
    return mistakes;
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
    return Qnil;
}

static void *wait_delivered(void *argument)
{
    waiting *w = argument;
    w->status = rpp_pipeline_wait_delivered(w->session->pipeline, w->window, w->deadline_ns);
    if (w->status == RPP_OK) w->status = rpp_uploader_flush(w->session->uploader, w->lost_before, w->deadline_ns);
    return NULL;
}

static VALUE native_flush(VALUE self, VALUE timeout)
{
    catch_up_after_fork();
    session *s = current;
    waiting w = {.session = s, .deadline_ns = rpp_monotonic_ns() + timeout_ns_of(timeout, 5 * RPP_NS_PER_S)};
    if (!s) return Qfalse;
    s->flushing++;
    w.lost_before = rpp_uploader_lost(s->uploader); /* the window that is closed now may be so before the wait begins */
    w.status = rb_rpp_settle_until(RB_RPP_CONTINUOUS, w.deadline_ns) ? RPP_OK : RPP_TIMEOUT;
    if (w.status == RPP_OK && s == current) {
        w.window = rpp_pipeline_window(s->pipeline);
        rb_thread_call_without_gvl(wait_delivered, &w, NULL, NULL);
    }
    if (--s->flushing == 0 && s->stopped) session_free(s);
    rb_rpp_log_flush();
    return w.status == RPP_OK ? Qtrue : Qfalse;
}

static VALUE native_is_running(VALUE self)
{
    catch_up_after_fork();
    return current ? Qtrue : Qfalse;
}

static void set(VALUE hash, const char *name, VALUE value)
{
    rb_hash_aset(hash, ID2SYM(rb_intern(name)), value);
}

static VALUE native_stats(VALUE self)
{
    catch_up_after_fork();
    VALUE hash = rb_hash_new();
    char error[RPP_LAST_ERROR_MAX];
    uint64_t period = rpp_stats_get(RPP_STAT_period_ns), error_at = rpp_stats_last_error(error, sizeof error);
    set(hash, "running", current ? Qtrue : Qfalse);
    set(hash, "engine", current ? rb_utf8_str_new_cstr(rb_rpp_sampler_engine()) : Qnil);
    set(hash, "effective_frequency", current && period ? DBL2NUM(1e9 / (double)period) : Qnil);
    set(hash, "overhead", current ? DBL2NUM(rb_rpp_sampler_overhead()) : Qnil);
    for (int stat = 0; stat < RPP_STAT_COUNT; stat++) {
        set(hash, rpp_stats_name((rpp_stat)stat), ULL2NUM(rpp_stats_get((rpp_stat)stat)));
    }
    set(hash, "last_error", error_at ? rb_utf8_str_new_cstr(error) : Qnil);
    set(hash, "last_error_at_ns", error_at ? ULL2NUM(error_at) : Qnil);
    return hash;
}

static VALUE native_option_names(VALUE self)
{
    VALUE names = rb_ary_new();
    for (size_t i = 0; i < rpp_option_count(); i++) rb_ary_push(names, rb_utf8_str_new_cstr(rpp_option_name(i)));
    return names;
}

void rb_rpp_session_init(VALUE native)
{
    native_module = native;
    /* End procs run in reverse: the earlier this one comes, the more of the program is profiled; some servers run in one. */
    rb_rpp_session_end_with_process();
    rb_define_singleton_method(native, "configure", native_configure, 3);
    rb_define_singleton_method(native, "shutdown", native_shutdown, 1);
    rb_define_singleton_method(native, "flush", native_flush, 1);
    rb_define_singleton_method(native, "running?", native_is_running, 0);
    rb_define_singleton_method(native, "stats", native_stats, 0);
    rb_define_singleton_method(native, "option_names", native_option_names, 0);
}
