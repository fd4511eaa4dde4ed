/* simulated_threads.h - threads whose every nanosecond is known, their ledgers, and the profile that comes of it.
 *
 * A thread goes round a pattern of phases: each has a state, a place, labels, a length. Its ledger hears what a VM
 * would say. Ticks are those of a kernel, or of a collector that follows the wall clock: one at a random place in each
 * period, which a running thread takes when it is on a core; where cores are scarce, the collector gets one only when a
 * thread that has just woken up has run for a while. At the end, what the profiles show of each place, state and label
 * is held against the truth.
 */
#ifndef RPP_SIMULATED_THREADS_H
#define RPP_SIMULATED_THREADS_H

#include <math.h>

#include "base/clock.h"
#include "profile/profile.h"
#include "sampling/thread_ledger.h"
#include "test.h"

#define US(n) ((uint64_t)((n)*1e3))
#define MS(n) ((uint64_t)((n)*1e6))

enum { PLACES = 64, SETS = 24, PHASES = 128 };

/* RUNNING or GC with `carry_over`: off its core, with the GVL in its hands. BLOCKED with `burns`: zlib and the like. */
typedef struct phase {
    rpp_state state;
    uint8_t place, labels;
    bool carry_over, burns;
    uint64_t from_ns, to_ns; /* its length, evenly between them */
} phase;

typedef struct pattern {
    phase phases[PHASES];
    unsigned count;
    bool shuffled; /* the next phase is any of them */
} pattern;

typedef struct sim_truth {
    double cpu_ns[PLACES][RPP_STATE_COUNT], wall_ns[PLACES][RPP_STATE_COUNT], label_ns[SETS], all_cpu_ns, all_wall_ns;
    double cpu_squares[PLACES], wall_squares[PLACES]; /* of what is seen */
} sim_truth;

typedef struct sim_world {
    rpp_ledger_rules rules;
    uint64_t random, window_ns, tick_phase_ns;
    double deferred[PLACES]; /* how often a tick finds somebody at work on the ledger there */
    double missed;           /* how many of the kernel's ticks find another process on the core */
    bool goes_on;            /* no window is the last */
    bool has_collector;      /* it ticks instead of the kernel */
    double crowded; /* how often its tick within the first `keeps_core_ns` of a run waits until they are over */
    uint64_t keeps_core_ns;
    rpp_late_ticks late_ticks; /* for rules.late_ticks */
    rpp_profile *profile;
    rpp_carry_over carry_over;
    uint32_t threads;
    rpp_label_set *sets[SETS];
    sim_truth is, seen;
    uint64_t signals, captures;
    double stand_in_ns; /* of a line, without a mark, that may stand elsewhere: a period for each thread and window */
} sim_world;

typedef struct sim_thread {
    sim_world *world;
    const pattern *round;
    rpp_thread_ledger ledger;
    uint32_t seq;
    uint64_t now_ns, cpu_ns, armed_ns, left_ns, reads;
    uint64_t tick_ns, tick_period_end_ns; /* the collector's */
    uint64_t ran_since_ns;
    bool waited;    /* the collector for a core, with this tick */
    unsigned ticks; /* of it, not taken yet, */
    rpp_time found; /* ... and the last of them */
    unsigned at;
    phase current;
} sim_thread;

static inline uint64_t sim_random(sim_world *world, uint64_t below)
{
    return below ? (rpp_random_next(&world->random) >> 8) % below : 0;
}

static inline uint64_t sim_cpu_ns(void *thread)
{
    sim_thread *t = thread;
    t->reads++;
    return t->cpu_ns;
}

