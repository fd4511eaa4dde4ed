/* time_account.c - a thread's time before it becomes samples. */
#include "sampling/time_account.h"

#include "base/clock.h"

void rpp_account_open(rpp_time_account *a, uint64_t random, uint64_t period_ns)
{
    a->random = random | 1;
    rpp_account_begin(a, period_ns);
}

void rpp_account_begin(rpp_time_account *a, uint64_t period_ns)
{
    if (a->begun_with_ns == period_ns) return;
    a->begun_with_ns = period_ns;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_short_waits_begin(&a->wall_lines[state], &a->random, period_ns);
        rpp_short_waits_begin(&a->cpu_lines[state], &a->random, period_ns);
    }
}

/* --- what passed --- */

static rpp_due_time *make_due(rpp_time_account *a, rpp_state state)
{
    a->due_states |= 1u << state;
    return &a->due[state];
}

void rpp_account_add_run(rpp_time_account *a, rpp_time ran, uint64_t period_ns, bool has_cpu_clock)
{
    uint64_t gap_ns = rpp_ns_since(ran.wall_ns, ran.cpu_ns);
    a->totals[RPP_STATE_RUNNING].cpu_ns += ran.cpu_ns;
    if (gap_ns >= period_ns && has_cpu_clock) {
        make_due(a, RPP_STATE_RUNNING)->exact.wall_ns += gap_ns;
        return;
    }
    a->totals[RPP_STATE_RUNNING].wall_ns += gap_ns;
    if (!has_cpu_clock) return;
    uint64_t sampled_ns = rpp_short_waits_add(&a->wall_lines[RPP_STATE_RUNNING], &a->random, period_ns, gap_ns);
    if (sampled_ns) make_due(a, RPP_STATE_RUNNING)->sampled.wall_ns += sampled_ns;
}

static bool counts(const rpp_time_account *a, rpp_state state)
{
    return state == RPP_STATE_WAITING ? a->gvl_wait_counts : state == RPP_STATE_BLOCKED;
}

static void end_exactly(rpp_time_account *a, rpp_state state, rpp_time own)
{
    rpp_due_time *due = make_due(a, state);
    rpp_time_add(&due->exact, own);
    due->waits += counts(a, state) + a->waits_kept[state];
    if (state == RPP_STATE_WAITING) a->gvl_waits -= a->gvl_wait_counts;
    a->waits_kept[state] = 0;
    a->exact_states &= ~(1u << state);
}

/* If the end of a cut event were sampled, the event would count never or several times. */
void rpp_account_sample_event(rpp_time_account *a, rpp_state state, rpp_time own, unsigned cpu_weight,
                              uint64_t period_ns)
{
    if (own.wall_ns >= period_ns || own.cpu_ns >= period_ns || (a->exact_states >> state & 1)) {
        end_exactly(a, state, own);
        return;
    }
    rpp_time_add(&a->totals[state], own);
    rpp_time sampled = {
        .cpu_ns = rpp_short_waits_add(&a->cpu_lines[state], &a->random, period_ns, own.cpu_ns * cpu_weight),
        .wall_ns = rpp_short_waits_add(&a->wall_lines[state], &a->random, period_ns, own.wall_ns),
    };
    if (rpp_time_is_none(sampled)) return;
    rpp_due_time *due = make_due(a, state);
    rpp_time_add(&due->sampled, sampled);
    if (sampled.wall_ns && counts(a, state)) due->waits_sampled += sampled.wall_ns * RPP_ONE_WAIT / own.wall_ns;
}

void rpp_account_cut_event(rpp_time_account *a)
{
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        if (!rpp_time_is_none(a->event[state])) a->exact_states |= 1u << state;
        rpp_time_add(&make_due(a, state)->exact, a->event[state]);
        a->event[state] = (rpp_time){0};
    }
}

