/* outcome.c - how a request ended: one word, written once. */
#include "requests/outcome.h"

#include <stdatomic.h>

#include "base/alloc.h"

#define ENDED       0x100u
#define CLASS_SHIFT 4 /* the class of the status begins at this bit; rpp_slow is below it */
#define FIELD       0xfu

struct rpp_outcome {
    atomic_uint references;
    atomic_uint known;   /* 0 until the end */
    atomic_uint ends_in; /* the thread; 0: not known */
    uint64_t began_ns;
};

rpp_outcome *rpp_outcome_new(uint64_t now_ns)
{
    rpp_outcome *outcome = rpp_malloc(sizeof *outcome);
    if (!outcome) return NULL;
    atomic_init(&outcome->references, 1);
    atomic_init(&outcome->known, 0);
    atomic_init(&outcome->ends_in, 0);
    outcome->began_ns = now_ns;
    return outcome;
}

rpp_outcome *rpp_outcome_retain(rpp_outcome *outcome)
{
    if (outcome) atomic_fetch_add_explicit(&outcome->references, 1, memory_order_relaxed);
    return outcome;
}

void rpp_outcome_release(rpp_outcome *outcome)
{
    /* acq_rel: the thread that frees sees everything that others did with it. */
    if (outcome && atomic_fetch_sub_explicit(&outcome->references, 1, memory_order_acq_rel) == 1) rpp_free(outcome);
}

uint64_t rpp_outcome_began_ns(const rpp_outcome *outcome)
{
    return outcome->began_ns;
}

void rpp_outcome_end(rpp_outcome *outcome, unsigned status, rpp_slow slow)
{
    unsigned status_class = status >= 100 && status < 600 ? status / 100 : 0;
    unsigned known = ENDED | status_class << CLASS_SHIFT | (unsigned)slow;
    atomic_store_explicit(&outcome->known, known, memory_order_relaxed);
}

bool rpp_outcome_has_ended(const rpp_outcome *outcome)
{
    return atomic_load_explicit(&outcome->known, memory_order_relaxed) != 0;
}

void rpp_outcome_ends_in(rpp_outcome *outcome, uint32_t thread_seq)
{
    atomic_store_explicit(&outcome->ends_in, thread_seq, memory_order_relaxed);
}

bool rpp_outcome_is_over_for(const rpp_outcome *outcome, uint32_t thread_seq)
{
    unsigned ends_in = atomic_load_explicit(&outcome->ends_in, memory_order_relaxed);
    return ends_in && ends_in != thread_seq && rpp_outcome_has_ended(outcome);
}

rpp_outcome_view rpp_outcome_now(const rpp_outcome *outcome)
{
    static const char *const statuses[] = {NULL, "1xx", "2xx", "3xx", "4xx", "5xx"};
    static const char *const slow[] = {[RPP_SLOW_UNKNOWN] = NULL, [RPP_SLOW_NO] = "false", [RPP_SLOW_YES] = "true"};
    unsigned known = atomic_load_explicit(&outcome->known, memory_order_relaxed);
    if (!known) return (rpp_outcome_view){.status = RPP_OUTCOME_OPEN};
    return (rpp_outcome_view){.status = statuses[known >> CLASS_SHIFT & FIELD], .slow = slow[known & FIELD]};
}
