/* next_step.c - what the uploader does next: try a payload, store one, wait, or end. */
#include "delivery/next_step.h"

static uint64_t least_ns(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* At the end, payloads on disk stay there for other processes. */
static bool is_on_offer(const rpp_prospect *p, rpp_source source)
{
    return source == RPP_SOURCE_MEMORY || !p->stopping;
}

static bool belongs_on_disk(const rpp_prospect *p)
{
    bool backing_off = p->now_ns < p->backoff_until_ns;
    return p->disk_takes && (p->stopping ? p->failing : backing_off || p->backlog);
}

static rpp_step wait_until(const rpp_prospect *p, uint64_t wait_ns)
{
    bool too_late = p->stopping && !p->under_way && wait_ns > p->stop_deadline_ns;
    return (rpp_step){.kind = too_late ? RPP_STEP_END : RPP_STEP_WAIT, .wait_ns = wait_ns};
}

rpp_step rpp_next_step(const rpp_prospect *p)
{
    uint64_t next_due_ns = UINT64_MAX;
    bool memory_is_empty = p->due_ns[RPP_SOURCE_MEMORY] == UINT64_MAX;
    if (p->stopping && (memory_is_empty || p->now_ns >= p->stop_deadline_ns)) {
        return (rpp_step){.kind = p->under_way ? RPP_STEP_WAIT : RPP_STEP_END, .wait_ns = UINT64_MAX};
    }
    if (!memory_is_empty && belongs_on_disk(p)) return (rpp_step){.kind = RPP_STEP_STORE};
    if (p->full) return wait_until(p, UINT64_MAX);
    if (p->now_ns < p->backoff_until_ns) return wait_until(p, p->backoff_until_ns);

    for (rpp_source source = 0; source < RPP_SOURCES; source++) {
        if (!is_on_offer(p, source)) continue;
        if (p->due_ns[source] <= p->now_ns) return (rpp_step){.kind = RPP_STEP_TRY, .source = source};
        next_due_ns = least_ns(next_due_ns, p->due_ns[source]);
    }
    rpp_step step = wait_until(p, next_due_ns);
    step.idle = memory_is_empty && !p->under_way && p->due_ns[RPP_SOURCE_SET_ASIDE] == UINT64_MAX;
    return step;
}

uint64_t rpp_try_deadline_ns(uint64_t now_ns, uint64_t timeout_ns, uint64_t stop_deadline_ns, bool others_wait)
{
    bool shares = others_wait && stop_deadline_ns != UINT64_MAX && stop_deadline_ns > now_ns;
    uint64_t last_ns = shares ? now_ns + (stop_deadline_ns - now_ns) / 2 : stop_deadline_ns;
    return least_ns(now_ns + timeout_ns, last_ns);
}
