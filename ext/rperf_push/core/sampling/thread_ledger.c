/* thread_ledger.c - one thread's time: what it does, since when, and what of it is to be captured. */
#include "sampling/thread_ledger.h"

#include <string.h>

#include "base/clock.h"

/* What a sample weighs that counts only where there is no other. */
#define STAND_IN_NS 1u

static uint64_t period_of(const rpp_thread_ledger *l)
{
    return atomic_load_explicit(&l->rules->period_ns, memory_order_relaxed);
}

static rpp_state doing(const rpp_thread_ledger *l)
{
    return (rpp_state)atomic_load_explicit(&l->doing, memory_order_relaxed);
}

static void now_doing(rpp_thread_ledger *l, rpp_state state)
{
    atomic_store_explicit(&l->doing, (uint8_t)state, memory_order_relaxed);
}

static bool is_off_gvl(const rpp_thread_ledger *l)
{
    return !rpp_ledger_holds_gvl(l);
}

rpp_due rpp_ledger_pending(const rpp_thread_ledger *l)
{
    return rpp_account_is_due(&l->account) ? RPP_DUE_CAPTURE : RPP_DUE_NOTHING;
}

/* --- time passes --- */

/* What runs is only unread yet: the CPU clock will tell what of it was a gap. */
static void advance(rpp_thread_ledger *l, rpp_state state, uint64_t now_ns)
{
    uint64_t passed_ns = rpp_clocks_advance(&l->clocks, state, now_ns);
    if (state == RPP_STATE_RUNNING) {
        l->ran_since_found.wall_ns += passed_ns;
    } else {
        l->account.event[state].wall_ns += passed_ns;
    }
}

/* Blocked until it asked for the GVL, waiting since. */
static void advance_off_gvl(rpp_thread_ledger *l, uint64_t now_ns)
{
    uint64_t asked = atomic_load_explicit(&l->asked_ns, memory_order_relaxed);
    if (asked && asked < now_ns) {
        advance(l, RPP_STATE_BLOCKED, asked);
        advance(l, RPP_STATE_WAITING, now_ns);
    } else {
        advance(l, RPP_STATE_BLOCKED, now_ns);
    }
}

static void advance_to(rpp_thread_ledger *l, uint64_t now_ns)
{
    if (is_off_gvl(l)) {
        advance_off_gvl(l, now_ns);
    } else {
        advance(l, doing(l), now_ns);
    }
}

/* A clock that went back stands still. */
static uint64_t cpu_now(const rpp_thread_ledger *l)
{
    uint64_t cpu_ns = l->has_cpu_clock ? l->rules->cpu_ns(l->thread) : 0;
    return cpu_ns > l->clocks.cpu_known_ns ? cpu_ns : l->clocks.cpu_known_ns;
}

static void grow_older(rpp_thread_ledger *l, uint64_t cpu_ns)
{
    if (!l->rules->late_ticks || l->on_gvl_ns == RPP_ON_GVL_UNKNOWN) return;
    rpp_late_ticks_spend(l->rules->late_ticks, &l->late_ticks, l->on_gvl_ns, l->on_gvl_ns + cpu_ns);
    l->on_gvl_ns += cpu_ns;
}

/* Returns the CPU time that ran. */
static uint64_t read_with_events(rpp_thread_ledger *l, uint64_t cpu_ns)
{
    rpp_cpu_reading reading;
    rpp_clocks_read(&l->clocks, cpu_ns, &reading);
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        uint64_t state_cpu_ns = reading.cpu_ns[state];
        if (!state_cpu_ns || state == RPP_STATE_RUNNING) continue;
        rpp_account_add_event_cpu(&l->account, state, state_cpu_ns, reading.before_ns[state]);
    }
    return reading.cpu_ns[RPP_STATE_RUNNING];
}

static void read_at(rpp_thread_ledger *l, uint64_t cpu_ns)
{
    bool only_ran = rpp_clocks_only_ran(&l->clocks);
    rpp_time ran = {.wall_ns = l->clocks.unread_ns[RPP_STATE_RUNNING]};
    ran.cpu_ns = only_ran ? rpp_clocks_read_run(&l->clocks, cpu_ns) : read_with_events(l, cpu_ns);
    l->ran_since_found.cpu_ns += ran.cpu_ns;
    if (ran.wall_ns) rpp_account_add_run(&l->account, ran, period_of(l), l->has_cpu_clock);
    grow_older(l, ran.cpu_ns);
}

static void read_cpu(rpp_thread_ledger *l)
{
    read_at(l, cpu_now(l));
}

