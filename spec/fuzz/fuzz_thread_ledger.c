/* fuzz_thread_ledger.c - a thread's ledger against a plain list of intervals, whatever happens in whatever order, by
 * whatever clocks: nothing is lost or made, long events have their own time, short ones a mark in every period. */
#include "fuzz_input.h"
#include "sampling/thread_ledger.h"

#define START         UINT64_C(1000000)
#define INTERVALS_MAX 4096
#define PERIOD_NS     500u

typedef struct interval {
    rpp_state state;
    uint64_t ns;
    unsigned event; /* 0: none */
    bool given;     /* exactly, by some capture */
} interval;

static struct {
    interval list[INTERVALS_MAX];
    size_t count;
    rpp_state doing;
    unsigned event; /* the one under way */
    uint64_t at_ns, asked_ns;
    uint64_t cpu_ns, first_cpu_ns;
    rpp_time exact[RPP_STATE_COUNT], sampled[RPP_STATE_COUNT], sums[RPP_STATE_COUNT]; /* what was taken, for good */
    rpp_time due[RPP_STATE_COUNT];                                                    /* what the last verb made due */
    uint64_t short_wall_ns[RPP_STATE_COUNT];
    uint64_t left_ns[RPP_STATE_COUNT]; /* of events that are over, and no capture came to */
    bool cut[RPP_STATE_COUNT];         /* a part of the event under way is exact */
} plain;

static rpp_ledger_rules rules;
static rpp_thread_ledger ledger;

static uint64_t cpu_clock(void *thread)
{
    (void)thread;
    return plain.cpu_ns;
}

/* --- the list --- */

static void put(rpp_state state, uint64_t until_ns)
{
    if (until_ns <= plain.at_ns) return;
    FUZZ_CHECK(plain.count < INTERVALS_MAX);
    plain.list[plain.count++] = (interval){state, until_ns - plain.at_ns, plain.event, false};
    plain.at_ns = until_ns;
}

static void pass(uint64_t now_ns)
{
    if (plain.doing != RPP_STATE_BLOCKED) {
        put(plain.doing, now_ns);
    } else {
        if (plain.asked_ns && plain.asked_ns < now_ns) put(RPP_STATE_BLOCKED, plain.asked_ns);
        put(plain.asked_ns && plain.asked_ns < now_ns ? RPP_STATE_WAITING : RPP_STATE_BLOCKED, now_ns);
    }
}

static uint64_t sum_of(rpp_state state)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < plain.count; i++) sum += plain.list[i].state == state ? plain.list[i].ns : 0;
    return sum;
}

/* Of an event, and of those before it, what no capture was given yet. */
static uint64_t open_of(rpp_state state, unsigned event)
{
    uint64_t sum = plain.left_ns[state];
    for (size_t i = 0; i < plain.count; i++) {
        const interval *it = &plain.list[i];
        if (it->state == state && it->event == event && !it->given) sum += it->ns;
    }
    return sum;
}

static void begin_event(void)
{
    static unsigned events;
    plain.event = ++events;
}

/* --- what the ledger holds, and gave away --- */

static uint64_t wall_of(rpp_state state)
{
    uint64_t sum = plain.exact[state].wall_ns + plain.sums[state].wall_ns + ledger.account.totals[state].wall_ns +
                   ledger.account.event[state].wall_ns + ledger.account.due[state].exact.wall_ns;
    if (state != RPP_STATE_RUNNING) return sum;
    return sum + plain.sums[state].cpu_ns + ledger.account.totals[state].cpu_ns + ledger.clocks.unread_ns[state];
}

static uint64_t cpu_of(rpp_state state)
{
    return plain.exact[state].cpu_ns + plain.sums[state].cpu_ns + ledger.account.totals[state].cpu_ns +
           ledger.account.event[state].cpu_ns + ledger.account.due[state].exact.cpu_ns;
}

static void check_sums(void)
{
    uint64_t wall = 0, cpu = 0;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        wall += wall_of(state);
        cpu += cpu_of(state);
        FUZZ_CHECK(wall_of(state) == sum_of(state));
    }
    FUZZ_CHECK(wall == ledger.clocks.wall_known_ns - START);
    FUZZ_CHECK(cpu == ledger.clocks.cpu_known_ns - plain.first_cpu_ns);
    FUZZ_CHECK(ledger.clocks.wall_known_ns == plain.at_ns);
}

/* --- what is due --- */

static bool is_gc(rpp_state state)
{
    return state == RPP_STATE_GC_MARKING || state == RPP_STATE_GC_SWEEPING;
}

