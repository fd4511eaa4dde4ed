/* rb_thread_starts.c - threads that were created but have not run yet. */
#include "captures/rb_thread_starts.h"

#include "core/base/stats.h"
#include "threads/rb_subscribers.h"

#define WAITING_MAX 1024u /* further threads are met when they run */

/* Threads that had not run at the last look. */
static struct {
    VALUE threads[WAITING_MAX];
    uint32_t count;
} waiting;

/* The time from which a thread that started then is counted. Its wait in windows that have already ended is lost. */
static uint64_t counts_since(uint64_t start, uint64_t now)
{
    if (!rb_rpp_is_sampling()) return now;
    if (start < rb_rpp_capturing.began_ns) start = rb_rpp_capturing.began_ns;
    if (start >= rb_rpp_capturing.cut_ns) return start;
    rpp_stats_add(RPP_STAT_time_lost_ns, rb_rpp_capturing.cut_ns - start);
    return rb_rpp_capturing.cut_ns;
}

static void mark_waiting(void *unused)
{
    for (uint32_t i = 0; i < waiting.count; i++) rb_gc_mark(waiting.threads[i]);
}

static const rb_data_type_t waiting_type = {
    .wrap_struct_name = "rperf_push/waiting_threads",
    .function = {.dmark = mark_waiting},
};

void rb_rpp_thread_starts_init(void)
{
    rb_gc_register_mark_object(TypedData_Wrap_Struct(rb_cObject, &waiting_type, &waiting));
}

void rb_rpp_thread_start_succeeded(VALUE thread)
{
    if (!rb_rpp_is_sampling() || waiting.count == WAITING_MAX || !rb_rpp_thread_is_unmet(thread)) return;
    waiting.threads[waiting.count++] = thread;
}

rb_rpp_thread *rb_rpp_thread_start_meet(VALUE thread, uint64_t now)
{
    uint64_t start = rb_rpp_thread_start_ns(thread, now);
    if (!start) return NULL;
    uint64_t since = counts_since(start, now);
    rb_rpp_thread *t = rb_rpp_thread_register(thread, since);
    if (!t) return NULL;
    for (rb_rpp_subscriber subscriber = 0; subscriber < RB_RPP_SUBSCRIBERS; subscriber++)
        rb_rpp_join_window(t, subscriber);
    rpp_ledger_asked(&t->ledger, since); /* born ready */
    return t;
}

void rb_rpp_thread_start_over(VALUE thread)
{
    for (uint32_t i = waiting.count; i-- > 0;) {
        if (waiting.threads[i] != thread) continue;
        waiting.threads[i] = waiting.threads[--waiting.count];
        return;
    }
}

/* A thread that runs without THREAD_BEGIN belongs to another Ractor, unless it is the caller, which is about to reach
 * it. */
void rb_rpp_thread_starts_meet_waiting(uint64_t now)
{
    VALUE self = rb_thread_current();
    for (uint32_t i = 0; i < waiting.count; i++) {
        VALUE thread = waiting.threads[i];
        if (thread == self || rb_rpp_thread_is_unmet(thread)) (void)rb_rpp_thread_start_meet(thread, now);
    }
    waiting.count = 0;
}

void rb_rpp_thread_starts_discard(void)
{
    waiting.count = 0;
}