/* Findings from now on have nothing to do with what was before. */
static void begin_finding(rpp_thread_ledger *l)
{
    l->ran_since_found = (rpp_time){0};
    l->on_gvl_ns = RPP_ON_GVL_UNKNOWN;
}

/* --- events --- */

/* A GVL release begins and ends one, so these are inline in the verbs. */
#define INLINE inline __attribute__((always_inline))

/* Each random number has 15 coins of four bits, under a bit that ends them. */
static INLINE bool is_to_be_read(rpp_thread_ledger *l)
{
    _Static_assert(RPP_LEDGER_READ_ONE_IN == 16, "four bits");
    if (l->coins < 16) l->coins = rpp_random_next(&l->account.random) | UINT64_C(1) << 63;
    bool wins = l->coins % 16 == 0;
    l->coins /= 16;
    return wins;
}

static INLINE void begin_event(rpp_thread_ledger *l)
{
    l->read_at_begin = is_to_be_read(l);
    bool long_run = l->clocks.unread_ns[RPP_STATE_RUNNING] >= l->rules->read_run_ns;
    bool many_events = rpp_clocks_unread_in_events_ns(&l->clocks) >= l->rules->read_event_ns;
    rpp_clocks_begin_event(&l->clocks);
    if (l->read_at_begin || long_run || many_events) read_cpu(l);
}

/* One event has two states; this much of its wall time may hold CPU time. */
static INLINE void end_event(rpp_thread_ledger *l, rpp_state first, rpp_state second, uint64_t may_have_burnt_ns)
{
    bool is_long = may_have_burnt_ns >= l->rules->read_event_ns;
    if (is_long || l->read_at_begin) read_cpu(l);
    unsigned weight = is_long ? 1 : l->read_at_begin ? RPP_LEDGER_READ_ONE_IN : 0;
    uint64_t period_ns = period_of(l);
    rpp_account_end_event(&l->account, first, weight, period_ns);
    rpp_account_end_event(&l->account, second, weight, period_ns);
}

/* Who waits for the GVL burns nothing. */
static INLINE void end_wait(rpp_thread_ledger *l, bool contended)
{
    rpp_account_count_gvl_wait(&l->account, contended);
    end_event(l, RPP_STATE_BLOCKED, RPP_STATE_WAITING, l->account.event[RPP_STATE_BLOCKED].wall_ns);
}

static void end_pause(rpp_thread_ledger *l)
{
    const rpp_time *event = l->account.event;
    end_event(l, RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING,
              event[RPP_STATE_GC_MARKING].wall_ns + event[RPP_STATE_GC_SWEEPING].wall_ns);
}

/* --- life --- */

void rpp_ledger_open(rpp_thread_ledger *l, const rpp_ledger_rules *rules, void *thread, uint64_t random,
                     uint64_t now_ns)
{
    rpp_label_set_release(l->labels);
    memset(l, 0, sizeof *l);
    l->rules = rules;
    l->thread = thread;
    now_doing(l, RPP_STATE_BLOCKED);
    l->clocks.wall_known_ns = now_ns;
    rpp_account_open(&l->account, random, period_of(l));
}

void rpp_ledger_discard(rpp_thread_ledger *l, uint64_t random, uint64_t now_ns)
{
    rpp_label_set *labels = l->labels;
    l->labels = NULL;
    rpp_ledger_open(l, l->rules, l->thread, random, now_ns);
    l->labels = labels;
}

void rpp_ledger_clocked(rpp_thread_ledger *l, uint64_t cpu_ns)
{
    l->has_cpu_clock = true;
    l->clocks.cpu_known_ns = cpu_ns;
    rpp_thinning_start(&l->thinning, rpp_random_next(&l->account.random), cpu_ns, period_of(l), l->rules->tick_ns);
}

void rpp_ledger_unclocked(rpp_thread_ledger *l)
{
    l->has_cpu_clock = false;
}

void rpp_ledger_resumed(rpp_thread_ledger *l, bool runs, uint64_t now_ns)
{
    rpp_account_give_up_due(&l->account);
    rpp_account_add_event(&l->account);
    rpp_account_begin(&l->account, period_of(l));
    rpp_clocks_discard_unread(&l->clocks);
    begin_finding(l);
    now_doing(l, runs ? RPP_STATE_RUNNING : RPP_STATE_BLOCKED);
    l->clocks.wall_known_ns = now_ns;
    l->clocks.cpu_known_ns = cpu_now(l);
    l->may_have_asked = !runs;
    l->pending = false;
    atomic_store_explicit(&l->asked_ns, 0, memory_order_relaxed);
}

