/* rb_control.c - the control socket of this process, and its answers. */
#include "control/rb_control.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calls/rb_call_attach.h"
#include "captures/rb_budget.h"
#include "control/rb_attach.h"
#include "control/rb_inspect.h"
#include "control/rb_sibling.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "core/base/version.h"
#include "core/control/control_server.h"
#include "sampler/rb_fork_and_exit.h"
#include "sampler/rb_sampler.h"

#define PLACE_MAX_BYTES 512
#define NAME_MAX_BYTES  256
#define TITLE_MAX_BYTES 256

static rpp_control_server *server;
static bool was_listening;          /* in a forked child: the parent was listening */
static bool wanted_alone;           /* the program has required rperf_push/control: with or without a session */
static char place[PLACE_MAX_BYTES]; /* where it listens or is to listen */
static uint64_t began_ns;           /* since the epoch */
static char ruby[NAME_MAX_BYTES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* under lock */
static char application[NAME_MAX_BYTES]; /* of the session; empty: no session runs */

/* --- ps --- */

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        rpp_status status_ = (call);                                                                                   \
        if (status_ != RPP_OK) return status_;                                                                         \
    } while (0)

static rpp_status put_text(rpp_byte_sink *sink, const char *key, const char *text)
{
    TRY(rpp_byte_sink_write(sink, ",", 1));
    TRY(rpp_json_write_string(sink, key));
    TRY(rpp_byte_sink_write(sink, ":", 1));
    return text ? rpp_json_write_string(sink, text) : rpp_byte_sink_write(sink, "null", 4);
}

static rpp_status put_number(rpp_byte_sink *sink, const char *key, uint64_t number)
{
    char text[128];
    int length = snprintf(text, sizeof text, ",\"%s\":%" PRIu64, key, number);
    return rpp_byte_sink_write(sink, text, (size_t)length);
}

static rpp_status put_stats(rpp_byte_sink *sink)
{
    char error[RPP_LAST_ERROR_MAX];
    uint64_t error_at = rpp_stats_last_error(error, sizeof error);
    for (int stat = 0; stat < RPP_STAT_COUNT; stat++) {
        TRY(put_number(sink, rpp_stats_name((rpp_stat)stat), rpp_stats_get((rpp_stat)stat)));
    }
    TRY(put_text(sink, "last_error", error_at ? error : NULL));
    return put_number(sink, "last_error_at_ns", error_at);
}

/* What the process calls itself now: servers tell their workers apart there. Empty: not known. */
static void read_title(char title[TITLE_MAX_BYTES])
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, title, TITLE_MAX_BYTES - 1);
    if (fd >= 0) close(fd);
    while (length > 0 && (!title[length - 1] || title[length - 1] == ' ')) length--;
    if (length < 0) length = 0;
    for (ssize_t i = 0; i < length; i++) title[i] = title[i] ? title[i] : ' '; /* between arguments */
    title[length] = '\0';
}

static rpp_status answer_ps(rpp_byte_sink *sink)
{
    char name[NAME_MAX_BYTES], title[TITLE_MAX_BYTES], head[64], cluster[RB_RPP_CLUSTER_MAX_BYTES];
    rb_rpp_sibling_cluster(cluster);
    pthread_mutex_lock(&lock);
    memcpy(name, application, sizeof name);
    pthread_mutex_unlock(&lock);
    int length = snprintf(head, sizeof head, "{\"pid\":%ld,\"ppid\":%ld", (long)getpid(), (long)getppid());
    TRY(rpp_byte_sink_write(sink, head, (size_t)length));
    TRY(put_text(sink, "version", RPP_VERSION));
    TRY(put_text(sink, "ruby", ruby));
    TRY(put_text(sink, "application", *name ? name : NULL));
    read_title(title);
    TRY(put_text(sink, "title", *title ? title : NULL));
    TRY(put_text(sink, "engine", *name || rb_rpp_attach_is_on() ? rb_rpp_sampler_engine() : NULL));
    TRY(put_text(sink, "viewer", *cluster ? cluster : NULL));
    TRY(put_number(sink, "began_at_ns", began_ns));
    TRY(put_number(sink, "overhead_ppm", (uint64_t)(rb_rpp_budget_share() * 1e6)));
    TRY(put_stats(sink));
    return rpp_byte_sink_write(sink, "}", 1);
}

/* --- the service --- */

static rpp_status answer(void *unused, const rpp_control_request *request, rpp_byte_sink *document,
                         char why[RPP_CONTROL_WHY_MAX])
{
    if (strcmp(request->verb, "ps") == 0) return answer_ps(document);
    if (strcmp(request->verb, "stacks") == 0) return rb_rpp_inspect(document);
    if (strcmp(request->verb, "pause") == 0) return rb_rpp_call_attach_pause(true, document, why);
    if (strcmp(request->verb, "resume") == 0) return rb_rpp_call_attach_pause(false, document, why);
    snprintf(why, RPP_CONTROL_WHY_MAX, "rperf-push " RPP_VERSION " in this process knows no \"%s\"", request->verb);
    return RPP_INVALID;
}