static inline void sim_world_init(sim_world *world, uint64_t seed, uint64_t period_ns, uint64_t tick_ns)
{
    memset(world, 0, sizeof *world);
    world->rules.tick_ns = tick_ns;
    world->rules.read_run_ns = US(100);
    world->rules.read_event_ns = US(20);
    world->rules.cpu_ns = sim_cpu_ns;
    atomic_store(&world->rules.period_ns, period_ns);
    world->random = seed * 2 + 1;
    for (int i = 0; i < 8; i++) rpp_random_next(&world->random);
    world->window_ns = 1000 * period_ns;
    world->stand_in_ns = RPP_MISSED_PERIODS * (double)period_ns; /* at the end */
    world->tick_phase_ns = sim_random(world, tick_ns);
    for (unsigned i = 1; i < SETS; i++) {
        char text[8];
        snprintf(text, sizeof text, "%u", i);
        rpp_label label = {"k", text, 1, (uint32_t)strlen(text)};
        CHECK_OK(rpp_label_set_merge(NULL, &label, 1, &world->sets[i]));
    }
}

static inline void sim_world_destroy(sim_world *world)
{
    for (unsigned i = 1; i < SETS; i++) rpp_label_set_release(world->sets[i]);
    rpp_profile_free(world->profile);
}

static inline void sim_add(sim_world *world, const rpp_sample *sample, unsigned place)
{
    rpp_location leaf = {100 + place, 1};
    if (!world->profile) world->profile = rpp_profile_new(&rpp_profile_default_limits);
    CHECK_OK(rpp_profile_add(world->profile, sample, &leaf));
    rpp_label_set_release(sample->labels);
}

static inline void sim_capture(sim_thread *t, rpp_due due, unsigned place)
{
    if (due == RPP_DUE_NOTHING) return;
    t->world->captures++;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample = {.thread_seq = t->seq, .depth = 1};
        if (rpp_ledger_take_due(&t->ledger, state, &sample)) sim_add(t->world, &sample, place);
    }
}

static inline void sim_flush(sim_thread *t)
{
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample = {.thread_seq = t->seq};
        if (rpp_ledger_take_total(&t->ledger, state, &sample)) sim_add(t->world, &sample, 0);
    }
}

static inline void sim_signal(sim_thread *t)
{
    t->world->signals++;
    bool deferred = sim_random(t->world, 1000) < 1000 * t->world->deferred[t->current.place], open = true;
    if (deferred) {
        bool was_busy = rpp_ledger_enter(&t->ledger);
        CHECK(!rpp_ledger_is_open_to_ticks(&t->ledger));
        open = rpp_ledger_leave(&t->ledger, was_busy);
    }
    if (open) sim_capture(t, rpp_ledger_ticked(&t->ledger, t->now_ns), t->current.place);
    t->armed_ns = t->cpu_ns + rpp_ledger_silent_ns(&t->ledger);
}

/* At its next safepoint, which comes at once where it is on a core. */
static inline void sim_take_ticks(sim_thread *t)
{
    uint64_t weight_ns = t->ticks * atomic_load(&t->world->rules.period_ns);
    if (!t->ticks) return;
    t->ticks = 0;
    sim_capture(t, rpp_ledger_found(&t->ledger, weight_ns, t->found, t->now_ns), t->current.place);
}

static inline void sim_sample_tick(sim_thread *t)
{
    uint64_t period = atomic_load(&t->world->rules.period_ns);
    t->tick_ns = t->tick_period_end_ns + sim_random(t->world, period);
    t->tick_period_end_ns += period;
    if (t->tick_ns < t->now_ns) t->tick_ns = t->now_ns; /* the one before was late */
    t->waited = false;
}

/* True: the tick that is due now comes later, as the thread keeps its core. */
static inline bool sim_tick_waits(sim_thread *t)
{
    sim_world *w = t->world;
    uint64_t until = t->ran_since_ns + w->keeps_core_ns;
    if (t->waited || t->now_ns >= until || sim_random(w, 1000) >= 1000 * w->crowded) return false;
    t->waited = true;
    t->tick_ns = until;
    return true;
}