void rpp_ledger_relabelled(rpp_thread_ledger *l, rpp_label_set *labels)
{
    rpp_label_set *before = l->labels;
    if (before == labels) return;
    if (rpp_ledger_runs(l)) rpp_account_add_event(&l->account); /* it had these labels */
    l->labels = rpp_label_set_retain(labels);
    rpp_label_set_release(before);
}

/* --- what happens to it --- */

void rpp_ledger_asked(rpp_thread_ledger *l, uint64_t now_ns)
{
    uint64_t none = 0;
    atomic_compare_exchange_strong_explicit(&l->asked_ns, &none, now_ns, memory_order_relaxed, memory_order_relaxed);
}

rpp_due rpp_ledger_got(rpp_thread_ledger *l, uint64_t now_ns, bool contended)
{
    rpp_account_give_up_due(&l->account);
    if (is_off_gvl(l)) {
        if (l->may_have_asked) rpp_ledger_asked(l, l->clocks.wall_known_ns);
        advance_off_gvl(l, now_ns);
        end_wait(l, contended);
        l->on_gvl_ns = 0;
        now_doing(l, RPP_STATE_RUNNING);
    } else {
        advance(l, doing(l), now_ns);
    }
    l->may_have_asked = false;
    atomic_store_explicit(&l->asked_ns, 0, memory_order_relaxed);
    return rpp_ledger_pending(l);
}

rpp_due rpp_ledger_released(rpp_thread_ledger *l, uint64_t now_ns)
{
    rpp_account_give_up_due(&l->account);
    l->may_have_asked = false;
    if (is_off_gvl(l)) {
        advance_off_gvl(l, now_ns);
        return RPP_DUE_NOTHING;
    }
    advance(l, doing(l), now_ns);
    if (rpp_ledger_is_in_gc(l)) end_pause(l);
    begin_event(l);
    now_doing(l, RPP_STATE_BLOCKED);
    return rpp_ledger_pending(l);
}

rpp_due rpp_ledger_gc_entered(rpp_thread_ledger *l, rpp_state phase, uint64_t now_ns)
{
    rpp_account_give_up_due(&l->account);
    if (is_off_gvl(l)) return RPP_DUE_NOTHING;
    advance_to(l, now_ns);
    if (rpp_ledger_runs(l)) {
        begin_event(l);
    } else if (phase != doing(l) && l->clocks.unread_ns[doing(l)] >= l->rules->read_event_ns) {
        read_cpu(l); /* wall time may not share it out: preemption hits one of the two */
    }
    now_doing(l, phase);
    return rpp_ledger_pending(l);
}

rpp_due rpp_ledger_gc_left(rpp_thread_ledger *l, uint64_t now_ns)
{
    rpp_account_give_up_due(&l->account);
    if (!rpp_ledger_is_in_gc(l)) return RPP_DUE_NOTHING;
    advance_to(l, now_ns);
    end_pause(l);
    now_doing(l, RPP_STATE_RUNNING);
    return rpp_ledger_pending(l);
}

static void follow_period(rpp_thread_ledger *l, uint64_t cpu_ns)
{
    uint64_t period = period_of(l);
    if (l->thinning.period_ns == period) return;
    rpp_thinning_start(&l->thinning, rpp_random_next(&l->account.random), cpu_ns, period, l->rules->tick_ns);
}

/* Where nothing is known of the CPU time, it samples the wall time. */
static uint64_t *running_weight(rpp_thread_ledger *l)
{
    rpp_time *sampled = rpp_account_sample_running(&l->account);
    return l->has_cpu_clock ? &sampled->cpu_ns : &sampled->wall_ns;
}

/* False: in this state nothing is sampled. */
static bool stop_at(rpp_thread_ledger *l, uint64_t now_ns, uint64_t cpu_ns)
{
    rpp_account_give_up_due(&l->account);
    if (!rpp_ledger_runs(l)) return false;
    advance_to(l, now_ns);
    read_at(l, cpu_ns);
    return true;
}

static rpp_due sample_running(rpp_thread_ledger *l, uint64_t weight_ns, uint64_t now_ns, uint64_t cpu_ns)
{
    if (!stop_at(l, now_ns, cpu_ns)) return RPP_DUE_NOTHING;
    *running_weight(l) += weight_ns;
    return rpp_ledger_pending(l);
}

rpp_due rpp_ledger_sampled(rpp_thread_ledger *l, uint64_t weight_ns, uint64_t now_ns)
{
    return sample_running(l, weight_ns, now_ns, cpu_now(l));
}

/* What passed `after` the finding belongs to the next one. Not the share since the last reading: that may be after a
 * wait for the core, and all that ran would weigh twice. */
