/* test_thread_ledger.c - one thread's verbs, one by one. Against a list of intervals: spec/fuzz/fuzz_thread_ledger.c;
 * in company: test_time_distribution.c. */
#include "sampling/thread_ledger.h"

#include "base/clock.h"
#include "test.h"

enum { START = 1000000, PERIOD = 1000 };

static rpp_ledger_rules rules;
static rpp_thread_ledger ledger;
static uint64_t cpu_ns;
static unsigned reads;

static uint64_t cpu_clock(void *thread)
{
    reads += thread != NULL;
    return cpu_ns;
}

/* Off the GVL since START; every event is read at its end. */
static void open_ledger(void)
{
    cpu_ns = reads = 0;
    rules = (rpp_ledger_rules){.tick_ns = PERIOD, .cpu_ns = cpu_clock};
    atomic_store(&rules.period_ns, PERIOD);
    rpp_ledger_open(&ledger, &rules, &ledger, 1, START);
    rpp_ledger_clocked(&ledger, 0);
}

static void check_due(rpp_state state, uint64_t cpu, uint64_t wall)
{
    CHECK_INT(ledger.account.due[state].exact.cpu_ns, cpu);
    CHECK_INT(ledger.account.due[state].exact.wall_ns, wall);
}

static void check_sum(rpp_state state, uint64_t cpu, uint64_t wall)
{
    CHECK_INT(ledger.account.totals[state].cpu_ns, cpu);
    CHECK_INT(ledger.account.totals[state].wall_ns, wall);
}

static void start_running(void)
{
    open_ledger();
    rpp_ledger_got(&ledger, START, true);
}

TEST(a_long_wait_has_its_own_time)
{
    open_ledger();
    cpu_ns = 1900;
    rpp_ledger_asked(&ledger, START + 2000);
    rpp_ledger_asked(&ledger, START + 2300); /* the first counts */
    CHECK_INT(rpp_ledger_got(&ledger, START + 3500, true), RPP_DUE_CAPTURE);
    check_due(RPP_STATE_BLOCKED, 1900, 2000);
    check_due(RPP_STATE_WAITING, 0, 1500);
    check_sum(RPP_STATE_BLOCKED, 0, 0);
}

TEST(short_waits_are_sampled_once_a_period)
{
    start_running();
    unsigned sampled = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        cpu_ns = i * 100;
        rpp_ledger_released(&ledger, START + i * 200);
        rpp_due due = rpp_ledger_got(&ledger, START + i * 200 + 100, true);
        CHECK_INT(due == RPP_DUE_CAPTURE, ledger.account.due[RPP_STATE_BLOCKED].sampled.wall_ns == PERIOD);
        sampled += due == RPP_DUE_CAPTURE;
    }
    CHECK(sampled >= 99 && sampled <= 101);
    check_sum(RPP_STATE_BLOCKED, 0, 100000);
}

TEST(a_boundary_cuts_a_wait)
{
    open_ledger();
    cpu_ns = 40;
    CHECK_INT(rpp_ledger_bounded(&ledger, START + 300), RPP_DUE_CAPTURE);
    check_due(RPP_STATE_BLOCKED, 40, 300);
    rpp_sample sample = {0};
    CHECK(rpp_ledger_take_due(&ledger, RPP_STATE_BLOCKED, &sample));
    rpp_ledger_untake(&ledger, &sample); /* there was no room: the same boundary again */
    CHECK_INT(rpp_ledger_bounded(&ledger, START + 300), RPP_DUE_CAPTURE);
    check_due(RPP_STATE_BLOCKED, 40, 300);
    CHECK(rpp_ledger_take_due(&ledger, RPP_STATE_BLOCKED, &sample));
    CHECK_INT(rpp_ledger_got(&ledger, START + 1400, true), RPP_DUE_CAPTURE);
    check_due(RPP_STATE_BLOCKED, 0, 1100);
    CHECK_INT(rpp_ledger_bounded(&ledger, START + 1400),
              RPP_DUE_CAPTURE); /* who runs stands there if no tick finds it */
    CHECK_INT(ledger.account.due[RPP_STATE_RUNNING].sampled.cpu_ns, 1);
    rpp_ledger_add_due(&ledger);
    CHECK_INT(rpp_ledger_pending(&ledger), RPP_DUE_NOTHING);
}

