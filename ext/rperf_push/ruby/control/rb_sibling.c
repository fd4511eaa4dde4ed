/* rb_sibling.c - what a session on demand has recorded, for sibling processes. */
#include "control/rb_sibling.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "captures/rb_rotation.h"
#include "core/base/clock.h"
#include "core/control/control_server.h"
#include "core/profile/pipeline.h"
#include "frames/rb_frames.h"
#include "recordings/rb_demand.h"
#include "sampler/rb_hooks.h"
#include "threads/rb_threads.h"
#include "vm/rb_trigger.h"

#define PROFILE_MAX_BYTES (15u * 1024u * 1024u)
#define ROTATE_BUDGET_NS  (2 * RPP_NS_PER_MS)
#define NAMES_BUDGET_NS   (5 * RPP_NS_PER_MS)
#define IDLE_WAIT_NS      (300 * RPP_NS_PER_MS)

/* The server makes a free one WANTED; the job borrows the session (ENDING) and ends its window (ENDED); the server
 * sends it. The first of the two that sees that the peer has gone frees it. */
enum { FREE, WANTED, ENDING, ENDED, REFUSED, ANSWERED };

typedef struct sibling {
    _Atomic int stage;
    _Atomic bool closed; /* the peer has gone */
    rpp_control_outbox *outbox;
    uint64_t ran_ns; /* when a thread was last seen to run */
    /* the job's until ENDED, then the server's */
    rb_rpp_lent lent;
    bool rotating; /* the window to be ended is known */
    uint32_t window;
    uint64_t until_ns; /* its boundary, or a later one */
} sibling;

static rb_postponed_job_handle_t handle;
static sibling siblings[RPP_CONTROL_PEERS_MAX];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* under lock */
static char offered_to[RB_RPP_CLUSTER_MAX_BYTES]; /* empty: to no cluster */
static rb_rpp_lent offered;                       /* borrowed for as long as it is offered */

void rb_rpp_sibling_cluster(char cluster[RB_RPP_CLUSTER_MAX_BYTES])
{
    pthread_mutex_lock(&lock);
    memcpy(cluster, offered_to, sizeof offered_to);
    pthread_mutex_unlock(&lock);
}

/* --- the job: at a safepoint, with the GVL --- */

/* A rotation in progress flushes the window before the open one. */
static bool ends_window(sibling *s)
{
    rpp_pipeline *p = rb_rpp_recorder_pipeline(s->lent.recorder);
    if (!s->rotating) s->window = rpp_pipeline_window(p);
    s->rotating = true;
    if (rpp_pipeline_window(p) > s->window) return true;
    return rb_rpp_rotate(s->lent.subscriber, ROTATE_BUDGET_NS) && rpp_pipeline_window(p) > s->window;
}

static void begin(sibling *s)
{
    int wanted = WANTED;
    rb_rpp_lent lent;
    /* Only a thread with the GVL writes it. */
    bool is_lent = *offered_to && rb_rpp_demand_lend(offered.subscriber, &lent);
    if (!atomic_compare_exchange_strong(&s->stage, &wanted, is_lent ? ENDING : REFUSED)) {
        if (is_lent) rb_rpp_demand_return(&lent);
    } else if (is_lent) {
        s->lent = lent;
        s->rotating = false;
    }
}

static void give_back(sibling *s, int stage)
{
    rb_rpp_demand_return(&s->lent);
    atomic_store(&s->stage, stage);
}

/* The job and the server may both see that the peer has gone. */
static void let_go_of_ended(sibling *s)
{
    rb_rpp_lent lent = s->lent;
    int ended = ENDED;
    if (atomic_compare_exchange_strong(&s->stage, &ended, FREE)) rb_rpp_demand_return(&lent);
}

