/* rb_births.c - threads that were created but have not run yet. */
#include "captures/rb_births.h"

#include "core/base/stats.h"
#include "threads/rb_outlets.h"

#define WAITING_MAX 1024u /* further threads are met when they run */

/* Threads that had not run at the last look. */
static struct {
    VALUE threads[WAITING_MAX];
    uint32_t count;
} waiting;

/* The start of a thread's time, for its birth. Its wait in windows that have already ended is lost. */
static uint64_t counts_since(uint64_t birth, uint64_t now)
{
    if (!rb_rpp_is_sampling()) return now;
    if (birth < rb_rpp_capturing.began_ns) birth = rb_rpp_capturing.began_ns;
    if (birth >= rb_rpp_capturing.cut_ns) return birth;
    rpp_stats_add(RPP_STAT_time_lost_ns, rb_rpp_capturing.cut_ns - birth);
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

void rb_rpp_births_init(void)
{
    rb_gc_register_mark_object(TypedData_Wrap_Struct(rb_cObject, &waiting_type, &waiting));
}

void rb_rpp_birth_succeeded(VALUE thread)
{
    if (!rb_rpp_is_sampling() || waiting.count == WAITING_MAX || !rb_rpp_thread_is_unmet(thread)) return;
    waiting.threads[waiting.count++] = thread;
}

rb_rpp_thread *rb_rpp_birth_meet(VALUE thread, uint64_t now)
{
    uint64_t birth = rb_rpp_thread_birth_ns(thread, now);
    if (!birth) return NULL;
    uint64_t since = counts_since(birth, now);
    rb_rpp_thread *t = rb_rpp_thread_register(thread, since);
    if (!t) return NULL;
    for (rb_rpp_outlet outlet = 0; outlet < RB_RPP_OUTLETS; outlet++) rb_rpp_join_window(t, outlet);
    rpp_ledger_asked(&t->ledger, since); /* born ready */
    return t;
}

void rb_rpp_birth_over(VALUE thread)
{
    for (uint32_t i = waiting.count; i-- > 0;) {
        if (waiting.threads[i] != thread) continue;
        waiting.threads[i] = waiting.threads[--waiting.count];
        return;
    }
}

/* A thread that runs without THREAD_BEGIN belongs to another Ractor, unless it is the caller, which is about to reach
 * it. */
void rb_rpp_births_meet_waiting(uint64_t now)
{
    VALUE self = rb_thread_current();
    for (uint32_t i = 0; i < waiting.count; i++) {
        VALUE thread = waiting.threads[i];
        if (thread == self || rb_rpp_thread_is_unmet(thread)) (void)rb_rpp_birth_meet(thread, now);
    }
    waiting.count = 0;
}

void rb_rpp_births_forget(void)
{
    waiting.count = 0;
}