/* The collector's ticks until then; the thread is on a core, or is not. */
static inline void sim_be_found_until(sim_thread *t, uint64_t end_ns, bool burns)
{
    if (burns && t->current.state == RPP_STATE_RUNNING) sim_take_ticks(t);
    while (t->tick_ns <= end_ns) {
        uint64_t passed_ns = t->tick_ns - t->now_ns;
        t->now_ns += passed_ns;
        t->cpu_ns += burns ? passed_ns : 0;
        if (rpp_ledger_runs(&t->ledger) && sim_tick_waits(t)) continue;
        if (rpp_ledger_runs(&t->ledger)) {
            t->found = (rpp_time){t->cpu_ns, t->now_ns};
            t->ticks++;
            if (burns) sim_take_ticks(t);
        }
        sim_sample_tick(t);
    }
}

static inline bool sim_burns(const phase *p)
{
    if (p->state == RPP_STATE_WAITING) return false;
    return p->state == RPP_STATE_BLOCKED ? p->burns : !p->carry_over;
}

static inline bool sim_is_missed(sim_world *world)
{
    return world->missed > 0 && sim_random(world, 1000) < 1000 * world->missed;
}

static inline void sim_pass(sim_thread *t, uint64_t ns)
{
    sim_world *w = t->world;
    const phase *p = &t->current;
    uint64_t end = t->now_ns + ns, tick = w->rules.tick_ns;
    w->is.wall_ns[p->place][p->state] += (double)ns;
    w->is.all_wall_ns += (double)ns;
    if (sim_burns(p)) {
        w->is.cpu_ns[p->place][p->state] += (double)ns;
        w->is.label_ns[p->labels] += (double)ns;
        w->is.all_cpu_ns += (double)ns;
    }
    if (w->has_collector) {
        sim_be_found_until(t, end, sim_burns(p));
        t->cpu_ns += sim_burns(p) ? end - t->now_ns : 0;
    } else if (sim_burns(p)) {
        uint64_t next = (t->now_ns + tick - w->tick_phase_ns) / tick * tick + w->tick_phase_ns;
        for (; next <= end; next += tick) {
            t->cpu_ns += next - t->now_ns;
            t->now_ns = next;
            if (t->cpu_ns >= t->armed_ns && !sim_is_missed(w)) sim_signal(t);
        }
        t->cpu_ns += end - t->now_ns;
    }
    t->now_ns = end;
}

static inline bool is_off(rpp_state state)
{
    return state == RPP_STATE_BLOCKED || state == RPP_STATE_WAITING;
}

static inline bool is_gc(rpp_state state)
{
    return state == RPP_STATE_GC_MARKING || state == RPP_STATE_GC_SWEEPING;
}

/* Goes over from one phase to the next as a VM would tell it. */
static inline void sim_begin(sim_thread *t, phase next)
{
    rpp_thread_ledger *l = &t->ledger;
    rpp_state before = t->current.state;
    unsigned place = t->current.place;
    if (is_off(next.state)) sim_take_ticks(t); /* the VM has a safepoint there */
    bool goes_on =
        (next.state == RPP_STATE_WAITING && before == RPP_STATE_BLOCKED) || (is_gc(next.state) && is_gc(before));
    if (goes_on) { /* the stack stands still */
        next.place = t->current.place;
        next.labels = t->current.labels;
    }
    if (goes_on && next.state == RPP_STATE_WAITING) {
        rpp_ledger_asked(l, t->now_ns);
    } else if (goes_on) {
        sim_capture(t, rpp_ledger_gc_entered(l, next.state, t->now_ns), place);
    } else if (next.state != before || next.state != RPP_STATE_RUNNING) {
        if (is_off(before)) sim_capture(t, rpp_ledger_got(l, t->now_ns, true), place);
        if (is_off(before)) t->ran_since_ns = t->now_ns;
        if (is_gc(before)) sim_capture(t, rpp_ledger_gc_left(l, t->now_ns), place);
        rpp_ledger_relabelled(l, t->world->sets[next.labels]);
        if (is_off(next.state)) {
            sim_capture(t, rpp_ledger_released(l, t->now_ns), next.place);
            if (next.state == RPP_STATE_WAITING) rpp_ledger_asked(l, t->now_ns);
        }
        if (is_gc(next.state)) sim_capture(t, rpp_ledger_gc_entered(l, next.state, t->now_ns), next.place);
    }
    if (next.state == RPP_STATE_RUNNING) rpp_ledger_relabelled(l, t->world->sets[next.labels]);
    t->current = next;
}

