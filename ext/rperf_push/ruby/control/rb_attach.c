/* rb_attach.c - sessions on demand for peers of the control socket, which get their windows as pprof. */
#include "control/rb_attach.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "captures/rb_heap.h"
#include "captures/rb_rotation.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stats.h"
#include "core/delivery/window_encoder.h"
#include "core/profile/pipeline.h"
#include "frames/rb_frames.h"
#include "sampler/rb_hooks.h"
#include "sampler/rb_sampler.h"
#include "threads/rb_subscribers.h"
#include "vm/rb_trigger.h"
#include "vm/rb_waiting.h"

#define ATTACHED_MAX      (RB_RPP_SUBSCRIBERS - RB_RPP_ATTACHED) /* each has a subscriber */
#define BUFFER_HALF_BYTES (1024 * 1024)
#define WINDOW_MAX_BYTES  (15u * 1024u * 1024u)
#define ROTATE_BUDGET_NS  (2 * RPP_NS_PER_MS)
#define NAMES_BUDGET_NS   (5 * RPP_NS_PER_MS)
#define LAST_WINDOW_NS    (8 * RPP_NS_PER_S) /* how long we wait for it; a window waits less for names */
#define END_WAIT_NS       (RPP_NS_PER_S)

/* The job takes a session from one stage to the next; the server asks for the end. */
typedef enum stage { TO_ATTACH, ATTACHED, TO_CUT, CUT, DETACHED } stage;

typedef struct attach {
    rb_rpp_subscriber subscriber;
    rpp_control_outbox *outbox;
    rpp_pipeline *pipeline;
    rpp_window_encoder *encoder;
    rb_rpp_sampler_options options;
    unsigned mode;
    uint32_t frequency;
    _Atomic int stage;
    _Atomic bool closed; /* the peer is gone */
    pthread_mutex_t greeting;
    bool greeted;       /* under the lock, because the first window may come before the server checks */
    uint64_t finish_ns; /* when the peer asked for the end; only the server uses it */
    bool cutting;       /* only the job uses it */
    uint32_t last_window;
} attach;

static rb_postponed_job_handle_t handle;
/* By subscriber. The server sets them; the job clears them. */
static attach *_Atomic attached[ATTACHED_MAX];

static void attach_free(attach *a)
{
    rb_rpp_sampler_free_pipeline(a->pipeline);
    rpp_window_encoder_free(a->encoder);
    rpp_control_outbox_release(a->outbox);
    pthread_mutex_destroy(&a->greeting);
    rpp_free(a);
}

/* --- the beginning of the stream: the server or the collector --- */

static rpp_status push_greeting(const attach *a)
{
    char text[2 * RPP_MODE_TEXT_MAX], mode[RPP_MODE_TEXT_MAX];
    int length =
        snprintf(text, sizeof text, "{\"pid\":%ld,\"mode\":\"%s\",\"frequency\":%u,\"engine\":\"%s\"}", (long)getpid(),
                 rpp_mode_text(a->mode, ",", mode), (unsigned)a->frequency, rb_rpp_sampler_engine());
    return rpp_control_outbox_push(a->outbox, RPP_CONTROL_DOCUMENT, text, (size_t)length);
}

static void greet(attach *a)
{
    pthread_mutex_lock(&a->greeting);
    if (!a->greeted) a->greeted = push_greeting(a) == RPP_OK;
    pthread_mutex_unlock(&a->greeting);
}

/* --- windows: the collector --- */

static void deliver(rpp_profile *profile, void *context)
{
    attach *a = context;
    rpp_byte_buffer bytes;
    uint64_t samples = 0;
    greet(a);
    rpp_byte_buffer_init(&bytes, WINDOW_MAX_BYTES);
    rpp_status status = rpp_window_encoder_encode(a->encoder, profile, rb_rpp_frames_names(), &bytes, &samples);
    if (status == RPP_OK && samples) {
        status = rpp_control_outbox_push(a->outbox, RPP_CONTROL_PROFILE, bytes.bytes, bytes.length);
    }
    /* A peer must not miss a window unnoticed, so its connection ends. */
    if (status != RPP_OK) rpp_control_outbox_close(a->outbox);
    rpp_byte_buffer_destroy(&bytes);
    rpp_profile_free(profile);
}