static uint64_t on_core_ns(rpp_thread_ledger *l, uint64_t weight_ns, rpp_time after)
{
    rpp_time ran = l->ran_since_found;
    after.cpu_ns = rpp_ns_least(after.cpu_ns, ran.cpu_ns);
    after.wall_ns = rpp_ns_least(after.wall_ns, ran.wall_ns);
    l->ran_since_found = after;
    ran = rpp_time_less(ran, after);
    return rpp_ns_share(weight_ns, ran.cpu_ns, ran.wall_ns);
}

rpp_due rpp_ledger_found(rpp_thread_ledger *l, uint64_t weight_ns, rpp_time at, uint64_t now_ns)
{
    uint64_t cpu_ns = cpu_now(l);
    if (!stop_at(l, now_ns, cpu_ns)) return RPP_DUE_NOTHING;
    rpp_time after = {rpp_ns_since(cpu_ns, at.cpu_ns), rpp_ns_since(now_ns, at.wall_ns)};
    if (l->has_cpu_clock) weight_ns = on_core_ns(l, weight_ns, after);
    bool is_known = l->rules->late_ticks && l->has_cpu_clock && l->on_gvl_ns != RPP_ON_GVL_UNKNOWN;
    if (is_known) weight_ns = rpp_late_ticks_weigh(l->rules->late_ticks, &l->late_ticks, l->on_gvl_ns, weight_ns);
    *running_weight(l) += weight_ns;
    return rpp_ledger_pending(l);
}

rpp_due rpp_ledger_ticked(rpp_thread_ledger *l, uint64_t now_ns)
{
    uint64_t cpu_ns = cpu_now(l);
    l->ticked_cpu_ns = cpu_ns;
    follow_period(l, cpu_ns);
    unsigned times = rpp_thinning_take(&l->thinning, cpu_ns);
    if (!times) return RPP_DUE_NOTHING;
    return sample_running(l, times * rpp_thinning_weight_ns(&l->thinning), now_ns, cpu_ns);
}

rpp_due rpp_ledger_note_tick(rpp_thread_ledger *l, uint64_t now_ns)
{
    return sample_running(l, 0, now_ns, cpu_now(l));
}

static uint64_t silent_from(rpp_thread_ledger *l, uint64_t cpu_ns)
{
    follow_period(l, cpu_ns);
    return rpp_thinning_silent_ns(&l->thinning, cpu_ns);
}

uint64_t rpp_ledger_silent_ns(rpp_thread_ledger *l)
{
    return silent_from(l, cpu_now(l));
}

uint64_t rpp_ledger_silent_after_tick_ns(rpp_thread_ledger *l)
{
    return silent_from(l, l->ticked_cpu_ns);
}

rpp_due rpp_ledger_bounded(rpp_thread_ledger *l, uint64_t boundary_ns)
{
    rpp_account_give_up_due(&l->account);
    advance_to(l, boundary_ns);
    read_cpu(l);
    rpp_account_cut_event(&l->account);
    if (rpp_ledger_runs(l)) *running_weight(l) += STAND_IN_NS;
    return rpp_ledger_pending(l);
}

void rpp_ledger_add_due(rpp_thread_ledger *l)
{
    rpp_account_add_due(&l->account);
}

void rpp_ledger_ended(rpp_thread_ledger *l, uint64_t now_ns)
{
    (void)rpp_ledger_bounded(l, now_ns);
    now_doing(l, RPP_STATE_RUNNING);
    rpp_ledger_add_due(l);
}

/* --- taking time --- */

bool rpp_ledger_take_due(rpp_thread_ledger *l, rpp_state state, rpp_sample *sample)
{
    if (!rpp_account_take_due(&l->account, state, sample)) return false;
    sample->labels = rpp_label_set_retain(l->labels);
    return true;
}

bool rpp_ledger_take_total(rpp_thread_ledger *l, rpp_state state, rpp_sample *sample)
{
    if (!rpp_account_take_total(&l->account, state, sample)) return false;
    sample->labels = rpp_label_set_retain(l->labels);
    return true;
}

void rpp_ledger_untake(rpp_thread_ledger *l, const rpp_sample *sample)
{
    rpp_account_put_back(&l->account, sample);
    rpp_label_set_release(sample->labels);
}

/* --- against a handler on the same thread --- */

void rpp_ledger_keep_tick(rpp_thread_ledger *l)
{
    l->pending = true;
}

bool rpp_ledger_is_open_to_ticks(rpp_thread_ledger *l)
{
    if (!l->busy) return true;
    if (rpp_ledger_runs(l)) l->pending = true;
    return false;
}