static inline void sim_next_phase(sim_thread *t)
{
    const pattern *p = t->round;
    unsigned at = p->shuffled ? (unsigned)sim_random(t->world, p->count) : t->at++ % p->count;
    phase next = p->phases[at];
    sim_begin(t, next);
    t->left_ns = next.from_ns + sim_random(t->world, next.to_ns - next.from_ns + 1);
}

static inline void sim_thread_start(sim_thread *t, sim_world *world, const pattern *round, uint64_t now_ns)
{
    memset(t, 0, sizeof *t);
    t->world = world;
    t->round = round;
    t->seq = ++world->threads;
    t->now_ns = now_ns;
    t->current = (phase){.state = RPP_STATE_WAITING};
    rpp_ledger_open(&t->ledger, &world->rules, t, rpp_random_next(&world->random), now_ns);
    rpp_ledger_asked(&t->ledger, now_ns);
    rpp_ledger_clocked(&t->ledger, 0);
    t->armed_ns = rpp_ledger_silent_ns(&t->ledger);
    t->tick_period_end_ns = now_ns;
    if (world->has_collector) sim_sample_tick(t);
    sim_next_phase(t);
}

static inline void sim_run_until(sim_thread *t, uint64_t end_ns)
{
    while (t->now_ns < end_ns) {
        uint64_t step = t->left_ns < end_ns - t->now_ns ? t->left_ns : end_ns - t->now_ns;
        sim_pass(t, step);
        t->left_ns -= step;
        if (!t->left_ns) sim_next_phase(t);
    }
}

static inline void sim_thread_end(sim_thread *t)
{
    rpp_ledger_ended(&t->ledger, t->now_ns);
    sim_flush(t);
    rpp_ledger_relabelled(&t->ledger, NULL);
}

static inline void sim_read_row(sim_world *world, const rpp_row *row)
{
    const rpp_stack_table *stacks = rpp_profile_stacks(world->profile);
    uint32_t depth;
    const uint32_t *locations = rpp_stack_table_get(stacks, row->stack, &depth);
    uint32_t frame = rpp_stack_table_location(stacks, locations[0]).frame;
    sim_truth *seen = &world->seen;
    seen->all_cpu_ns += (double)row->cpu_ns;
    seen->all_wall_ns += (double)row->wall_ns;
    if (frame < 100) return;
    const rpp_label_set *set = rpp_label_sets_get(rpp_profile_label_sets(world->profile), row->labels);
    unsigned labels = 0;
    while (world->sets[labels] != set) labels++;
    seen->cpu_ns[frame - 100][row->state] += (double)row->cpu_ns;
    seen->wall_ns[frame - 100][row->state] += (double)row->wall_ns;
    seen->cpu_squares[frame - 100] += row->squares.of[RPP_VALUE_CPU];
    seen->wall_squares[frame - 100] += row->squares.of[RPP_VALUE_WALL];
    seen->label_ns[labels] += (double)row->cpu_ns;
}

static inline void sim_close(sim_world *world, bool last)
{
    if (!world->profile) return;
    rpp_profile_distribute(world->profile, atomic_load(&world->rules.period_ns), last, &world->carry_over);
    for (size_t i = 0; i < rpp_profile_row_count(world->profile); i++) {
        sim_read_row(world, &rpp_profile_rows(world->profile)[i]);
    }
    rpp_profile_free(world->profile);
    world->profile = NULL;
}

