/* rb_lull.c - a lull: the hooks are silent for a while, where they alone would break the budget. */
#include "rb_lull.h"

#include "core/stats.h"
#include "rb_capture.h"
#include "rb_hooks.h"

static _Atomic bool wanted;
static _Atomic uint64_t began_ns; /* 0: there is none */

void rb_rpp_lull_want(bool it)
{
    atomic_store_explicit(&wanted, it, memory_order_relaxed);
}

bool rb_rpp_lull_is_wanted(void)
{
    return atomic_load_explicit(&wanted, memory_order_relaxed);
}

bool rb_rpp_is_lull(void)
{
    return atomic_load_explicit(&began_ns, memory_order_relaxed);
}

/* Since its CPU clock was last read. */
static bool has_run(const rb_rpp_thread *t, uint64_t cpu_ns)
{
    return !t->has_cpu_clock || cpu_ns != t->clocks.cpu_mark_ns;
}

void rb_rpp_lull_begin(uint64_t now)
{
    rb_rpp_hooks_listen(false, NULL);
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        uint64_t cpu_ns = rb_rpp_thread_cpu_ns(t);
        if (!has_run(t, cpu_ns)) continue;
        rb_rpp_thread_advance(t, now);
        if (t->has_cpu_clock) rpp_thread_clocks_read(&t->clocks, cpu_ns);
    }
    atomic_store(&began_ns, now);
}

/* Until the lull began; or until the one before ended, where nothing was heard of the thread in between. */
static uint64_t known_until(const rb_rpp_thread *t)
{
    return t->unheard_until_ns && !atomic_load(&t->ready_ns) ? t->unheard_until_ns : atomic_load(&began_ns);
}

void rb_rpp_lull_pass(rb_rpp_thread *t, uint64_t now)
{
    rb_rpp_thread_advance(t, known_until(t));
    t->phase = RB_RPP_BLOCKED;
    atomic_store(&t->ready_ns, 0);
    rpp_thread_clocks_pass_unseen(&t->clocks, now);
}

void rb_rpp_lull_catch_up(rb_rpp_thread *t, uint64_t now)
{
    uint64_t cpu_ns = rb_rpp_thread_cpu_ns(t);
    if (!has_run(t, cpu_ns)) return; /* it still does what it did */
    rb_rpp_lull_pass(t, now);
    rpp_thread_clocks_fill(&t->clocks, now, cpu_ns);
}

void rb_rpp_lull_end(uint64_t now)
{
    if (!rb_rpp_is_lull()) return;
    rb_rpp_thread *current = rb_rpp_thread_of(rb_thread_current());
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        rb_rpp_lull_catch_up(t, now);
        t->phase = t == current ? RB_RPP_RUNNING : RB_RPP_BLOCKED;
        t->unheard_until_ns = t == current ? 0 : now;
        if (t == current) atomic_store(&t->resumed_ns, now);
    }
    rpp_stats_add(RPP_STAT_lull_ns, now - atomic_exchange(&began_ns, 0));
    rb_rpp_hooks_listen(true, current);
}

void rb_rpp_lull_forget_after_fork(void)
{
    atomic_store(&wanted, false);
    atomic_store(&began_ns, 0);
}