/* --- the job: at a safepoint, with the GVL --- */

static bool is_attached(const attach *a)
{
    return rb_rpp_subscriber_pipeline(a->subscriber) == a->pipeline;
}

static void attach_now(attach *a)
{
    rb_rpp_sampler_attach(a->subscriber, &a->options, a->pipeline, false);
    atomic_store(&a->stage, ATTACHED);
}

/* Between two jobs more than one window may have ended. Their numbers wrap. */
static bool is_past(uint32_t window, const rpp_pipeline *p)
{
    return (int32_t)(rpp_pipeline_window(p) - window) > 0;
}

/* Ends the open window. A rotation in progress flushes the one before it. */
static void cut(attach *a)
{
    rpp_pipeline *p = a->pipeline;
    if (!a->cutting) {
        a->cutting = true;
        a->last_window = rpp_pipeline_window(p);
        rpp_pipeline_set_last(p);
    }
    rb_rpp_frames_work(NAMES_BUDGET_NS);
    if (!is_past(a->last_window, p) || rpp_pipeline_is_rotating(p)) {
        if (!rb_rpp_rotate(a->subscriber, ROTATE_BUDGET_NS)) return;
        if (!is_past(a->last_window, p)) return;
    }
    rb_rpp_sampler_detach(a->subscriber);
    atomic_store(&a->stage, CUT);
}

static void detach(attach *a)
{
    if (is_attached(a)) rb_rpp_sampler_detach(a->subscriber);
    atomic_store(&a->stage, DETACHED);
}

static rpp_status stop_collector(void *context, rpp_cancellation *cancellation)
{
    return rpp_pipeline_stop(((attach *)context)->pipeline, cancellation);
}

static void *finish_and_free(void *context)
{
    rpp_cancellation endless = {.deadline_ns = UINT64_MAX};
    if (stop_collector(context, &endless) == RPP_OK) attach_free(context);
    return NULL;
}

/* Frees the session once it is detached and its peer is gone. The job and the server both call it; the later call
 * frees. */
static void let_go_if_done(attach *a)
{
    int stage = atomic_load(&a->stage);
    attach *own = a;
    if ((stage != DETACHED && stage != CUT) || !atomic_load(&a->closed)) return;
    if (!atomic_compare_exchange_strong(&attached[a->subscriber - RB_RPP_ATTACHED], &own, NULL)) return;
    if (rb_rpp_finish_later(finish_and_free, a) != RPP_OK)
        rpp_stats_set_last_error("no thread to end an attached session with");
}

static void work_on(attach *a)
{
    int stage = atomic_load(&a->stage);
    if (atomic_load(&a->closed)) {
        detach(a);
    } else if (stage == TO_ATTACH) {
        attach_now(a);
    } else if (stage == TO_CUT) {
        cut(a);
    } else if (stage == CUT) { /* the last window may still wait for names */
        rb_rpp_frames_work(NAMES_BUDGET_NS);
        rpp_pipeline_wake(a->pipeline);
    }
    let_go_if_done(a);
}

/* While this runs Ruby code, jobs of other threads may end and free any of them. */
static void prepare_new(void)
{
    for (size_t i = 0; i < ATTACHED_MAX; i++) {
        const attach *a = atomic_load(&attached[i]);
        if (!a || atomic_load(&a->stage) != TO_ATTACH) continue;
        rb_rpp_sampler_options options = a->options;
        rb_rpp_sampler_prepare(&options, false);
    }
}

/* Once the peer has gone, no request follows. */
static void job(void *unused)
{
    if (!rb_rpp_in_main_ractor()) {
        if (rb_rpp_attach_is_on()) rb_rpp_trigger_other_in_main_ractor(handle);
        return;
    }
    if (!rb_rpp_trigger_knows_who_runs()) return;
    prepare_new();
    for (size_t i = 0; i < ATTACHED_MAX; i++) {
        attach *a = atomic_load(&attached[i]);
        if (a) work_on(a);
    }
}

/* --- the stream: the server --- */

