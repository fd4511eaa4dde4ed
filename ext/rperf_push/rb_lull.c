/* rb_lull.c - a lull: the hooks are silent for a while, because they alone would exceed the budget. */
#include "rb_lull.h"

#include "core/base/stats.h"
#include "rb_capture.h"

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

void rb_rpp_lull_begin(uint64_t now)
{
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (!t->ended) rpp_ledger_silence_begins(&t->ledger, now);
    }
    atomic_store(&began_ns, now);
}

void rb_rpp_lull_join(rb_rpp_thread *t)
{
    uint64_t began = atomic_load_explicit(&began_ns, memory_order_relaxed);
    if (began) rpp_ledger_silence_begins(&t->ledger, began);
}

void rb_rpp_lull_end(rb_rpp_thread *current, uint64_t now)
{
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        if (t->ended) continue;
        rpp_due due = rpp_ledger_silence_ends(&t->ledger, t == current, now);
        if (t != current) continue;
        rb_rpp_capture_if(t, due);
        atomic_store(&t->resumed_ns, now);
    }
    rpp_stats_add(RPP_STAT_lull_ns, now - atomic_exchange(&began_ns, 0));
}

void rb_rpp_lull_forget_after_fork(void)
{
    atomic_store(&wanted, false);
    atomic_store(&began_ns, 0);
}