static void go_on(sibling *s)
{
    if (atomic_load(&s->closed)) {
        give_back(s, FREE);
    } else if (!rb_rpp_demand_goes_on(&s->lent)) {
        give_back(s, REFUSED);
    } else if (ends_window(s)) {
        s->until_ns = rpp_pipeline_boundary_ns(rb_rpp_recorder_pipeline(s->lent.recorder));
        atomic_store(&s->stage, ENDED);
        if (atomic_load(&s->closed)) let_go_of_ended(s);
    }
}

static bool any_waits(void)
{
    for (size_t i = 0; i < RPP_CONTROL_PEERS_MAX; i++) {
        int stage = atomic_load(&siblings[i].stage);
        if (stage == WANTED || stage == ENDING) return true;
    }
    return false;
}

/* Once the peer has gone, no request follows. */
static void job(void *unused)
{
    if (!rb_rpp_in_main_ractor()) {
        if (any_waits()) rb_rpp_trigger_other_in_main_ractor(handle);
        return;
    }
    if (!rb_rpp_trigger_knows_who_runs()) return;
    for (size_t i = 0; i < RPP_CONTROL_PEERS_MAX; i++) {
        if (atomic_load(&siblings[i].stage) == WANTED) begin(&siblings[i]);
        if (atomic_load(&siblings[i].stage) == ENDING) go_on(&siblings[i]);
    }
    rb_rpp_frames_work(NAMES_BUDGET_NS); /* the last window may still wait for names */
}

/* --- the stream: the server --- */

rpp_status rb_rpp_sibling_open(const rpp_control_request *request, rpp_control_outbox *outbox, void **stream,
                               char why[RPP_CONTROL_WHY_MAX])
{
    char cluster[RB_RPP_CLUSTER_MAX_BYTES];
    const char *wanted = rpp_control_request_get(request, "cluster");
    rb_rpp_sibling_cluster(cluster);
    if (!wanted || !*cluster || strcmp(wanted, cluster) != 0) {
        snprintf(why, RPP_CONTROL_WHY_MAX, "there is no session for this cluster here");
        return RPP_INVALID;
    }
    sibling *s = siblings;
    while (s < siblings + RPP_CONTROL_PEERS_MAX && atomic_load(&s->stage) != FREE) s++;
    if (s == siblings + RPP_CONTROL_PEERS_MAX) return RPP_BUSY;
    s->outbox = rpp_control_outbox_retain(outbox);
    s->ran_ns = rpp_monotonic_ns();
    atomic_store(&s->closed, false);
    atomic_store(&s->stage, WANTED);
    *stream = s;
    rb_rpp_trigger_other(handle);
    return RPP_OK;
}

bool rb_rpp_sibling_owns(const void *stream)
{
    return (const sibling *)stream >= siblings && (const sibling *)stream < siblings + RPP_CONTROL_PEERS_MAX;
}

static rpp_status send_profile(const sibling *s, rb_rpp_recorder *recorder, uint64_t until_ns)
{
    rpp_byte_buffer bytes;
    uint64_t samples = 0;
    rpp_byte_buffer_init(&bytes, PROFILE_MAX_BYTES);
    rpp_status status = rb_rpp_recorder_take(recorder, until_ns, &bytes, &samples);
    if (status == RPP_OK && samples) {
        status = rpp_control_outbox_push(s->outbox, RPP_CONTROL_PROFILE, bytes.bytes, bytes.length);
    }
    rpp_byte_buffer_destroy(&bytes);
    return status;
}

static void say(const sibling *s, char kind, const char *why)
{
    if (rpp_control_outbox_push(s->outbox, kind, why, strlen(why)) == RPP_OK) {
        rpp_control_outbox_end(s->outbox);
    } else {
        rpp_control_outbox_close(s->outbox);
    }
}

static void say_end(const sibling *s, rpp_status status)
{
    bool good = status == RPP_OK;
    say(s, good ? RPP_CONTROL_END : RPP_CONTROL_REFUSAL, good ? "" : rpp_status_text(status));
}