/* In the pool it would be shared out among events that were sampled. */
TEST(exact_time_that_found_no_room_waits_for_the_next_capture_of_its_kind)
{
    start_running();
    rpp_ledger_gc_entered(&ledger, RPP_STATE_GC_MARKING, START);
    cpu_ns = 20 * PERIOD;
    CHECK_INT(rpp_ledger_gc_left(&ledger, START + 20 * PERIOD), RPP_DUE_CAPTURE);
    rpp_sample sample = {0};
    CHECK(rpp_ledger_take_due(&ledger, RPP_STATE_GC_MARKING, &sample));
    rpp_ledger_untake(&ledger, &sample);
    cpu_ns += 100;
    rpp_ledger_gc_entered(&ledger, RPP_STATE_GC_MARKING, START + 20 * PERIOD + 100);
    check_sum(RPP_STATE_GC_MARKING, 0, 0);
    cpu_ns += 100;
    CHECK_INT(rpp_ledger_gc_left(&ledger, START + 20 * PERIOD + 200), RPP_DUE_CAPTURE);
    check_due(RPP_STATE_GC_MARKING, 20 * PERIOD + 100, 20 * PERIOD + 100);
    cpu_ns += 100;
    rpp_ledger_note_tick(&ledger, START + 20 * PERIOD + 300); /* nobody took it */
    CHECK_INT(rpp_ledger_bounded(&ledger, START + 20 * PERIOD + 300), RPP_DUE_CAPTURE);
    check_due(RPP_STATE_GC_MARKING, 20 * PERIOD + 100, 20 * PERIOD + 100);
}

TEST(what_runs_is_sampled_by_ticks_and_summed_by_the_clock)
{
    start_running();
    cpu_ns = 500;
    CHECK_INT(rpp_ledger_sampled(&ledger, 77, START + 500), RPP_DUE_CAPTURE);
    rpp_sample sample = {0};
    CHECK(rpp_ledger_take_due(&ledger, RPP_STATE_RUNNING, &sample));
    CHECK_INT(sample.cpu_sampled_ns, 77);
    CHECK_INT(sample.cpu_ns, 0);
    sample = (rpp_sample){0};
    CHECK(rpp_ledger_take_total(&ledger, RPP_STATE_RUNNING, &sample));
    CHECK_INT(sample.cpu_ns, 500);
    CHECK_INT(sample.wall_ns, 0); /* all of it was CPU time */
    CHECK(!rpp_ledger_take_total(&ledger, RPP_STATE_RUNNING, &sample));
}

/* A capture at this time weighs so many periods; the finding that it is for weighs `ticks` of them, if all was on a
 * core. */
static void check_found(unsigned ticks, rpp_time at, uint64_t captured_cpu_ns, uint64_t captured_ns, unsigned periods)
{
    cpu_ns = captured_cpu_ns;
    CHECK_INT(rpp_ledger_found(&ledger, ticks * PERIOD, at, captured_ns), RPP_DUE_CAPTURE);
    CHECK_INT(ledger.account.due[RPP_STATE_RUNNING].sampled.cpu_ns, periods * PERIOD);
}

/* A sleep with the GVL in its hands is as long as many ticks, and burns nothing. */
TEST(what_the_wall_clock_finds_weighs_what_was_on_a_core)
{
    start_running();
    check_found(3, (rpp_time){500, START + 500}, 500, START + 500, 3);
    check_found(4, (rpp_time){600, START + 900}, 600, START + 900, 1); /* what was not taken is given up */
    check_found(4, (rpp_time){600, START + 5000}, 600, START + 5000, 0);
}

/* It waits for a core, with the GVL, and is captured when it has one. */
TEST(a_wait_for_a_core_belongs_to_both_findings_around_it)
{
    start_running();
    check_found(4, (rpp_time){300, START + 1200}, 300, START + 3000, 1);
    check_found(4, (rpp_time){900, START + 3600}, 900, START + 3600, 1); /* from 1200 on, not from 3000 */
    check_found(4, (rpp_time){1000, START + 3700}, 1100, START + 3800, 4);
    check_found(4, (rpp_time){1100, START + 4100}, 1100, START + 4100, 1); /* 100 of it came after the last finding */
}

TEST(readings_between_findings_change_nothing)
{
    start_running();
    cpu_ns = 100;
    rpp_ledger_gc_entered(&ledger, RPP_STATE_GC_MARKING, START + 900);
    cpu_ns = 200;
    rpp_ledger_gc_left(&ledger, START + 1000);
    rpp_ledger_released(&ledger, START + 1100);
    rpp_ledger_got(&ledger, START + 9000, true);
    check_found(8, (rpp_time){400, START + 9200}, 400, START + 9200, 2); /* 300 of 1200 */
    cpu_ns = 450;
    rpp_ledger_bounded(&ledger, START + 9500);
    check_found(4, (rpp_time){525, START + 9700}, 525, START + 9700, 1);
}

