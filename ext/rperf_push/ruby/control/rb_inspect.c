/* rb_inspect.c - where every thread is now, for a peer of the control socket. */
#include "control/rb_inspect.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control/rb_inspected.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "frames/rb_frames.h"
#include "frames/rb_walk.h"
#include "sampler/rb_hooks.h"
#include "threads/rb_overhead.h"
#include "threads/rb_subscribers.h"
#include "threads/rb_threads.h"
#include "vm/rb_proc_task.h"
#include "vm/rb_thread_methods.h"
#include "vm/rb_trigger.h"

#define SAFEPOINT_WAIT_NS (500 * RPP_NS_PER_MS)
#define JOB_WAIT_NS       (300 * RPP_NS_PER_MS) /* for a job that has begun, and again for the names */
#define IDLE_WAIT_NS      (60 * RPP_NS_PER_MS)
#define NAMES_BUDGET_NS   (10 * RPP_NS_PER_MS)
#define ASK_AGAIN_MS      5
#define GLIMPSES_MAX      256
#define WHY_MAX_BYTES     256

/* A job takes a request once. If the asking thread stops waiting meanwhile, the job clears the request. */
enum { NOTHING, WANTED, TAKEN, DONE, LEFT };

static rb_postponed_job_handle_t handle;
static _Atomic int stage;
static _Atomic bool names_wanted, given_up;
static rb_rpp_inspected inspected; /* the job owns it while TAKEN or LEFT, else the asking thread */
static rpp_current_stacks *_Atomic current_stacks;

/* --- the job: at a safepoint, with the GVL --- */

static void put_state(rb_rpp_inspected_thread *s, rb_rpp_thread *t, uint64_t now)
{
    uint64_t ready = atomic_load(&t->ledger.asked_ns), since;
    s->seq = t->seq;
    s->tid = t->tid;
    s->labels = rpp_label_set_retain(t->ledger.labels);
    if (!rb_rpp_is_sampling()) return; /* paused: no hook ran */
    if (s->holds_gvl) {
        since = atomic_load(&t->resumed_ns);
    } else if (ready) {
        s->state = "waiting";
        since = ready;
    } else {
        /* A window's end moves wall_known_ns. Then we know only when the thread last began to run, a little before it
         * stopped. */
        bool is_of_wait = t->ledger.clocks.wall_known_ns > rb_rpp_capturing.cut_ns;
        since = is_of_wait ? t->ledger.clocks.wall_known_ns : atomic_load(&t->resumed_ns);
    }
    s->for_ns = since && now > since ? now - since : 0;
}

/* It walks in a section, because the walk and the table of frames allow one user at a time. */
static void put_stack(VALUE thread)
{
    static VALUE frames[RPP_MAX_DEPTH];
    static int lines[RPP_MAX_DEPTH];
    static rpp_location locations[RPP_MAX_DEPTH];
    rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    bool was_busy = current && rb_rpp_section_begin(current);
    int depth = rb_rpp_walk(thread, RPP_MAX_DEPTH, frames, lines);
    bool known = depth > 0 && rb_rpp_frames_convert(frames, lines, depth, locations);
    if (current) rb_rpp_section_end(current, was_busy);
    if (known) rb_rpp_inspected_set_stack(&inspected, locations, (size_t)depth);
}

static void see_thread(VALUE thread, uint64_t now)
{
    rb_rpp_thread *t = rb_rpp_thread_of(thread);
    bool holds_gvl = thread == rb_thread_current();
    bool blocked = !holds_gvl && rb_rpp_thread_is_asleep(thread);
    rb_rpp_inspected_thread *s = rb_rpp_inspected_add(&inspected);
    if (!s) return;
    s->holds_gvl = holds_gvl;
    s->state = holds_gvl ? "running" : blocked ? "blocked" : "waiting";
    if (t && !t->ended) put_state(s, t, now);
    put_stack(thread);
    if (!s->tid) s->tid = rb_rpp_thread_native_id(thread);
}