static rpp_status read_mode(const char *text, unsigned *mode)
{
    *mode = text ? 0 : RPP_MODE_CPU | RPP_MODE_WALL;
    while (text) {
        size_t length = strcspn(text, ",");
        unsigned bits = rpp_mode_of(text, length);
        if (!bits) return RPP_INVALID;
        *mode |= bits;
        text = text[length] ? text + length + 1 : NULL;
    }
    return RPP_OK;
}

static rpp_status read_engine(const char *text, rpp_engine_kind *engine)
{
    static const char *const names[] = {
        [RPP_ENGINE_AUTO] = "auto", [RPP_ENGINE_SIGNAL] = "signal", [RPP_ENGINE_SAFEPOINT] = "safepoint"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (text && strcmp(text, names[i]) != 0) continue;
        *engine = (rpp_engine_kind)i;
        return RPP_OK;
    }
    return RPP_INVALID;
}

typedef struct wish {
    unsigned mode;
    rpp_engine_kind engine;
    uint64_t frequency, interval_ms, lines, gzip, precision;
} wish;

static bool is_understood(const rpp_control_request *request, wish *w)
{
    return read_mode(rpp_control_request_get(request, "mode"), &w->mode) == RPP_OK &&
           read_engine(rpp_control_request_get(request, "engine"), &w->engine) == RPP_OK &&
           rpp_control_request_number(request, "frequency", 1, 10000, 99, &w->frequency) == RPP_OK &&
           rpp_control_request_number(request, "interval_ms", 50, 60000, 1000, &w->interval_ms) == RPP_OK &&
           rpp_control_request_number(request, "lines", 0, 1, 1, &w->lines) == RPP_OK &&
           rpp_control_request_number(request, "gzip", 0, 1, 1, &w->gzip) == RPP_OK &&
           rpp_control_request_number(request, "precision", 0, 1, 0, &w->precision) == RPP_OK;
}

static attach *attach_new(rb_rpp_subscriber subscriber, const wish *w, rpp_control_outbox *outbox)
{
    attach *a = rpp_calloc(1, sizeof *a);
    if (!a) return NULL;
    pthread_mutex_init(&a->greeting, NULL);
    rpp_pipeline_options options = {
        .interval_ns = w->interval_ms * RPP_NS_PER_MS,
        .buffer_half_bytes = BUFFER_HALF_BYTES,
        .limits = rpp_profile_default_limits,
        .keeps_pace = true, /* the peer shows so many a second */
        .watched_max = rb_rpp_watched_max(w->mode, 0),
        .ages = true,
    };
    a->subscriber = subscriber;
    a->mode = w->mode;
    a->frequency = (uint32_t)w->frequency;
    a->options = (rb_rpp_sampler_options){.period_ns = RPP_NS_PER_S / w->frequency,
                                          .lines = w->lines,
                                          .overhead_limit = 1, /* the peer asked for this frequency */
                                          .engine = w->engine,
                                          .mode = w->mode};
    a->outbox = rpp_control_outbox_retain(outbox);
    a->encoder = rpp_window_encoder_new(a->mode | (w->precision ? RPP_MODE_PRECISION : 0), a->frequency, w->gzip);
    a->pipeline = rb_rpp_sampler_new_pipeline(&options, deliver, a);
    if (a->encoder && a->pipeline && rpp_pipeline_start(a->pipeline) == RPP_OK) return a;
    attach_free(a);
    return NULL;
}

