/* time_account.h - a thread's time before it becomes samples: as a total, exactly, or by sampling (distribution.h).
 *
 * Vocabulary
 *   event   a wait off the GVL, or a GC pause. One of a period or longer, in one state, becomes due with its own exact
 *           time, and so does the end of one whose beginning did. Shorter ones are sampled (short_waits.h).
 *   gap     wall time of a running thread without CPU time: it was preempted, or slept while it held the GVL.
 *   due     the next capture takes it. Samples that no capture takes are lost; exact time stays until the next capture
 *           in its state.
 *
 * Threads    one at a time; async-signal-safe.
 * Ownership  the caller owns the struct.
 */
#ifndef RPP_TIME_ACCOUNT_H
#define RPP_TIME_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/sample_buffer.h"
#include "sampling/short_waits.h"
#include "sampling/thread_time.h"

typedef struct rpp_due_time {
    rpp_time exact, sampled;
    uint64_t waits;         /* of the exact time, those that are over and count */
    uint64_t waits_sampled; /* how many the samples stand for, in RPP_ONE_WAIT */
} rpp_due_time;

typedef struct rpp_time_account {
    uint64_t random;
    rpp_time event[RPP_STATE_COUNT];      /* the event in progress, since it began or was last cut */
    rpp_time totals[RPP_STATE_COUNT];     /* not captured exactly; for running, wall time without CPU time */
    uint64_t gvl_waits;                   /* that count and are over, except exact ones */
    bool gvl_wait_counts;                 /* the one that ends */
    uint64_t waits_kept[RPP_STATE_COUNT]; /* of exact time that no capture took */
    unsigned exact_states; /* a bit for each state: part of the event in progress was exact, so its end is */
    rpp_short_waits cpu_lines[RPP_STATE_COUNT], wall_lines[RPP_STATE_COUNT];
    rpp_due_time due[RPP_STATE_COUNT];
    unsigned due_states;    /* a bit for each state; 0: nothing of it is due */
    uint64_t begun_with_ns; /* the period of the first sampling points */
} rpp_time_account;

/* Places the first sampling points of an account of all zeros. `random` is any number. */
void rpp_account_open(rpp_time_account *account, uint64_t random, uint64_t period_ns);
/* Sampling begins. Places the first sampling points anew if they were placed for another period: threads are known
 * before sessions begin. */
void rpp_account_begin(rpp_time_account *account, uint64_t period_ns);

/* --- time that passed --- */

/* The thread ran. A long gap belongs to the stack at its end. Without a CPU clock all of the time is a gap, and ticks
 * sample it. */
void rpp_account_add_run(rpp_time_account *account, rpp_time ran, uint64_t period_ns, bool has_cpu_clock);
/* CPU time in a state of the event in progress; `before_ns` of it belongs to earlier short events. */
static inline void rpp_account_add_event_cpu(rpp_time_account *account, rpp_state state, uint64_t cpu_ns,
                                             uint64_t before_ns)
{
    account->totals[state].cpu_ns += before_ns;
    account->event[state].cpu_ns += cpu_ns - before_ns;
}

/* Before the end of a wait for the GVL: whether it counts (contention.h). */
static inline void rpp_account_count_gvl_wait(rpp_time_account *account, bool counts)
{
    account->gvl_waits += counts;
    account->gvl_wait_counts = counts;
}

/* The same as end_event for an event that is long, was cut, or is on a sampling point. */
void rpp_account_sample_event(rpp_time_account *account, rpp_state state, rpp_time own, unsigned cpu_weight,
                              uint64_t period_ns);
/* One state of the event in progress is over. On its line, its CPU time counts `cpu_weight` times. Inline, because
 * every GVL release ends two, and few of them are on a sampling point. */
static inline void rpp_account_end_event(rpp_time_account *account, rpp_state state, unsigned cpu_weight,
                                         uint64_t period_ns)
{
    rpp_short_waits *cpu_line = &account->cpu_lines[state], *wall_line = &account->wall_lines[state];
    rpp_time own = account->event[state];
    uint64_t cpu_ns = own.cpu_ns * cpu_weight;
    account->event[state] = (rpp_time){0};
    if (own.wall_ns >= period_ns || own.cpu_ns >= period_ns || rpp_short_waits_samples(cpu_line, cpu_ns) ||
        rpp_short_waits_samples(wall_line, own.wall_ns) || account->exact_states) {
        rpp_account_sample_event(account, state, own, cpu_weight, period_ns);
        return;
    }
    rpp_time_add(&account->totals[state], own);
    rpp_short_waits_pass(cpu_line, cpu_ns);
    rpp_short_waits_pass(wall_line, own.wall_ns);
}
/* The event in progress becomes due up to now. */
void rpp_account_cut_event(rpp_time_account *account);
/* The event in progress goes to the totals up to now. */
void rpp_account_add_event(rpp_time_account *account);

/* --- due time --- */

/* The running thread is sampled: add the weight to one of the two. */
rpp_time *rpp_account_sample_running(rpp_time_account *account);
bool rpp_account_finds_due(const rpp_time_account *account);
static inline bool rpp_account_is_due(const rpp_time_account *account)
{
    return account->due_states && rpp_account_finds_due(account);
}
/* False: nothing is due in this state. */
static inline bool rpp_account_may_be_due_in(const rpp_time_account *account, rpp_state state)
{
    return account->due_states >> state & 1;
}
void rpp_account_drop_due(rpp_time_account *account);
/* No capture took what was due. */
static inline void rpp_account_give_up_due(rpp_time_account *account)
{
    if (account->due_states) rpp_account_drop_due(account);
}
/* Moves all exact time that is due to the totals. */
void rpp_account_add_due(rpp_time_account *account);

/* --- into samples and back: numbers and state, no labels --- */

/* False: there is none. */
bool rpp_account_take_due(rpp_time_account *account, rpp_state state, rpp_sample *sample);
bool rpp_account_take_total(rpp_time_account *account, rpp_state state, rpp_sample *sample);
void rpp_account_put_back(rpp_time_account *account, const rpp_sample *sample);
/* CPU time of all totals. */
static inline uint64_t rpp_account_total_cpu_ns(const rpp_time_account *account)
{
    uint64_t cpu_ns = 0;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) cpu_ns += account->totals[state].cpu_ns;
    return cpu_ns;
}

#endif