static void check_end_of_event(const rpp_state states[2])
{
    for (int i = 0; i < 2; i++) {
        uint64_t own = open_of(states[i], plain.event);
        rpp_time due = ledger.account.due[states[i]].exact;
        if (own >= PERIOD_NS || due.cpu_ns >= PERIOD_NS || plain.cut[states[i]] || plain.left_ns[states[i]]) {
            FUZZ_CHECK(due.wall_ns == own);
            plain.left_ns[states[i]] = own;
            plain.cut[states[i]] = false;
        } else {
            FUZZ_CHECK(!due.wall_ns && !due.cpu_ns);
            plain.short_wall_ns[states[i]] += own;
        }
    }
    plain.event = 0;
}

static const rpp_state OFF_GVL[] = {RPP_STATE_BLOCKED, RPP_STATE_WAITING};
static const rpp_state IN_GC[] = {RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING};

/* A mark in every period of a line. Where states are guessed nothing is marked, and what nobody took is marked anew. */
static void check_marks(void)
{
    for (rpp_state state = RPP_STATE_BLOCKED; state < RPP_STATE_COUNT; state++) {
        uint64_t sampled = plain.sampled[state].wall_ns, line = plain.short_wall_ns[state];
        FUZZ_CHECK(sampled % PERIOD_NS == 0);
        FUZZ_CHECK(sampled <= line + PERIOD_NS && line <= sampled + PERIOD_NS);
    }
}

static void note_sampled(void)
{
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        plain.sampled[state].wall_ns += ledger.account.due[state].sampled.wall_ns;
        plain.sampled[state].cpu_ns += ledger.account.due[state].sampled.cpu_ns;
    }
}

/* Takes, or takes and puts back, or leaves it there, which comes to the same. */
static void take_due(unsigned how, bool is_cut)
{
    for (rpp_state state = 0; state < RPP_STATE_COUNT && how; state++) {
        rpp_sample sample = {0};
        if (!rpp_ledger_take_due(&ledger, state, &sample)) continue;
        FUZZ_CHECK(sample.state == state && !sample.is_total && sample.labels == ledger.labels);
        if (how == 1) {
            rpp_ledger_untake(&ledger, &sample);
            continue;
        }
        if (sample.cpu_ns || sample.wall_ns) plain.left_ns[state] = 0;
        plain.exact[state].cpu_ns += sample.cpu_ns;
        plain.exact[state].wall_ns += sample.wall_ns;
        rpp_label_set_release(sample.labels);
    }
    if (!how) rpp_account_give_up_due(&ledger.account); /* there is none: the next verb, whichever it is */
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++)
        plain.cut[state] |= ledger.account.waits_kept[state] > 0;
    for (size_t i = 0; i < plain.count && how > 1 && is_cut; i++) {
        if (plain.list[i].state != RPP_STATE_RUNNING) plain.list[i].given = true;
    }
}

static void take_sums(unsigned how)
{
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample = {0};
        if (!rpp_ledger_take_total(&ledger, state, &sample)) continue;
        FUZZ_CHECK(sample.is_total && !sample.cpu_sampled_ns && !sample.wall_sampled_ns && !sample.depth);
        if (how % 2) {
            rpp_ledger_untake(&ledger, &sample);
            continue;
        }
        plain.sums[state].cpu_ns += sample.cpu_ns;
        plain.sums[state].wall_ns += sample.wall_ns;
    }
}

/* --- verbs --- */

static void got(uint64_t now_ns)
{
    bool ends = plain.doing == RPP_STATE_BLOCKED;
    pass(now_ns);
    rpp_ledger_got(&ledger, now_ns, true);
    plain.asked_ns = 0;
    if (!ends) return;
    plain.doing = RPP_STATE_RUNNING;
    check_end_of_event(OFF_GVL);
}

static void released(uint64_t now_ns)
{
    bool ends = is_gc(plain.doing);
    pass(now_ns);
    rpp_ledger_released(&ledger, now_ns);
    if (ends) check_end_of_event(IN_GC);
    if (plain.doing != RPP_STATE_BLOCKED) begin_event();
    plain.doing = RPP_STATE_BLOCKED;
}

static void gc_entered(rpp_state phase, uint64_t now_ns)
{
    bool heard = plain.doing != RPP_STATE_BLOCKED;
    if (heard) pass(now_ns);
    rpp_ledger_gc_entered(&ledger, phase, now_ns);
    if (heard && plain.doing == RPP_STATE_RUNNING) begin_event();
    if (heard) plain.doing = phase;
}