static void send_if_delivered(sibling *s)
{
    rpp_pipeline *p = rb_rpp_recorder_pipeline(s->lent.recorder);
    rpp_cancellation none = {.deadline_ns = 0};
    if (rpp_pipeline_wait_delivered(p, s->window + 1, &none) != RPP_OK) {
        rb_rpp_trigger_other(handle);
        rpp_pipeline_wake(p);
        return;
    }
    rpp_status status = send_profile(s, s->lent.recorder, s->until_ns);
    give_back(s, ANSWERED);
    say_end(s, status);
}

static bool is_idle(sibling *s)
{
    uint64_t now = rpp_monotonic_ns();
    if (rb_rpp_running_thread(NULL)) s->ran_ns = now;
    return now - s->ran_ns > IDLE_WAIT_NS;
}

/* Encoding takes long, and who offers waits for the lock with the GVL. */
static bool borrow_offered(rb_rpp_lent *lent)
{
    pthread_mutex_lock(&lock);
    bool is_offered = *offered_to;
    if (is_offered) rb_rpp_demand_lend_too(&offered, lent);
    pthread_mutex_unlock(&lock);
    return is_offered;
}

/* Without a safepoint. What its open window has comes with the next one. */
static void send_delivered(sibling *s)
{
    rpp_status status = RPP_STOPPED;
    rb_rpp_lent lent;
    if (borrow_offered(&lent)) {
        status = send_profile(s, lent.recorder, rpp_monotonic_ns());
        rb_rpp_demand_return(&lent);
    }
    say_end(s, status);
}

void rb_rpp_sibling_serve(void *stream)
{
    sibling *s = stream;
    int stage = atomic_load(&s->stage), wanted = WANTED;
    if (stage == WANTED && is_idle(s) && atomic_compare_exchange_strong(&s->stage, &wanted, ANSWERED)) {
        send_delivered(s);
    } else if (stage == WANTED || stage == ENDING) {
        rb_rpp_trigger_other(handle);
    } else if (stage == ENDED) {
        send_if_delivered(s);
    } else if (stage == REFUSED) {
        atomic_store(&s->stage, ANSWERED);
        say(s, RPP_CONTROL_REFUSAL, "its session has ended");
    }
}

/* There is nothing to be shortened. */
void rb_rpp_sibling_finish(void *stream) {}

void rb_rpp_sibling_close(void *stream)
{
    sibling *s = stream;
    rpp_control_outbox_release(s->outbox);
    atomic_store(&s->closed, true);
    for (int stage = WANTED;;) {
        if (stage == ENDING) return rb_rpp_trigger_other(handle); /* the job frees it */
        if (stage == ENDED) return let_go_of_ended(s);
        if (atomic_compare_exchange_strong(&s->stage, &stage, FREE)) return;
    }
}

/* --- the session --- */

/* nil: to no cluster, as the session ends. */
static VALUE native_offer(VALUE self, VALUE number, VALUE cluster)
{
    const char *text = NIL_P(cluster) ? "" : StringValueCStr(cluster);
    rb_rpp_lent lent = {0}, before = offered;
    bool is_lent = *text && rb_rpp_demand_lend((rb_rpp_subscriber)NUM2UINT(number), &lent);
    bool was_lent = *offered_to;
    pthread_mutex_lock(&lock);
    offered = lent;
    snprintf(offered_to, sizeof offered_to, "%s", is_lent ? text : "");
    pthread_mutex_unlock(&lock);
    if (was_lent) rb_rpp_demand_return(&before);
    return is_lent ? Qtrue : Qfalse;
}

/* Streams and what they borrowed are the parent's. */
void rb_rpp_sibling_discard_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    memset(offered_to, 0, sizeof offered_to);
    memset(siblings, 0, sizeof siblings);
}

void rb_rpp_sibling_init(VALUE native)
{
    handle = rb_postponed_job_preregister(0, job, NULL);
    rb_define_singleton_method(native, "offer", native_offer, 2);
}