TEST(findings_after_a_pause_know_nothing_of_the_time_before)
{
    start_running();
    rpp_ledger_note_tick(&ledger, START + 8000);
    rpp_ledger_resumed(&ledger, true, START + 9000);
    check_found(3, (rpp_time){900, START + 9100}, 900, START + 9100, 3);
}

TEST(sums_of_a_period_of_cpu_time_are_worth_telling)
{
    start_running();
    cpu_ns = PERIOD - 1;
    rpp_ledger_note_tick(&ledger, START + 5 * PERIOD); /* wall time is told where it ends */
    CHECK(!rpp_ledger_total_is_large(&ledger));
    cpu_ns = PERIOD;
    rpp_ledger_note_tick(&ledger, START + 6 * PERIOD);
    CHECK(rpp_ledger_total_is_large(&ledger));
    rpp_sample sample = {0};
    CHECK(rpp_ledger_take_total(&ledger, RPP_STATE_RUNNING, &sample));
    CHECK(!rpp_ledger_total_is_large(&ledger));
}

TEST(a_tick_off_the_gvl_or_in_the_gc_samples_nothing)
{
    open_ledger();
    CHECK_INT(rpp_ledger_sampled(&ledger, 77, START + 10), RPP_DUE_NOTHING);
    rpp_ledger_got(&ledger, START + 20, true);
    rpp_ledger_gc_entered(&ledger, RPP_STATE_GC_MARKING, START + 30);
    CHECK_INT(rpp_ledger_ticked(&ledger, START + 40), RPP_DUE_NOTHING);
    cpu_ns = 20;
    rpp_ledger_gc_left(&ledger, START + 40);
    CHECK_INT(rpp_ledger_ticked(&ledger, START + 45), RPP_DUE_CAPTURE);
    CHECK_INT(ledger.account.due[RPP_STATE_RUNNING].sampled.cpu_ns, PERIOD);
}

TEST(a_gap_is_wall_time_of_the_moment_that_ends_it)
{
    start_running();
    cpu_ns = 100;
    CHECK_INT(rpp_ledger_released(&ledger, START + 5100), RPP_DUE_CAPTURE);
    check_due(RPP_STATE_RUNNING, 0, 5000);
    check_sum(RPP_STATE_RUNNING, 100, 0);
}

TEST(a_gc_is_split_at_its_phases)
{
    start_running();
    cpu_ns = 100;
    rpp_ledger_gc_entered(&ledger, RPP_STATE_GC_MARKING, START + 100);
    cpu_ns = 2100;
    rpp_ledger_gc_entered(&ledger, RPP_STATE_GC_SWEEPING, START + 2100);
    cpu_ns = 3100;
    CHECK_INT(rpp_ledger_gc_left(&ledger, START + 3100), RPP_DUE_CAPTURE);
    check_due(RPP_STATE_GC_MARKING, 2000, 2000);
    check_due(RPP_STATE_GC_SWEEPING, 1000, 1000);
    check_sum(RPP_STATE_RUNNING, 100, 0);
}

TEST(preemption_in_marking_takes_nothing_from_sweeping)
{
    start_running();
    rpp_ledger_gc_entered(&ledger, RPP_STATE_GC_MARKING, START);
    cpu_ns = 200;
    rpp_ledger_gc_entered(&ledger, RPP_STATE_GC_SWEEPING, START + 10000);
    cpu_ns = 3200;
    rpp_ledger_gc_left(&ledger, START + 13000);
    check_due(RPP_STATE_GC_MARKING, 200, 10000);
    check_due(RPP_STATE_GC_SWEEPING, 3000, 3000);
}

/* A reading costs a system call: where nothing is to be learnt there is none. */
TEST(short_stretches_are_not_read)
{
    start_running();
    rules.read_run_ns = rules.read_event_ns = 500;
    reads = 0;
    for (uint64_t i = 0; i < 8000; i++) {
        rpp_ledger_released(&ledger, START + i * 20 + 10);
        rpp_ledger_got(&ledger, START + i * 20 + 11, true);
    }
    /* Both ends of one in sixteen, and a run of 500 in 50 of them. */
    CHECK(reads > 800 && reads < 1500);
}

/* Who waits for the GVL burns nothing, however long and often. */
TEST(waits_for_the_gvl_are_not_read)
{
    start_running();
    rules.read_run_ns = rules.read_event_ns = 500;
    reads = 0;
    for (uint64_t i = 0; i < 8000; i++) {
        rpp_ledger_released(&ledger, START + i * 5010);
        rpp_ledger_asked(&ledger, START + i * 5010);
        rpp_ledger_got(&ledger, START + i * 5010 + 5000, true);
    }
    CHECK(reads < 1500); /* both ends of one in sixteen, and a run of 500 in 50 of them */
}