static void gc_left(uint64_t now_ns)
{
    bool ends = is_gc(plain.doing);
    if (ends) pass(now_ns);
    rpp_ledger_gc_left(&ledger, now_ns);
    if (!ends) return;
    plain.doing = RPP_STATE_RUNNING;
    check_end_of_event(IN_GC);
}

static void sampled(uint64_t weight_ns, uint64_t now_ns)
{
    bool runs = plain.doing == RPP_STATE_RUNNING;
    if (runs) pass(now_ns);
    rpp_due due = rpp_ledger_sampled(&ledger, weight_ns, now_ns);
    FUZZ_CHECK(!runs || due == RPP_DUE_CAPTURE);
    FUZZ_CHECK(ledger.account.due[RPP_STATE_RUNNING].sampled.cpu_ns == (runs ? weight_ns : 0));
}

static void bounded(uint64_t now_ns)
{
    pass(now_ns);
    rpp_ledger_bounded(&ledger, now_ns);
    for (rpp_state state = RPP_STATE_BLOCKED; state < RPP_STATE_COUNT; state++) {
        FUZZ_CHECK(ledger.account.due[state].exact.wall_ns ==
                   (plain.event ? open_of(state, plain.event) : plain.left_ns[state]));
        plain.cut[state] |= !rpp_time_is_none(ledger.account.due[state].exact);
    }
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) FUZZ_CHECK(!ledger.account.event[state].wall_ns);
}

static void act(uint8_t what, uint8_t how, uint64_t now_ns)
{
    switch (what % 9) {
    case 0: got(now_ns); break;
    case 1: released(now_ns); break;
    case 2:
        rpp_ledger_asked(&ledger, now_ns);
        if (!plain.asked_ns) plain.asked_ns = now_ns;
        return;
    case 3: gc_entered(IN_GC[how % 2], now_ns); break;
    case 4: gc_left(now_ns); break;
    case 5: sampled(1 + how, now_ns); break;
    case 6: bounded(now_ns); break;
    case 7: take_sums(how); return;
    case 8:
        if (plain.doing == RPP_STATE_RUNNING) pass(now_ns);
        if (plain.doing == RPP_STATE_RUNNING) rpp_ledger_sampled(&ledger, 1, now_ns);
        break;
    }
    check_sums();
    note_sampled();
    take_due(how % 4, what % 9 == 6 && plain.event);
    check_sums();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    memset(&plain, 0, sizeof plain);
    plain.doing = RPP_STATE_BLOCKED;
    plain.at_ns = START;
    begin_event(); /* born off the GVL */
    plain.cpu_ns = plain.first_cpu_ns = fuzz_number(&input) % (UINT64_C(1) << 60);
    rules = (rpp_ledger_rules){.tick_ns = 100, .cpu_ns = cpu_clock};
    atomic_store(&rules.period_ns, PERIOD_NS);
    rules.read_run_ns = fuzz_number(&input);
    rules.read_event_ns = fuzz_number(&input);
    rpp_ledger_open(&ledger, &rules, NULL, fuzz_number(&input), START);
    rpp_ledger_clocked(&ledger, plain.cpu_ns);
    uint64_t now_ns = START;
    for (int steps = 0; input.left && steps < INTERVALS_MAX / 4; steps++) {
        uint8_t what = fuzz_byte(&input), how = fuzz_byte(&input);
        uint64_t wall = fuzz_number(&input) % (1 << 20), cpu = fuzz_number(&input) % (1 << 20);
        now_ns = what & 128 ? now_ns - wall % now_ns : now_ns + wall; /* clocks may go back */
        plain.cpu_ns = how & 128 ? plain.cpu_ns - cpu % (plain.cpu_ns + 1) : plain.cpu_ns + cpu;
        act(what & 127, how & 127, now_ns);
        check_marks();
    }
    rpp_ledger_ended(&ledger, now_ns);
    take_sums(0);
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample = {0};
        FUZZ_CHECK(!rpp_ledger_take_due(&ledger, state, &sample));
        FUZZ_CHECK(!ledger.account.event[state].wall_ns && !ledger.account.event[state].cpu_ns);
    }
    uint64_t wall = 0, cpu = 0;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        wall += wall_of(state);
        cpu += cpu_of(state);
    }
    FUZZ_CHECK(wall == ledger.clocks.wall_known_ns - START);
    FUZZ_CHECK(cpu == ledger.clocks.cpu_known_ns - plain.first_cpu_ns);
    return 0;
}