/* Threads that live through all windows. */
static inline void sim_run(sim_world *world, const pattern *patterns, unsigned threads, unsigned windows)
{
    static sim_thread t[256];
    CHECK(threads <= 256);
    for (unsigned i = 0; i < threads; i++) sim_thread_start(&t[i], world, &patterns[i], sim_random(world, MS(50)));
    for (unsigned w = 1; w <= windows; w++) {
        uint64_t boundary = w * world->window_ns;
        for (unsigned i = 0; i < threads; i++) {
            sim_run_until(&t[i], boundary);
            sim_capture(&t[i], rpp_ledger_bounded(&t[i].ledger, boundary), t[i].current.place);
            sim_flush(&t[i]);
        }
        sim_close(world, w == windows && !world->goes_on);
        world->stand_in_ns += threads * (double)atomic_load(&world->rules.period_ns);
    }
    for (unsigned i = 0; i < threads; i++) sim_thread_end(&t[i]);
}

/* --- the verdict --- */

/* How far a share may be off: 3 %, and chance. Ticks come in bursts, so up to so many of them may say the same. */
static inline double sim_allowed(double is_ns, double weight_ns, unsigned alike)
{
    return 0.03 * is_ns + 4.5 * sqrt(alike * (is_ns + weight_ns) * weight_ns);
}

static inline double sim_weight_ns(const sim_world *world)
{
    double period = (double)atomic_load(&world->rules.period_ns), tick = (double)world->rules.tick_ns;
    return period > tick ? period : tick;
}

static inline bool sim_is_near(double seen, double is, double allowed)
{
    return fabs(seen - is) <= allowed;
}

#define SIM_CHECK(world, what, index, state, seen_ns, is_ns, alike, elsewhere_ns)                                      \
    do {                                                                                                               \
        double seen_ = (seen_ns), is_ = (is_ns),                                                                       \
               allowed_ = (elsewhere_ns) + sim_allowed(is_, sim_weight_ns(world), alike);                              \
        if (!sim_is_near(seen_, is_, allowed_))                                                                        \
            FAIL("%s of %s %u in state %u: %.3f ms seen, %.3f true (%.1f %%; %.1f %% allowed)", #seen_ns, what,        \
                 (unsigned)(index), (unsigned)(state), seen_ / 1e6, is_ / 1e6, is_ ? 100 * seen_ / is_ : 0,            \
                 is_ ? 100 * allowed_ / is_ : 0);                                                                      \
    } while (0)

/* To the nanosecond: what is not seen is in the carry_over. */
static inline void sim_check_sums(const sim_world *w)
{
    double cpu = w->seen.all_cpu_ns, wall = w->seen.all_wall_ns;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        cpu += (double)w->carry_over.cpu_ns[state];
        wall += (double)w->carry_over.wall_ns[state];
    }
    CHECK_INT(cpu, w->is.all_cpu_ns);
    CHECK_INT(wall, w->is.all_wall_ns);
}

/* Of a running state, wall time that was not CPU time is another matter: see the tests of gaps. */
static inline void sim_check_shares(const sim_world *w)
{
    for (unsigned place = 0; place < PLACES; place++) {
        for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
            unsigned alike = state == RPP_STATE_RUNNING ? RPP_THINNING_BURST : 2;
            SIM_CHECK(w, "place", place, state, w->seen.cpu_ns[place][state], w->is.cpu_ns[place][state], alike,
                      w->stand_in_ns);
            if (state == RPP_STATE_RUNNING) continue;
            SIM_CHECK(w, "place", place, state, w->seen.wall_ns[place][state], w->is.wall_ns[place][state], 2,
                      w->stand_in_ns);
        }
    }
    for (unsigned i = 0; i < SETS; i++) {
        SIM_CHECK(w, "label", i, 0, w->seen.label_ns[i], w->is.label_ns[i], RPP_THINNING_BURST, w->stand_in_ns);
    }
}

static inline void sim_check(const sim_world *w)
{
    sim_check_sums(w);
    sim_check_shares(w);
}

#endif