TEST(a_change_of_labels_is_a_pointer)
{
    start_running();
    rpp_label label = {"k", "v", 1, 1};
    rpp_label_set *set;
    CHECK_OK(rpp_label_set_merge(NULL, &label, 1, &set));
    reads = 0;
    rpp_ledger_relabelled(&ledger, set);
    CHECK_INT(reads, 0);
    rpp_ledger_sampled(&ledger, 1, START + 10);
    rpp_sample sample = {0};
    CHECK(rpp_ledger_take_due(&ledger, RPP_STATE_RUNNING, &sample));
    CHECK(sample.labels == set);
    rpp_label_set_release(sample.labels);
    rpp_ledger_relabelled(&ledger, NULL);
    rpp_label_set_release(set); /* the last one, says the leak checker */
}

TEST(a_thread_that_asked_before_sampling_began_has_waited_since)
{
    open_ledger();
    rpp_ledger_resumed(&ledger, false, START + 5000);
    rpp_ledger_got(&ledger, START + 9000, true);
    check_due(RPP_STATE_BLOCKED, 0, 0);
    check_due(RPP_STATE_WAITING, 0, 4000);
    rpp_ledger_add_due(&ledger);
    rpp_ledger_released(&ledger, START + 9000);
    rpp_ledger_asked(&ledger, START + 9001);
    rpp_ledger_got(&ledger, START + 12000, true);
    check_due(RPP_STATE_WAITING, 0, 2999);
}

TEST(a_thread_at_its_end_has_all_its_time_in_the_sums)
{
    start_running();
    cpu_ns = 300;
    rpp_ledger_ended(&ledger, START + 5000);
    check_sum(RPP_STATE_RUNNING, 300, 4700);
    check_due(RPP_STATE_RUNNING, 0, 0);
    open_ledger();
    rpp_ledger_ended(&ledger, START + 5000);
    check_sum(RPP_STATE_BLOCKED, 0, 5000);
}

TEST(what_passes_in_a_pause_does_not_count)
{
    start_running();
    rpp_ledger_bounded(&ledger, START + 10);
    check_sum(RPP_STATE_RUNNING, 0, 10);
    cpu_ns = 5000;
    rpp_ledger_resumed(&ledger, true, START + 9000);
    cpu_ns += 7;
    rpp_ledger_bounded(&ledger, START + 9007);
    check_sum(RPP_STATE_RUNNING, 7, 10);
}

TEST(without_a_cpu_clock_ticks_sample_wall_time)
{
    open_ledger();
    rpp_ledger_unclocked(&ledger);
    cpu_ns = 999999;
    rpp_ledger_got(&ledger, START, true);
    CHECK_INT(rpp_ledger_sampled(&ledger, 50, START + 5000), RPP_DUE_CAPTURE);
    check_due(RPP_STATE_RUNNING, 0, 0);
    check_sum(RPP_STATE_RUNNING, 0, 5000);
    CHECK_INT(ledger.account.due[RPP_STATE_RUNNING].sampled.wall_ns, 50);
    CHECK_INT(ledger.account.due[RPP_STATE_RUNNING].sampled.cpu_ns, 0);
}

TEST(clocks_that_go_back_stand_still)
{
    start_running();
    cpu_ns = 500;
    rpp_ledger_sampled(&ledger, 1, START + 500);
    cpu_ns = 100;
    rpp_ledger_sampled(&ledger, 1, START + 100);
    check_sum(RPP_STATE_RUNNING, 500, 0);
    cpu_ns = 600;
    rpp_ledger_sampled(&ledger, 1, START + 600);
    check_sum(RPP_STATE_RUNNING, 600, 0);
}

TEST(a_tick_finds_somebody_at_work_and_is_pending)
{
    start_running();
    bool outer = rpp_ledger_enter(&ledger), inner = rpp_ledger_enter(&ledger);
    CHECK(!rpp_ledger_is_open_to_ticks(&ledger));
    CHECK(!rpp_ledger_leave(&ledger, inner)); /* not before the outermost section ends */
    CHECK(rpp_ledger_leave(&ledger, outer));
    CHECK(rpp_ledger_is_open_to_ticks(&ledger));
    outer = rpp_ledger_enter(&ledger);
    CHECK(!rpp_ledger_leave(&ledger, outer)); /* once */
    rpp_ledger_released(&ledger, START + 10);
    outer = rpp_ledger_enter(&ledger);
    CHECK(!rpp_ledger_is_open_to_ticks(&ledger));
    CHECK(!rpp_ledger_leave(&ledger, outer)); /* it would have sampled nothing */
}
