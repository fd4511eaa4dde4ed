/* rb_tools.c - result for the command line: one profile, one try, with or without a session.
 *
 * It uses the parts of a session without its threads. It holds no fork_lock, because a forked child uses none of it.
 */
#include "session/rb_tools.h"

#include <string.h>

#include "core/backends/backend_kinds.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/delivery/exporter.h"
#include "core/http/http_client.h"
#include "session/rb_settings.h"
#include "vm/rb_values.h"

/* The settings of one call from Ruby, and the objects made from them. */
typedef struct tool {
    VALUE options, texts, errors, bytes;
    rpp_value_group group;
    uint64_t time_ns, duration_ns, samples;
    rpp_settings *settings;
    rpp_http_client *http;
    rpp_backend *backend;
    rpp_payload *payload;
    rpp_frame_names *names;
    rpp_payload_queue *queue;
    rpp_exporter *exporter;
    rpp_upload_result result;
    rpp_status status;
} tool;

static VALUE free_tool(VALUE argument)
{
    tool *t = (tool *)argument;
    rpp_payload_free(t->payload);
    rpp_exporter_free(t->exporter);
    rpp_payload_queue_free(t->queue);
    rpp_frame_names_free(t->names);
    if (t->backend) t->backend->free(t->backend);
    if (t->http) t->http->free(t->http);
    rpp_settings_free(t->settings);
    return Qnil;
}

/* False if the settings are wrong: t->errors has the reasons. */
static bool open_backend(tool *t)
{
    Check_Type(t->options, T_HASH);
    Check_Type(t->texts, T_HASH);
    t->settings = rb_rpp_settings_from(t->texts, t->options, t->errors);
    if (!t->settings) return false;
    if (rpp_curl_global_init() != RPP_OK) rb_raise(rb_eRuntimeError, "libcurl could not be initialized");
    t->http = rpp_curl_client_new(t->settings, NULL);
    t->backend = t->http ? rpp_backend_new(t->settings, t->http) : NULL;
    if (!t->backend) rb_memerror();
    return true;
}

/* --- a test profile --- */

/* A millisecond in one method: enough to be visible, too little to matter. */
static rpp_profile *tiny_profile(tool *t, const char *name)
{
    t->names = rpp_frame_names_new(64);
    if (!t->names) rb_memerror();
    rb_rpp_check(rpp_frame_names_ensure(t->names, 1), rb_eRuntimeError);
    rpp_location location = {rpp_frame_names_reserve(t->names), 1};
    rb_rpp_check(rpp_frame_names_set(t->names, location.frame, name, strlen(name), "check.rb", 8, 1, false),
                 rb_eRuntimeError);

    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    if (!profile) rb_memerror();
    rpp_sample sample = {
        .cpu_ns = RPP_NS_PER_MS, .wall_ns = RPP_NS_PER_MS, .thread_seq = 1, .depth = 1, .state = RPP_STATE_RUNNING};
    t->status = rpp_profile_add(profile, &sample, &location);
    rpp_profile_close(profile, rpp_realtime_ns() - RPP_NS_PER_S, RPP_NS_PER_S);
    return profile;
}

static VALUE make_tiny_profile(VALUE argument)
{
    tool *t = (tool *)argument;
    if (!open_backend(t)) return t->errors;
    t->queue = rpp_payload_queue_new(1, SIZE_MAX);
    rpp_profile *profile = tiny_profile(t, "rperf-push check");
    if (t->queue) {
        t->exporter = rpp_exporter_new(t->settings, t->names, t->queue, &t->backend->rules);
    }
    if (!t->exporter) {
        rpp_profile_free(profile);
        rb_memerror();
    }
    rpp_exporter_export(t->exporter, profile);
    t->payload = rpp_payload_queue_pop(t->queue, rpp_monotonic_ns());
    if (!t->payload) rb_raise(rb_eRuntimeError, "the profile could not be encoded");
    return rb_str_new((const char *)t->payload->bytes, (long)t->payload->length);
}

/* The bytes of a gzip-compressed pprof as a session with these settings would send it, or the Array of errors. */
static VALUE native_tiny_profile(VALUE self, VALUE options, VALUE texts)
{
    tool t = {.options = options, .texts = texts, .errors = rb_ary_new()};
    return rb_ensure(make_tiny_profile, (VALUE)&t, free_tool, (VALUE)&t);
}

/* --- one try --- */

static void *try_once(void *argument)
{
    tool *t = argument;
    uint64_t deadline_ns = rpp_monotonic_ns() + t->settings->upload_timeout_ns;
    t->status = t->backend->deliver(t->backend, t->payload, deadline_ns, &t->result);
    return NULL;
}

static void interrupt(void *argument)
{
    tool *t = argument;
    t->http->interrupt(t->http);
}

static rpp_payload *copy_payload(const tool *t)
{
    static uint64_t sequence; /* under the GVL */
    uint8_t *bytes = rpp_malloc((size_t)RSTRING_LEN(t->bytes) + 1);
    if (!bytes) return NULL;
    memcpy(bytes, RSTRING_PTR(t->bytes), (size_t)RSTRING_LEN(t->bytes));
    rpp_payload *payload = rpp_payload_new(bytes, (size_t)RSTRING_LEN(t->bytes));
    if (!payload) return NULL;
    payload->time_ns = t->time_ns;
    payload->duration_ns = t->duration_ns;
    payload->samples = t->samples;
    payload->group = t->group;
    payload->sequence = ++sequence;
    return payload;
}

