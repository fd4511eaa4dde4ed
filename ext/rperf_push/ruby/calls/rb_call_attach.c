/* rb_call_attach.c - every call of this process, traced for a peer of the control socket. */
#include "calls/rb_call_attach.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "threads/rb_threads.h"
#include "vm/rb_trigger.h"

#define MAX_NODES     200000 /* what one message can carry */
#define NODES         100000
#define TURN_NS       (20 * RPP_NS_PER_MS)
#define REST_NS       RPP_NS_PER_MS         /* between two parts of an update: others run */
#define LONG_TURN_NS  (100 * RPP_NS_PER_MS) /* with updates: each turn asks a thread that computes for the GVL */
#define INTERVAL_MS   50, 5000
#define SERVER_AND_US 2

typedef enum stage { FREE, TO_BEGIN, BEGUN } stage;

static rb_postponed_job_handle_t handle;

/* The server takes it when it is free; it is free again when the server and the thread have both let go. */
static struct {
    _Atomic int stage, parts;
    _Atomic bool finished, closed; /* the peer has seen enough; it has gone */
    _Atomic bool paused;           /* as the last request says */
    rpp_control_outbox *outbox;
    uint64_t max_nodes, c_methods, blocks;
    uint64_t interval_ms;        /* 0: no updates */
    rpp_control_request request; /* its mode, and its patterns of methods, which may come several times */
} watch;

static void let_go(void)
{
    if (atomic_fetch_sub(&watch.parts, 1) == 1) atomic_store(&watch.stage, FREE);
}

/* --- the thread --- */

static void end_stream(char kind, const char *text, size_t length)
{
    if (rpp_control_outbox_push(watch.outbox, kind, text, length) == RPP_OK) rpp_control_outbox_end(watch.outbox);
}

static VALUE truth(uint64_t number)
{
    return number ? Qtrue : Qfalse;
}

/* What the peer gave for this key, as often as it did. */
static VALUE all_of(const char *key)
{
    VALUE values = rb_ary_new();
    for (size_t i = 0; i < watch.request.count; i++) {
        const rpp_control_argument *argument = &watch.request.arguments[i];
        if (!strcmp(argument->key, key)) rb_ary_push(values, rb_utf8_str_new_cstr(argument->value));
    }
    return values;
}

static VALUE prepare_tracing(void)
{
    VALUE native = rb_path2class("RperfPush::Native"), lib = rb_const_get(native, rb_intern("LIB_DIR"));
    rb_funcall(native, rb_intern("require"), 1, rb_sprintf("%" PRIsVALUE "/rperf_push/remote/peer_trace", lib));
    VALUE arguments[] = {ULL2NUM(watch.max_nodes), truth(watch.c_methods), truth(watch.blocks),
                         truth(watch.interval_ms),
                         rb_ary_new_from_args(3, all_of("mode"), all_of("only"), all_of("except"))};
    return rb_funcallv(rb_path2class("RperfPush::PeerTrace"), rb_intern("prepare"), 5, arguments);
}

/* A resume fails while the program itself traces: it is tried again. */
static void follow_wish(VALUE tracing, bool *is_paused)
{
    bool wanted = atomic_load(&watch.paused);
    if (wanted == *is_paused) return;
    VALUE done = rb_funcall(tracing, rb_intern(wanted ? "pause" : "resume"), 0);
    if (wanted || RTEST(done)) *is_paused = wanted;
}

static bool push_document(VALUE text)
{
    bool is_taken = rpp_control_outbox_push(watch.outbox, RPP_CONTROL_DOCUMENT, RSTRING_PTR(text),
                                            (size_t)RSTRING_LEN(text)) == RPP_OK;
    RB_GC_GUARD(text);
    return is_taken;
}

/* Returns whether there is more that is new: an update has its limit, so that the program is not held up. */
static bool push_update(VALUE tracing)
{
    VALUE pair = rb_funcall(tracing, rb_intern("update"), 0);
    return push_document(rb_ary_entry(pair, 0)) && RTEST(rb_ary_entry(pair, 1));
}