static VALUE see_all(VALUE unused)
{
    if (!rb_rpp_subscribers_any() && rb_rpp_frames_readers() == 1) { /* no session releases frames */
        if (atomic_load(&current_stacks)) rpp_current_stacks_clear(atomic_load(&current_stacks));
        rb_rpp_frames_next_window();
    }
    VALUE threads = rb_rpp_thread_list();
    uint64_t now = rpp_monotonic_ns();
    for (long i = 0; i < RARRAY_LEN(threads); i++) see_thread(RARRAY_AREF(threads, i), now);
    RB_GC_GUARD(threads);
    rb_rpp_frames_work(NAMES_BUDGET_NS);
    return Qnil;
}

static VALUE hand_over(VALUE unused)
{
    int taken = TAKEN;
    if (atomic_compare_exchange_strong(&stage, &taken, DONE)) return Qnil;
    rb_rpp_inspected_destroy(&inspected);
    atomic_store(&stage, NOTHING);
    return Qnil;
}

/* The asking thread asks again until the job is done. */
static void job(void *unused)
{
    if (!rb_rpp_in_main_ractor() || !rb_rpp_trigger_knows_who_runs()) return;
    uint64_t began = rb_rpp_overhead_begin();
    int wanted = WANTED;
    if (atomic_compare_exchange_strong(&stage, &wanted, TAKEN)) rb_ensure(see_all, Qnil, hand_over, Qnil);
    if (atomic_exchange(&names_wanted, false)) rb_rpp_frames_work(NAMES_BUDGET_NS);
    rb_rpp_overhead_end(began, NAMES_BUDGET_NS);
}

/* --- the asking thread --- */

static void wait_a_little(void)
{
    struct timespec a_little = {0, (long)RPP_NS_PER_MS};
    nanosleep(&a_little, NULL);
}

typedef struct asking {
    uint64_t began_ns, asked_ns, ran_ns; /* ran_ns: when we last saw a thread run */
    bool heard;                          /* hooks run, so we know the running thread */
    size_t count;
    rb_rpp_glimpse glimpses[GLIMPSES_MAX];
    uint64_t cpu_ns[GLIMPSES_MAX];
} asking;

static uint64_t cpu_of(const rb_rpp_glimpse *g)
{
    return g->has_cpu_clock ? rpp_cpu_clock_ns(g->cpu_clock) : 0;
}

/* While hooks are silent, only the kernel knows which threads there are. */
static size_t glimpse_at_tasks(rb_rpp_glimpse *into, size_t most)
{
    static pid_t tids[GLIMPSES_MAX];
    size_t count = rb_rpp_tasks(tids, most);
    for (size_t i = 0; i < count; i++) {
        into[i] =
            (rb_rpp_glimpse){.tid = tids[i], .cpu_clock = RB_RPP_CPU_CLOCK_OF_TASK(tids[i]), .has_cpu_clock = true};
    }
    return count;
}

static void begin_asking(asking *a)
{
    a->began_ns = a->ran_ns = rpp_monotonic_ns();
    a->asked_ns = 0;
    a->heard = rb_rpp_is_sampling();
    a->count = (a->heard ? rb_rpp_threads_glimpse : glimpse_at_tasks)(a->glimpses, GLIMPSES_MAX);
    for (size_t i = 0; i < a->count; i++) a->cpu_ns[i] = cpu_of(&a->glimpses[i]);
}

static void ask(asking *a, uint64_t now)
{
    if (now - a->asked_ns < ASK_AGAIN_MS * RPP_NS_PER_MS) return;
    a->asked_ns = now;
    rb_rpp_trigger_other(handle);
}

/* True while a safepoint may still come. */
static bool may_come(asking *a, uint64_t now)
{
    if (rb_rpp_running_thread(NULL)) a->ran_ns = now;
    bool idle = a->heard && now - a->ran_ns > IDLE_WAIT_NS;
    return !idle && now - a->began_ns < SAFEPOINT_WAIT_NS && !atomic_load(&given_up);
}