void rpp_account_add_event(rpp_time_account *a)
{
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_time_add(&a->totals[state], a->event[state]);
        if (state == RPP_STATE_WAITING) a->gvl_waits += a->waits_kept[state];
        a->event[state] = (rpp_time){0};
        a->waits_kept[state] = 0;
    }
    a->exact_states = 0;
}

/* --- what is due --- */

rpp_time *rpp_account_sample_running(rpp_time_account *a)
{
    return &make_due(a, RPP_STATE_RUNNING)->sampled;
}

static bool is_due(const rpp_due_time *due)
{
    return !rpp_time_is_none(due->exact) || !rpp_time_is_none(due->sampled) || due->waits;
}

bool rpp_account_finds_due(const rpp_time_account *a)
{
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        if (rpp_account_may_be_due_in(a, state) && is_due(&a->due[state])) return true;
    }
    return false;
}

/* The capture failed. A gap waits for the next capture, other time for the end of the next event in its state. As part
 * of a total it would be distributed over stacks of other events. */
static void put_back(rpp_time_account *a, rpp_state state, rpp_time exact, uint64_t waits)
{
    if (state == RPP_STATE_RUNNING) {
        rpp_time_add(&make_due(a, state)->exact, exact);
        return;
    }
    if (rpp_time_is_none(exact) && !waits) return;
    rpp_time_add(&a->event[state], exact);
    a->waits_kept[state] += waits;
    a->exact_states |= 1u << state;
}

void rpp_account_drop_due(rpp_time_account *a)
{
    rpp_due_time *gap = &a->due[RPP_STATE_RUNNING];
    gap->sampled.cpu_ns = 0;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        if (state == RPP_STATE_RUNNING || !rpp_account_may_be_due_in(a, state)) continue;
        put_back(a, state, a->due[state].exact, a->due[state].waits);
        a->due[state] = (rpp_due_time){.waits = 0};
    }
    a->due_states = is_due(gap) ? 1u << RPP_STATE_RUNNING : 0;
}

void rpp_account_add_due(rpp_time_account *a)
{
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_time_add(&a->totals[state], a->due[state].exact);
        if (state == RPP_STATE_WAITING) a->gvl_waits += a->due[state].waits;
        a->due[state] = (rpp_due_time){.waits = 0};
    }
    a->due_states = 0;
}

/* --- into samples and back --- */

bool rpp_account_take_due(rpp_time_account *a, rpp_state state, rpp_sample *sample)
{
    rpp_due_time *due = &a->due[state];
    a->due_states &= ~(1u << state);
    if (!is_due(due)) return false;
    sample->state = (uint8_t)state;
    sample->cpu_ns = due->exact.cpu_ns;
    sample->wall_ns = due->exact.wall_ns;
    sample->cpu_sampled_ns = due->sampled.cpu_ns;
    sample->wall_sampled_ns = due->sampled.wall_ns;
    sample->contentions = due->waits;
    sample->waits_sampled = due->waits_sampled;
    *due = (rpp_due_time){.waits = 0};
    return true;
}

bool rpp_account_take_total(rpp_time_account *a, rpp_state state, rpp_sample *sample)
{
    if (rpp_time_is_none(a->totals[state])) return false;
    sample->state = (uint8_t)state;
    sample->is_total = true;
    sample->cpu_ns = a->totals[state].cpu_ns;
    sample->wall_ns = a->totals[state].wall_ns;
    a->totals[state] = (rpp_time){0};
    if (state != RPP_STATE_WAITING) return true;
    sample->contentions = a->gvl_waits;
    a->gvl_waits = 0;
    return true;
}

void rpp_account_put_back(rpp_time_account *a, const rpp_sample *sample)
{
    rpp_time time = {sample->cpu_ns, sample->wall_ns};
    if (sample->is_total) {
        rpp_time_add(&a->totals[sample->state], time);
        a->gvl_waits += sample->contentions;
    } else {
        put_back(a, (rpp_state)sample->state, time, sample->contentions);
    }
}