static void rest(uint64_t due_ns)
{
    uint64_t now_ns = rpp_monotonic_ns(), left_ns = due_ns > now_ns + REST_NS ? due_ns - now_ns : REST_NS;
    uint64_t turn_ns = watch.interval_ms ? LONG_TURN_NS : TURN_NS;
    struct timeval turn = {0, (long)((left_ns < turn_ns ? left_ns : turn_ns) / RPP_NS_PER_US)};
    rb_thread_wait_for(turn);
}

/* A peer that has not read the last update gets what is new later, all together. */
static bool peer_is_ready(void)
{
    return !rpp_control_outbox_has_more(watch.outbox);
}

static uint64_t soon_ns(void)
{
    return rpp_monotonic_ns() + TURN_NS;
}

static uint64_t next_due_ns(bool has_more)
{
    return rpp_monotonic_ns() + (has_more ? 0 : watch.interval_ms * RPP_NS_PER_MS);
}

static VALUE wait_for_peer(VALUE tracing)
{
    bool is_paused = false;
    static const char begun[] = "{\"tracing\":true}";
    if (rpp_control_outbox_push(watch.outbox, RPP_CONTROL_DOCUMENT, begun, sizeof begun - 1) != RPP_OK) return Qnil;
    uint64_t due_ns = watch.interval_ms ? next_due_ns(false) : UINT64_MAX;
    while (!atomic_load(&watch.finished) && !atomic_load(&watch.closed)) {
        follow_wish(tracing, &is_paused);
        if (rpp_monotonic_ns() >= due_ns) due_ns = peer_is_ready() ? next_due_ns(push_update(tracing)) : soon_ns();
        rest(due_ns);
    }
    return Qnil;
}

/* Returns whether it has not gone. */
static bool wait_until_ready(void)
{
    while (!atomic_load(&watch.closed) && !peer_is_ready()) rest(soon_ns());
    return !atomic_load(&watch.closed);
}

/* What is new since the last update, although it is over. Then there is room for the tree, which may need all of it. */
static void push_last_updates(VALUE tracing)
{
    bool has_more = true;
    while (has_more && wait_until_ready()) has_more = push_update(tracing);
    (void)wait_until_ready();
}

static VALUE begin_and_wait(VALUE tracing)
{
    rb_funcall(tracing, rb_intern("begin"), 0);
    return wait_for_peer(tracing);
}

/* Also where it has not begun. */
static VALUE pause_tracing(VALUE tracing)
{
    return rb_funcall(tracing, rb_intern("pause"), 0);
}

static VALUE trace_for_peer(VALUE unused)
{
    VALUE tracing = prepare_tracing();
    rb_ensure(begin_and_wait, tracing, pause_tracing, tracing); /* who kills the thread may do so as it begins */
    if (atomic_load(&watch.closed)) return Qnil;
    if (watch.interval_ms) push_last_updates(tracing);
    if (push_document(rb_funcall(tracing, rb_intern("result"), 0))) end_stream(RPP_CONTROL_END, NULL, 0);
    return Qnil;
}

/* What Ruby says is told to the peer, in a line. */
static VALUE refuse(VALUE unused, VALUE exception)
{
    VALUE message = rb_obj_as_string(exception);
    end_stream(RPP_CONTROL_REFUSAL, RSTRING_PTR(message), (size_t)RSTRING_LEN(message));
    RB_GC_GUARD(message);
    return Qnil;
}

static VALUE trace_or_refuse(VALUE unused)
{
    return rb_rescue2(trace_for_peer, Qnil, refuse, Qnil, rb_eStandardError, rb_eScriptError, rb_eNoMemError, (VALUE)0);
}

/* Also where the program kills the thread, or the process ends and takes its threads with it. */
static VALUE leave(VALUE unused)
{
    rpp_control_outbox_end(watch.outbox);
    rpp_control_outbox_release(watch.outbox);
    let_go();
    return Qnil;
}

static VALUE thread_main(void *unused)
{
    return rb_ensure(trace_or_refuse, Qnil, leave, Qnil);
}

/* --- the job: at a safepoint, with the GVL --- */

static VALUE start_thread(VALUE unused)
{
    return rb_thread_create(thread_main, NULL);
}