/* Returns true if `inspected` is complete; the asking thread owns it then. */
static bool wait_for_job(asking *a)
{
    int nothing = NOTHING;
    if (!atomic_compare_exchange_strong(&stage, &nothing, WANTED)) return false; /* an earlier job is not done yet */
    uint64_t now;
    while (atomic_load(&stage) == WANTED && may_come(a, now = rpp_monotonic_ns())) {
        ask(a, now);
        wait_a_little();
    }
    int wanted = WANTED;
    if (atomic_compare_exchange_strong(&stage, &wanted, NOTHING)) return false;
    uint64_t until = rpp_monotonic_ns() + JOB_WAIT_NS;
    while (atomic_load(&stage) == TAKEN && rpp_monotonic_ns() < until && !atomic_load(&given_up)) wait_a_little();
    int taken = TAKEN;
    if (atomic_compare_exchange_strong(&stage, &taken, LEFT)) return false;
    atomic_store(&stage, NOTHING);
    return true;
}

static void wait_for_names(asking *a, const rb_rpp_inspected *of)
{
    uint64_t until = rpp_monotonic_ns() + JOB_WAIT_NS, now;
    while (!rb_rpp_inspected_is_named(of, rb_rpp_frames_names()) && (now = rpp_monotonic_ns()) < until &&
           !atomic_load(&given_up)) {
        atomic_store(&names_wanted, true);
        ask(a, now);
        wait_a_little();
    }
}

/* --- what is known without a safepoint --- */

static const char *state_of(const rb_rpp_glimpse *g, bool heard, bool holds_gvl)
{
    if (!heard) return rb_rpp_task_is_asleep(g->tid) ? "asleep" : "awake";
    return holds_gvl ? "running" : g->ready_ns ? "waiting" : "blocked";
}

static void recall_thread(const asking *a, size_t i, const rb_rpp_thread *running, uint64_t now, rb_rpp_inspected *into)
{
    static rpp_sighting sighting;
    const rb_rpp_glimpse *g = &a->glimpses[i];
    rb_rpp_inspected_thread *s = rb_rpp_inspected_add(into);
    if (!s) return;
    s->seq = g->seq;
    s->tid = g->tid;
    s->holds_gvl = a->heard && running && running->seq == g->seq;
    s->state = state_of(g, a->heard, s->holds_gvl);
    uint64_t since = g->ready_ns && !s->holds_gvl ? g->ready_ns : g->resumed_ns;
    if (since && now > since) s->for_ns = now - since;
    uint64_t used = rpp_ns_since(cpu_of(g), a->cpu_ns[i]), passed = now - a->began_ns;
    if (g->has_cpu_clock && passed) s->cpu = (double)used / (double)passed;
    if (!a->heard) return;
    rpp_current_stacks *w = atomic_load(&current_stacks);
    if (!w || !rpp_current_stacks_get(w, g->seq, &sighting)) return;
    s->age_ns = now > sighting.at_ns ? now - sighting.at_ns : 1;
    rb_rpp_inspected_set_stack(into, sighting.locations, sighting.depth);
}

static void recall_all(const asking *a, rb_rpp_inspected *into)
{
    const rb_rpp_thread *running = rb_rpp_running_thread(NULL);
    uint64_t now = rpp_monotonic_ns();
    for (size_t i = 0; i < a->count; i++) recall_thread(a, i, running, now, into);
}

/* --- the document --- */

static void add_names(rb_rpp_inspected *of)
{
    for (size_t i = 0; i < of->count; i++) {
        rb_rpp_inspected_thread *t = &of->threads[i];
        if (t->tid) rb_rpp_task_name(t->tid, t->name, sizeof t->name);
    }
}