rpp_status rb_rpp_attach_open(const rpp_control_request *request, rpp_control_outbox *outbox, void **stream,
                              char why[RPP_CONTROL_WHY_MAX])
{
    wish w;
    size_t free_one = 0;
    if (strcmp(request->verb, "record") != 0) return RPP_INVALID;
    if (!is_understood(request, &w)) {
        char each[RPP_MODE_TEXT_MAX], together[RPP_MODE_TEXT_MAX];
        snprintf(why, RPP_CONTROL_WHY_MAX,
                 "record takes frequency=1..10000 mode=%s|%s interval_ms=50..60000 lines=0|1 gzip=0|1 precision=0|1 "
                 "engine=auto|signal|safepoint",
                 rpp_mode_text(RPP_MODE_ALL, "|", each), rpp_mode_text(RPP_MODE_ALL, ",", together));
        return RPP_INVALID;
    }
    if (rb_rpp_watched_max(w.mode, 0) && rb_rpp_heap_why_not()) {
        snprintf(why, RPP_CONTROL_WHY_MAX, "%s", rb_rpp_heap_why_not());
        return RPP_INVALID;
    }
    while (free_one < ATTACHED_MAX && atomic_load(&attached[free_one])) free_one++;
    if (free_one == ATTACHED_MAX) {
        snprintf(why, RPP_CONTROL_WHY_MAX, "%d sessions from outside run already: end one of top, live or attach",
                 (int)ATTACHED_MAX);
        return RPP_BUSY;
    }
    attach *a = attach_new((rb_rpp_subscriber)(RB_RPP_ATTACHED + free_one), &w, outbox);
    if (!a) {
        snprintf(why, RPP_CONTROL_WHY_MAX, "%s", rpp_status_text(RPP_NO_MEMORY));
        return RPP_NO_MEMORY;
    }
    atomic_store(&attached[free_one], a); /* only the server takes a free one */
    *stream = a;
    rb_rpp_trigger_other(handle);
    return RPP_OK;
}

static void say_end(attach *a)
{
    if (rpp_control_outbox_push(a->outbox, RPP_CONTROL_END, NULL, 0) == RPP_OK) rpp_control_outbox_end(a->outbox);
}

/* True if all windows were pushed, or if we have waited for them long enough. */
static bool has_all(attach *a)
{
    if (rpp_monotonic_ns() > a->finish_ns + LAST_WINDOW_NS) return true;
    rpp_cancellation none = {.deadline_ns = 0};
    return atomic_load(&a->stage) == CUT &&
           rpp_pipeline_wait_delivered(a->pipeline, a->last_window + 1, &none) == RPP_OK;
}

void rb_rpp_attach_serve(void *stream)
{
    attach *a = stream;
    int stage = atomic_load(&a->stage);
    if (stage == TO_ATTACH || stage == TO_CUT || stage == CUT) rb_rpp_trigger_other(handle);
    if (stage != TO_ATTACH) greet(a);
    if (a->finish_ns && has_all(a)) say_end(a);
}

void rb_rpp_attach_finish(void *stream)
{
    attach *a = stream;
    int attached = ATTACHED;
    a->finish_ns = rpp_monotonic_ns();
    atomic_compare_exchange_strong(&a->stage, &attached, TO_CUT);
    rb_rpp_trigger_other(handle);
}

/* The job frees the session when it runs. No thread waits for the job. */
void rb_rpp_attach_close(void *stream)
{
    attach *a = stream;
    atomic_store(&a->closed, true);
    rb_rpp_trigger_other(handle);
}

bool rb_rpp_attach_is_on(void)
{
    bool on = false;
    for (size_t i = 0; i < ATTACHED_MAX; i++) on |= atomic_load(&attached[i]) != NULL;
    return on;
}

/* --- the end --- */

static int end_one(attach *a)
{
    rpp_status status;
    if (is_attached(a)) rb_rpp_sampler_detach(a->subscriber);
    int thrown = rb_rpp_wait_until(stop_collector, a, rpp_monotonic_ns() + END_WAIT_NS, &status);
    if (status == RPP_OK) attach_free(a);
    return thrown;
}

/* Call it after the server has stopped, which closes all streams. */
void rb_rpp_attach_end(void)
{
    int thrown = 0;
    for (size_t i = 0; i < ATTACHED_MAX; i++) {
        attach *a = atomic_exchange(&attached[i], NULL);
        int by_this = a ? end_one(a) : 0;
        if (by_this) thrown = by_this;
    }
    if (thrown) rb_jump_tag(thrown);
}

void rb_rpp_attach_discard_after_fork(void)
{
    for (size_t i = 0; i < ATTACHED_MAX; i++) atomic_store(&attached[i], NULL);
}

void rb_rpp_attach_init(void)
{
    handle = rb_postponed_job_preregister(0, job, NULL);
}