/* Who serves a stream, by the verb that opened it. The last one serves all others. */
static const struct owner {
    const char *verb;
    rpp_status (*open)(const rpp_control_request *, rpp_control_outbox *, void **, char *);
    bool (*owns)(const void *);
    void (*serve)(void *), (*finish)(void *), (*close)(void *);
} owners[] = {
    {"take", rb_rpp_sibling_open, rb_rpp_sibling_owns, rb_rpp_sibling_serve, rb_rpp_sibling_finish,
     rb_rpp_sibling_close},
    {"trace", rb_rpp_call_attach_open, rb_rpp_call_attach_owns, rb_rpp_call_attach_serve, rb_rpp_call_attach_finish,
     rb_rpp_call_attach_close},
    {"record", rb_rpp_attach_open, NULL, rb_rpp_attach_serve, rb_rpp_attach_finish, rb_rpp_attach_close},
};

static const struct owner *owner_of(const void *stream)
{
    const struct owner *owner = owners;
    while (owner->owns && !owner->owns(stream)) owner++;
    return owner;
}

static rpp_status open_stream(void *unused, const rpp_control_request *request, rpp_control_outbox *outbox,
                              void **stream, char why[RPP_CONTROL_WHY_MAX])
{
    const struct owner *owner = owners;
    while (owner->owns && strcmp(request->verb, owner->verb) != 0) owner++;
    return owner->open(request, outbox, stream, why);
}

static void serve_stream(void *stream)
{
    owner_of(stream)->serve(stream);
}

static void finish_stream(void *stream)
{
    owner_of(stream)->finish(stream);
}

static void close_stream(void *stream)
{
    owner_of(stream)->close(stream);
}

static const rpp_control_service service = {
    .answer = answer,
    .open = open_stream,
    .serve = serve_stream,
    .finish = finish_stream,
    .close = close_stream,
};

/* --- life --- */

static void listen_now(void)
{
    char why[RPP_CONTROL_WHY_MAX] = "";
    if (server || !*place) return;
    rb_rpp_process_follow_forks();
    rb_rpp_process_end_with_process();
    if (!began_ns) began_ns = rpp_realtime_ns();
    if (rpp_control_server_start(place, &service, &server, why) != RPP_OK) {
        rpp_log(RPP_LOG_WARN, "no control socket, so rperf-push ps and its like do not find this process: %s", why);
    }
}

/* Holds the GVL, because another thread that configures meanwhile would find the path in use. It takes milliseconds: a
 * inspection ends at once, and the server never waits for the GVL. */
static void stop_listening(void)
{
    rpp_control_server *stopped = server;
    server = NULL;
    if (!stopped) return;
    rb_rpp_inspect_give_up(true);
    rpp_control_server_stop(stopped);
    rb_rpp_inspect_give_up(false);
}

static void listen_at(const char *there)
{
    if (strcmp(place, there) != 0) stop_listening();
    snprintf(place, sizeof place, "%s", there);
    listen_now();
}

static void set_application(const char *name)
{
    pthread_mutex_lock(&lock);
    snprintf(application, sizeof application, "%s", name);
    pthread_mutex_unlock(&lock);
}

static bool is_off(const char *there)
{
    return strcmp(there, "false") == 0;
}

void rb_rpp_control_follow(const rpp_settings *settings)
{
    set_application(settings->application_name);
    const char *there = settings->control_socket && *settings->control_socket ? settings->control_socket : "auto";
    if (!is_off(there)) {
        listen_at(there);
    } else {
        stop_listening();
        place[0] = '\0';
    }
}

void rb_rpp_control_leave(void)
{
    set_application("");
    if (wanted_alone) return;
    stop_listening();
    place[0] = '\0';
}

/* The process ends. */
static void leave_vm(void)
{
    stop_listening();
    rb_rpp_attach_end();
}

static void discard_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    rb_rpp_inspect_discard_after_fork();
    rb_rpp_attach_discard_after_fork();
    rb_rpp_sibling_discard_after_fork();
    rb_rpp_call_attach_discard_after_fork();
    was_listening |= server != NULL;
    if (server) rpp_control_server_discard_after_fork(server);
    server = NULL; /* its memory is the parent's and may be half-way */
}

/* It listens on a socket of its own, if the parent did. */
static VALUE restart_in_child(VALUE unused)
{
    if (!was_listening) return Qnil;
    was_listening = false;
    began_ns = 0;
    listen_now();
    return Qnil;
}

const rb_rpp_participant rb_rpp_control_participant = {
    .discard_after_fork = discard_after_fork,
    .restart_in_child = restart_in_child,
    .leave_vm = leave_vm,
};

/* --- methods of Native --- */

/* For rperf_push/control: a path, "auto" or "false". */
static VALUE native_listen(VALUE self, VALUE there)
{
    const char *text = StringValueCStr(there);
    wanted_alone = !is_off(text);
    if (wanted_alone && !server) listen_at(text);
    return server ? rb_utf8_str_new_cstr(rpp_control_server_path(server)) : Qnil;
}

/* The path where this process listens; nil: nowhere. */
static VALUE native_control_path(VALUE self)
{
    rb_thread_check_ints(); /* restarts a forked child that has not reached its first safepoint */
    return server ? rb_utf8_str_new_cstr(rpp_control_server_path(server)) : Qnil;
}

void rb_rpp_control_init(VALUE native)
{
    VALUE description = rb_const_get(rb_cObject, rb_intern("RUBY_VERSION"));
    snprintf(ruby, sizeof ruby, "%s", StringValueCStr(description));
    rb_rpp_inspect_init();
    rb_rpp_attach_init();
    rb_rpp_sibling_init(native);
    rb_rpp_call_attach_init();
    rb_define_singleton_method(native, "listen", native_listen, 1);
    rb_define_singleton_method(native, "control_path", native_control_path, 0);
}