static void job(void *unused)
{
    int thrown = 0, to_begin = TO_BEGIN;
    if (!rb_rpp_in_main_ractor()) {
        if (atomic_load(&watch.stage) == TO_BEGIN) rb_rpp_trigger_other_in_main_ractor(handle);
        return;
    }
    if (!rb_rpp_trigger_knows_who_runs()) return;
    if (!atomic_compare_exchange_strong(&watch.stage, &to_begin, BEGUN)) return;
    static const char why[] = "Ruby gave no thread to trace with";
    rb_protect(start_thread, Qnil, &thrown);
    if (!thrown) return;
    rb_set_errinfo(Qnil);
    end_stream(RPP_CONTROL_REFUSAL, why, sizeof why - 1);
    (void)leave(Qnil);
}

/* --- the stream: the server --- */

bool rb_rpp_call_attach_owns(const void *stream)
{
    return stream == &watch;
}

static bool understand(const rpp_control_request *request)
{
    return rpp_control_request_number(request, "max_nodes", 1, MAX_NODES, NODES, &watch.max_nodes) == RPP_OK &&
           rpp_control_request_number(request, "c_methods", 0, 1, 1, &watch.c_methods) == RPP_OK &&
           rpp_control_request_number(request, "blocks", 0, 1, 0, &watch.blocks) == RPP_OK &&
           rpp_control_request_number(request, "interval_ms", INTERVAL_MS, 0, &watch.interval_ms) == RPP_OK;
}

rpp_status rb_rpp_call_attach_open(const rpp_control_request *request, rpp_control_outbox *outbox, void **stream,
                                   char why[RPP_CONTROL_WHY_MAX])
{
    if (atomic_load(&watch.stage) != FREE) {
        snprintf(why, RPP_CONTROL_WHY_MAX, "calls are traced from outside already");
        return RPP_BUSY;
    }
    if (!understand(request)) {
        snprintf(why, RPP_CONTROL_WHY_MAX,
                 "trace takes mode=MODE,... max_nodes=1..%d c_methods=0|1 blocks=0|1 only=PATTERN except=PATTERN "
                 "interval_ms=50..5000",
                 MAX_NODES);
        return RPP_INVALID;
    }
    watch.request = *request;
    watch.outbox = rpp_control_outbox_retain(outbox);
    atomic_store(&watch.finished, false);
    atomic_store(&watch.closed, false);
    atomic_store(&watch.paused, false);
    atomic_store(&watch.parts, SERVER_AND_US);
    atomic_store(&watch.stage, TO_BEGIN);
    *stream = &watch;
    rb_rpp_trigger_other(handle);
    return RPP_OK;
}

rpp_status rb_rpp_call_attach_pause(bool paused, rpp_byte_sink *document, char why[RPP_CONTROL_WHY_MAX])
{
    const char *now = paused ? "{\"tracing\":false}" : "{\"tracing\":true}";
    if (atomic_load(&watch.stage) == FREE) {
        snprintf(why, RPP_CONTROL_WHY_MAX, "no calls are traced from outside");
        return RPP_INVALID;
    }
    atomic_store(&watch.paused, paused);
    return rpp_byte_sink_write(document, now, strlen(now));
}

void rb_rpp_call_attach_serve(void *unused)
{
    if (atomic_load(&watch.stage) == TO_BEGIN) rb_rpp_trigger_other(handle);
}

void rb_rpp_call_attach_finish(void *unused)
{
    atomic_store(&watch.finished, true);
}

void rb_rpp_call_attach_close(void *unused)
{
    int to_begin = TO_BEGIN;
    atomic_store(&watch.closed, true);
    if (atomic_compare_exchange_strong(&watch.stage, &to_begin, BEGUN)) (void)leave(Qnil); /* it is not to begin */
    let_go();
}

/* The thread is the parent's. */
void rb_rpp_call_attach_discard_after_fork(void)
{
    atomic_store(&watch.stage, FREE);
}

void rb_rpp_call_attach_init(void)
{
    handle = rb_postponed_job_preregister(0, job, NULL);
}