static const char *verdict_name(const tool *t)
{
    rpp_retry_policy policy = {.first_ns = RPP_NS_PER_S, .max_ns = RPP_NS_PER_S};
    uint64_t random = 1, due_ns;
    switch (rpp_retry_decide(&policy, &t->result.attempt, (rpp_tries){.begun = 1, .server_errors = 1}, 0, &random,
                             &due_ns)) {
    case RPP_VERDICT_DELIVERED: return "delivered";
    case RPP_VERDICT_RETRY: return "retry";
    case RPP_VERDICT_UNCONFIRMED: return "unconfirmed";
    case RPP_VERDICT_ABORTED: return "aborted";
    default: return "rejected";
    }
}

static VALUE describe(const tool *t, const char *verdict, uint64_t took_ns)
{
    const rpp_attempt *attempt = &t->result.attempt;
    bool answered = attempt->end == RPP_END_ANSWERED;
    VALUE hash = rb_hash_new();
    rb_rpp_put(hash, "verdict", ID2SYM(rb_intern(verdict)));
    rb_rpp_put(hash, "http_status", answered ? INT2FIX(attempt->http_status) : Qnil);
    rb_rpp_put(hash, "failure", t->result.failure ? ID2SYM(rb_intern(rpp_failure_name(t->result.failure))) : Qnil);
    rb_rpp_put(hash, "message", rb_utf8_str_new_cstr(t->result.message));
    rb_rpp_put(hash, "retry_after", attempt->retry_after_ns ? DBL2NUM((double)attempt->retry_after_ns / 1e9) : Qnil);
    rb_rpp_put(hash, "timed_out", t->result.timed_out ? Qtrue : Qfalse);
    rb_rpp_put(hash, "seconds", DBL2NUM((double)took_ns / 1e9));
    rb_rpp_put(hash, "backend", rb_utf8_str_new_cstr(t->backend->name));
    rb_rpp_put(hash, "target", rb_rpp_settings_target(t->settings));
    rb_rpp_put(hash, "application_name", rb_utf8_str_new_cstr(t->settings->application_name));
    rb_rpp_put(hash, "max_raw_bytes",
               t->backend->rules.max_raw_bytes ? SIZET2NUM(t->backend->rules.max_raw_bytes) : Qnil);
    return hash;
}

static bool is_too_old(tool *t)
{
    uint64_t now = rpp_realtime_ns(), max_ns = t->backend->rules.max_age_ns;
    if (!max_ns || t->time_ns + max_ns >= now) return false;
    snprintf(t->result.message, sizeof t->result.message,
             "the profile is %.1f hours old, the backend takes it for %.0f minutes",
             (double)(now - t->time_ns) / 3600e9, (double)max_ns / 60e9);
    return true;
}

static VALUE deliver_once(VALUE argument)
{
    tool *t = (tool *)argument;
    if (!open_backend(t)) return t->errors;
    if (is_too_old(t)) return describe(t, "too_old", 0);
    t->payload = copy_payload(t);
    if (!t->payload) rb_memerror();
    uint64_t started = rpp_monotonic_ns();
    rb_thread_call_without_gvl(try_once, t, interrupt, t);
    uint64_t took_ns = rpp_monotonic_ns() - started;
    rb_thread_check_ints();
    rb_rpp_check(t->status, rb_eRuntimeError);
    return describe(t, verdict_name(t), took_ns);
}

static rpp_value_group group_numbered(VALUE number)
{
    unsigned group = NUM2UINT(number);
    if (group >= RPP_GROUP_COUNT) rb_raise(rb_eArgError, "no group of values has the number %u", group);
    return (rpp_value_group)group;
}

/* One try, without a session. Returns a Hash with the result, or the Array of errors in the settings:
 *   verdict      :delivered; :retry (worth another try), :unconfirmed (may have been stored), :rejected; :too_old (not
 *                tried)
 *   http_status  or nil       message  or ""       failure  its code (core/http/http_failure.h) or nil
 *   retry_after, seconds  in seconds       timed_out
 *   max_raw_bytes  before compression, that the backend surely takes; nil: any number
 *   backend, target, application_name  in effect; the target without credentials */
static VALUE native_deliver(VALUE self, VALUE options, VALUE texts, VALUE bytes, VALUE time_ns, VALUE duration_ns,
                            VALUE samples, VALUE group)
{
    StringValue(bytes);
    tool t = {.options = options,
              .texts = texts,
              .errors = rb_ary_new(),
              .bytes = bytes,
              .group = group_numbered(group),
              .time_ns = NUM2ULL(time_ns),
              .duration_ns = NUM2ULL(duration_ns),
              .samples = NUM2ULL(samples)};
    VALUE result = rb_ensure(deliver_once, (VALUE)&t, free_tool, (VALUE)&t);
    RB_GC_GUARD(bytes);
    return result;
}

static VALUE ask_for_group(VALUE argument)
{
    tool *t = (tool *)argument;
    if (!open_backend(t)) return t->errors;
    return t->backend->rules.one_group ? Qtrue : Qfalse;
}

/* Whether a profile may have values of one group only (core/base/value_types.h), or the Array of errors. */
static VALUE native_one_group_p(VALUE self, VALUE options, VALUE texts)
{
    tool t = {.options = options, .texts = texts, .errors = rb_ary_new()};
    return rb_ensure(ask_for_group, (VALUE)&t, free_tool, (VALUE)&t);
}

void rb_rpp_tools_init(VALUE native)
{
    rb_define_singleton_method(native, "tiny_profile", native_tiny_profile, 2);
    rb_define_singleton_method(native, "deliver", native_deliver, 7);
    rb_define_singleton_method(native, "one_group?", native_one_group_p, 2);
}