static void say_why_not(const asking *a, const rb_rpp_inspected *known, char *why, size_t size)
{
    unsigned waited_ms = (unsigned)((rpp_monotonic_ns() - a->began_ns) / RPP_NS_PER_MS);
    const rb_rpp_inspected_thread *holder = NULL;
    for (size_t i = 0; i < known->count; i++) {
        if (known->threads[i].holds_gvl) holder = &known->threads[i];
    }
    if (!a->heard) {
        snprintf(why, size,
                 "no thread came to a safepoint within %u ms: all sleep, or one keeps the GVL; "
                 "the process is not sampled, so without a safepoint only the kernel knows of its threads",
                 waited_ms);
    } else if (holder) {
        snprintf(why, size,
                 "thread %u keeps the GVL and came to no safepoint within %u ms (a C call?), using %u %% of a core; "
                 "stacks are those of the last captures",
                 (unsigned)(holder->tid ? (uint32_t)holder->tid : holder->seq), waited_ms,
                 (unsigned)((holder->cpu > 0 ? holder->cpu : 0) * 100 + 0.5));
    } else {
        snprintf(why, size, "no thread ran within %u ms: all are blocked; stacks are those of the last captures",
                 waited_ms);
    }
}

/* Names are found at safepoints, where the VM may be asked. */
static void say_what_is_unnamed(const rb_rpp_inspected *known, char *why, size_t size)
{
    size_t length = strlen(why);
    if (rb_rpp_inspected_is_named(known, rb_rpp_frames_names())) return;
    snprintf(why + length, size - length,
             "; what was first captured after the last safepoint has no name before the next");
}

static rpp_status write_document(const rb_rpp_inspected *found, bool complete, const char *why, rpp_byte_sink *sink)
{
    char head[128];
    int length =
        snprintf(head, sizeof head, "{\"pid\":%ld,\"at_ns\":%" PRIu64 ",\"complete\":%s,\"why\":", (long)getpid(),
                 rpp_realtime_ns(), complete ? "true" : "false");
    rpp_status status = rpp_byte_sink_write(sink, head, (size_t)length);
    if (status == RPP_OK) status = rpp_json_write_string(sink, why);
    if (status == RPP_OK) status = rpp_byte_sink_write(sink, ",\"threads\":", 11);
    if (status == RPP_OK) status = rb_rpp_inspected_write(found, rb_rpp_frames_names(), sink);
    return status == RPP_OK ? rpp_byte_sink_write(sink, "}", 1) : status;
}

rpp_status rb_rpp_inspect(rpp_byte_sink *document)
{
    static asking a;
    char why[WHY_MAX_BYTES] = "";
    rb_rpp_inspected found = {0};
    rb_rpp_frames_add_reader(); /* no frame is released until the document is written */
    begin_asking(&a);
    bool complete = wait_for_job(&a);
    if (complete) {
        found = inspected;
        inspected = (rb_rpp_inspected){0};
        wait_for_names(&a, &found);
    } else {
        recall_all(&a, &found);
        say_why_not(&a, &found, why, sizeof why);
        say_what_is_unnamed(&found, why, sizeof why);
    }
    add_names(&found);
    rpp_status status = write_document(&found, complete, why, document);
    rb_rpp_inspected_destroy(&found);
    rb_rpp_frames_remove_reader();
    return status;
}

void rb_rpp_inspect_give_up(bool on)
{
    atomic_store(&given_up, on);
}

rpp_current_stacks *rb_rpp_inspect_current_stacks(void)
{
    if (!atomic_load(&current_stacks)) atomic_store(&current_stacks, rpp_current_stacks_new());
    return atomic_load(&current_stacks);
}

/* The fork may have interrupted a job of the parent, so `inspected` is not freed. */
void rb_rpp_inspect_discard_after_fork(void)
{
    inspected = (rb_rpp_inspected){0};
    atomic_store(&stage, NOTHING);
    atomic_store(&names_wanted, false);
    atomic_store(&given_up, false);
    if (atomic_load(&current_stacks)) rpp_current_stacks_discard_after_fork(atomic_load(&current_stacks));
}

void rb_rpp_inspect_init(void)
{
    handle = rb_postponed_job_preregister(0, job, NULL);
}
