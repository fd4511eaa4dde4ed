/* test_time_distribution.c - what profiles show of simulated threads, held against the truth: places, states, labels.
 * */
#include "simulated_threads.h"

static void add_phase(pattern *p, phase next)
{
    CHECK(p->count < PHASES);
    p->phases[p->count++] = next;
}

/* A burst in so many equal pieces, each at a place of its own. */
static void add_burst(pattern *p, uint8_t place, unsigned pieces, uint64_t ns)
{
    for (unsigned i = 0; i < pieces; i++) {
        add_phase(p, (phase){RPP_STATE_RUNNING, (uint8_t)(place + i), 0, false, false, ns / pieces, ns / pieces});
    }
}

static void add_wait(pattern *p, uint8_t place, bool burns, uint64_t from_ns, uint64_t to_ns)
{
    add_phase(p, (phase){RPP_STATE_BLOCKED, place, 0, false, burns, from_ns, to_ns});
}

static void check_bursts(uint64_t period_ns, uint64_t tick_ns, double burst_ms, unsigned threads, unsigned pieces)
{
    static pattern patterns[16];
    static sim_world world;
    memset(patterns, 0, sizeof patterns);
    for (unsigned i = 0; i < threads; i++) {
        add_wait(&patterns[i], 40, false, MS(2), MS(6));
        add_burst(&patterns[i], 0, pieces, MS(burst_ms));
    }
    sim_world_init(&world, 1 + period_ns + tick_ns, period_ns, tick_ns);
    if (world.window_ns > MS(10000)) world.window_ns = MS(10000);
    sim_run(&world, patterns, threads, 10);
    sim_check(&world);
    sim_world_destroy(&world);
}

/* As a request does between its queries. */
TEST_BY_NUMBERS(pieces_of_a_burst_after_a_sleep)
{
    static const double bursts_ms[] = {0.3, 1.2, 4.8, 15};
    static const uint64_t periods_ns[] = {MS(1), MS(5.025), MS(10.1), MS(100)}, ticks_ns[] = {MS(1), MS(4), MS(10)};
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < 4; j++) {
            for (unsigned k = 0; k < 3; k++) check_bursts(periods_ns[j], ticks_ns[k], bursts_ms[i], 1 + j % 2 * 7, 4);
        }
    }
}

/* What this replaced: the first tick after a due time takes all that was burnt since the last one. These tests would
 * not have let it pass. */
TEST_BY_NUMBERS(a_due_time_and_gathered_weight_would_fail_here)
{
    static sim_world world;
    sim_world_init(&world, 2, MS(5.025), MS(4));
    double seen[4] = {0}, cpu = 0, taken = 0, due = 0;
    uint64_t now = 0;
    for (int burst = 0; burst < 100000; burst++) {
        now += MS(2) + sim_random(&world, MS(4));
        for (uint64_t tick = now / MS(4) * MS(4) + MS(4); tick <= now + MS(4.8); tick += MS(4)) {
            double at = cpu + (double)(tick - now);
            if (at < due) continue;
            seen[(tick - now - 1) / MS(1.2)] += at - taken;
            taken = at;
            due = at + 5.025e6 * (0.75 + (double)sim_random(&world, 1000) / 2000);
        }
        now += MS(4.8);
        cpu += 4.8e6;
    }
    unsigned wrong = 0;
    for (int i = 0; i < 4; i++) wrong += !sim_is_near(seen[i], cpu / 4, sim_allowed(cpu / 4, MS(5.025), 4));
    CHECK(wrong >= 2);
    CHECK(seen[0] < 0.7 * cpu / 4);
    sim_world_destroy(&world);
}

TEST_BY_NUMBERS(twelve_pieces_of_a_burst_of_one_thread_and_of_many)
{
    for (unsigned threads = 1; threads <= 8; threads *= 8) check_bursts(MS(10.1), MS(4), 4.8, threads, 12);
}

/* Sixty threads, each now and then a task of 3, 1 or 0.3 ms. */
TEST(small_tasks_of_many_threads)
{
    static pattern patterns[60];
    static sim_world world;
    static const double tasks_ms[] = {3, 1, 0.3};
    memset(patterns, 0, sizeof patterns);
    for (unsigned i = 0; i < 60; i++) {
        for (unsigned task = 0; task < 3; task++) {
            add_wait(&patterns[i], 40, false, MS(50), MS(350));
            add_burst(&patterns[i], (uint8_t)task, 1, MS(tasks_ms[task]));
        }
    }
    sim_world_init(&world, 5, MS(10.1), MS(4));
    sim_run(&world, patterns, 60, 60);
    sim_check(&world);
    sim_world_destroy(&world);
}

/* Task 0 in every window; task 1, far larger, in some only. Each window of a thread has few samples, or none. */
TEST_BY_NUMBERS(small_steady_tasks_beside_large_rare_ones)
{
    static const double loads[] = {0.5, 1, 2, 5}; /* ticks' worth a window */
    for (unsigned i = 0; i < 4; i++) {
        static pattern patterns[20];
        static sim_world world;
        memset(patterns, 0, sizeof patterns);
        uint64_t worth_ns = (uint64_t)(MS(10) * loads[i]);
        for (unsigned t = 0; t < 20; t++) {
            for (unsigned w = 0; w < 10; w++) {
                add_burst(&patterns[t], 0, 1, worth_ns / 5);
                if (w == t % 10) add_burst(&patterns[t], 1, 1, worth_ns * 8);
                add_wait(&patterns[t], 40, false, MS(900), MS(1100));
            }
        }
        sim_world_init(&world, 7, MS(10), MS(4));
        world.window_ns = MS(1000);
        sim_run(&world, patterns, 20, 1500);
        sim_check(&world);
        sim_world_destroy(&world);
    }
}

/* --- threads that live for one piece of work --- */

static void live_and_die(sim_world *world, const pattern *p, uint64_t now_ns, uint64_t life_ns)
{
    static sim_thread t;
    sim_thread_start(&t, world, p, now_ns);
    sim_run_until(&t, now_ns + life_ns);
    sim_thread_end(&t);
}

TEST_BY_NUMBERS(threads_that_live_for_one_piece_of_work)
{
    static const double lives_ms[] = {0.3, 1, 2, 5, 8, 20};
    for (unsigned i = 0; i < 6; i++) {
        static sim_world world;
        pattern p = {.count = 0};
        add_burst(&p, 0, 4, MS(lives_ms[i]));
        sim_world_init(&world, 11, MS(10.1), MS(4));
        for (unsigned w = 0; w < 300; w++) {
            for (unsigned n = 0; n < 200; n++) {
                live_and_die(&world, &p, w * MS(1000) + sim_random(&world, MS(900)), MS(lives_ms[i]));
            }
            sim_close(&world, w == 299);
        }
        sim_check(&world);
        sim_world_destroy(&world);
    }
}

/* Half of the CPU time in threads of 20 ms, half in threads of 0.5 ms; and one that is always there. */
TEST_BY_NUMBERS(short_lives_beside_long_ones)
{
    static sim_world world;
    static sim_thread steady;
    pattern longer = {.count = 0}, shorter = {.count = 0}, always = {.count = 0};
    add_burst(&longer, 0, 1, MS(20));
    add_burst(&shorter, 1, 1, MS(0.5));
    add_burst(&always, 2, 2, MS(3));
    add_wait(&always, 40, false, MS(1), MS(2));
    sim_world_init(&world, 12, MS(10.1), MS(4));
    sim_thread_start(&steady, &world, &always, 0);
    for (unsigned w = 0; w < 400; w++) {
        for (unsigned n = 0; n < 410; n++) {
            bool is_long = n < 10;
            live_and_die(&world, is_long ? &longer : &shorter, w * MS(1000) + sim_random(&world, MS(900)),
                         is_long ? MS(20) : MS(0.5));
        }
        sim_run_until(&steady, (w + 1) * MS(1000));
        sim_capture(&steady, rpp_ledger_bounded(&steady.ledger, (w + 1) * MS(1000)), steady.current.place);
        sim_flush(&steady);
        sim_close(&world, w == 399);
    }
    sim_thread_end(&steady);
    sim_check(&world);
    sim_world_destroy(&world);
}

/* --- CPU time off the GVL, and its neighbours --- */

/* zlib, a sleep, a burn in Ruby: each keeps its own CPU time, to 2 %. */
static void check_neighbours(double burn_ms, double nap_ms, double run_ms, uint64_t seed)
{
    static pattern p;
    static sim_world world;
    memset(&p, 0, sizeof p);
    add_wait(&p, 40, true, MS(burn_ms), MS(burn_ms));
    add_burst(&p, 0, 1, MS(run_ms / 10));
    add_wait(&p, 41, false, MS(nap_ms), MS(nap_ms * 1.2));
    add_burst(&p, 1, 2, MS(run_ms));
    sim_world_init(&world, seed, MS(10.1), MS(4));
    sim_run(&world, &p, 1, 5);
    sim_check(&world);
    double nap_cpu = world.seen.cpu_ns[41][RPP_STATE_BLOCKED], all = world.is.cpu_ns[40][RPP_STATE_BLOCKED];
    if (nap_cpu > 0.02 * all) {
        FAIL("of %.0f ms burnt off the GVL, %.0f show at a sleep (%g, %g, %g)", all / 1e6, nap_cpu / 1e6, burn_ms,
             nap_ms, run_ms);
    }
    sim_world_destroy(&world);
}

TEST_BY_NUMBERS(cpu_time_off_the_gvl_stays_with_the_wait_it_was_burnt_in)
{
    static const double lengths_ms[] = {0.05, 0.1, 0.3, 2, 20};
    for (unsigned burn = 0; burn < 5; burn++) {
        for (unsigned pause = 0; pause < 5; pause++) {
            for (unsigned run = 0; run < 3; run++) {
                check_neighbours(lengths_ms[burn], lengths_ms[pause], lengths_ms[run + 1],
                                 1 + burn * 25 + pause * 5 + run);
            }
        }
    }
}

/* Too short to be read each: a coin chooses those that are. In lockstep, so that no other rule finds both. */
TEST_BY_NUMBERS(shortest_waits_in_lockstep_have_their_own)
{
    static pattern p;
    static sim_world world;
    memset(&p, 0, sizeof p);
    add_wait(&p, 40, true, US(15), US(15));
    add_burst(&p, 0, 1, US(10));
    add_wait(&p, 41, true, US(6), US(6));
    add_burst(&p, 1, 1, US(10));
    add_wait(&p, 42, false, US(12), US(12));
    add_burst(&p, 2, 1, US(10));
    sim_world_init(&world, 3, MS(1), MS(1));
    sim_run(&world, &p, 1, 60);
    sim_check(&world);
    sim_world_destroy(&world);
}

static void add_short_waits(pattern *p, uint8_t place, bool burns, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        add_wait(p, place, burns, US(15), US(15));
        add_burst(p, 0, 1, US(4));
    }
}

/* Short waits weigh what they burn, and neither give theirs to a long one nor take of it. */
TEST_BY_NUMBERS(short_waits_beside_long_ones)
{
    static pattern p;
    static sim_world world;
    memset(&p, 0, sizeof p);
    add_short_waits(&p, 40, true, 20);
    add_wait(&p, 41, false, MS(1), MS(1));
    add_short_waits(&p, 42, false, 15);
    add_wait(&p, 43, true, MS(1), MS(1));
    add_burst(&p, 1, 1, MS(1));
    add_wait(&p, 44, true, MS(1), MS(1));
    sim_world_init(&world, 13, MS(2), MS(4));
    sim_run(&world, &p, 1, 150);
    sim_check(&world);
    double nap_cpu = world.seen.cpu_ns[41][RPP_STATE_BLOCKED];
    CHECK(nap_cpu < 0.02 * world.is.cpu_ns[40][RPP_STATE_BLOCKED]);
    sim_world_destroy(&world);
}

/* --- ticks that do not come --- */

/* Where cores are scarce, a kernel that ends time slices between its ticks finds a thread by few of them. What a window
 * shows may be off by chance, but no time piles up. */
static void check_missed_ticks(double missed, unsigned threads, double run_ms)
{
    static pattern patterns[8];
    static sim_world world;
    memset(patterns, 0, sizeof patterns);
    for (unsigned i = 0; i < threads; i++) {
        add_burst(&patterns[i], 0, 1, MS(run_ms * 2));
        add_wait(&patterns[i], 40, false, MS(5), MS(20));
        add_burst(&patterns[i], 1, 1, MS(run_ms));
        add_wait(&patterns[i], 41, false, MS(5), MS(20));
    }
    sim_world_init(&world, 17 + threads, MS(10.1), MS(4));
    world.window_ns = MS(100);
    world.missed = missed;
    world.goes_on = true;
    sim_run(&world, patterns, threads, 3000);
    int64_t rest_ns = world.carry_over.cpu_ns[RPP_STATE_RUNNING];
    double allowed_ns =
        (10 / (1 - missed) + 15) * MS(10.1); /* where samples are worth what they stand for, and chance */
    if (fabs((double)rest_ns) > allowed_ns) {
        FAIL("%.0f %% missed, %u threads: %.0f ms of %.0f are in the rest", 100 * missed, threads,
             (double)rest_ns / 1e6, world.is.all_cpu_ns / 1e6);
    }
    world.stand_in_ns = allowed_ns;
    sim_check_sums(&world);
    sim_check_shares(&world);
    sim_world_destroy(&world);
}

TEST_BY_NUMBERS(ticks_that_do_not_come_leave_no_time_behind)
{
    static const double missed[] = {0, 0.3, 0.55, 0.75, 0.9};
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned threads = 1; threads <= 8; threads *= 2) {
            check_missed_ticks(missed[i], threads, 1);
            check_missed_ticks(missed[i], threads, 4);
        }
    }
}

/* Small steady tasks beside large rare ones, after a minute in which most ticks of other work were missed. Each window
 * has few periods. */
static void add_after_missed_ticks(uint64_t seed, double seen_ns[2], double is_ns[2])
{
    static pattern patterns[8], then[2];
    static sim_thread threads[8];
    static sim_world world;
    memset(patterns, 0, sizeof patterns);
    memset(then, 0, sizeof then);
    for (unsigned i = 0; i < 8; i++) {
        add_burst(&patterns[i], 0, 1, MS(3));
        add_wait(&patterns[i], 40, false, MS(60), MS(100));
    }
    add_burst(&then[0], 1, 1, MS(0.5));
    add_wait(&then[0], 40, false, MS(20), MS(40));
    add_burst(&then[1], 2, 1, MS(70));
    add_wait(&then[1], 40, false, MS(400), MS(500));
    sim_world_init(&world, seed, MS(10.1), MS(4));
    for (unsigned i = 0; i < 8; i++) sim_thread_start(&threads[i], &world, &patterns[i], sim_random(&world, MS(50)));
    for (unsigned w = 1; w <= 1000; w++) {
        bool later = w > 600;
        world.missed = later ? 0 : 0.75;
        for (unsigned i = 0; i < 8; i++) {
            if (later) threads[i].round = &then[i < 2 ? i : 0];
            if (later && i > 1) continue;
            sim_run_until(&threads[i], w * MS(100));
            sim_capture(&threads[i], rpp_ledger_bounded(&threads[i].ledger, w * MS(100)), threads[i].current.place);
            sim_flush(&threads[i]);
        }
        sim_close(&world, false);
        for (unsigned task = 0; w == 620 && task < 2; task++) {
            seen_ns[task] -= world.seen.cpu_ns[1 + task][RPP_STATE_RUNNING];
            is_ns[task] -= world.is.cpu_ns[1 + task][RPP_STATE_RUNNING];
        }
    }
    for (unsigned task = 0; task < 2; task++) {
        seen_ns[task] += world.seen.cpu_ns[1 + task][RPP_STATE_RUNNING];
        is_ns[task] += world.is.cpu_ns[1 + task][RPP_STATE_RUNNING];
    }
    for (unsigned i = 0; i < 8; i++) sim_thread_end(&threads[i]);
    sim_world_destroy(&world);
}

TEST_BY_NUMBERS(missed_ticks_leave_the_distribution_alone)
{
    double seen_ns[2] = {0}, is_ns[2] = {0};
    for (uint64_t seed = 1; seed <= 40; seed++) add_after_missed_ticks(seed, seen_ns, is_ns);
    for (unsigned task = 0; task < 2; task++) {
        double allowed_ns = 0.1 * is_ns[task];
        if (!sim_is_near(seen_ns[task], is_ns[task], allowed_ns)) {
            FAIL("task %u: %.0f %%, allowed %.0f", task, 100 * seen_ns[task] / is_ns[task],
                 100 * allowed_ns / is_ns[task]);
        }
    }
}

/* --- labels --- */

TEST_BY_NUMBERS(labels_in_turn_leave_methods_alone)
{
    static pattern p;
    static sim_world world;
    memset(&p, 0, sizeof p);
    for (unsigned i = 1; i < SETS; i++) {
        add_phase(&p, (phase){RPP_STATE_RUNNING, 0, (uint8_t)i, false, false, MS(1.5), MS(1.5)});
        add_phase(&p,
                  (phase){RPP_STATE_RUNNING, 1, (uint8_t)i, false, false, US(15), US(15)}); /* the one that relabels */
    }
    sim_world_init(&world, 4, MS(10.1), MS(4));
    world.deferred[1] = 0.2;
    sim_run(&world, &p, 1, 200);
    sim_check(&world);
    CHECK(world.seen.cpu_ns[1][RPP_STATE_RUNNING] < 0.013 * world.seen.all_cpu_ns);
    sim_world_destroy(&world);
}

/* A method in which half of all ticks find somebody at work on the ledger. */
TEST_BY_NUMBERS(a_tick_that_must_wait_is_not_lost)
{
    static pattern p;
    static sim_world world;
    memset(&p, 0, sizeof p);
    add_wait(&p, 40, false, MS(1), MS(3));
    add_burst(&p, 0, 4, MS(6));
    sim_world_init(&world, 6, MS(10.1), MS(4));
    world.deferred[0] = 0.2;
    world.deferred[2] = 0.5;
    sim_run(&world, &p, 1, 400);
    sim_check(&world);
    sim_world_destroy(&world);
}

/* --- gaps: preempted, or asleep with the GVL in its hands --- */

TEST_BY_NUMBERS(a_long_gap_belongs_to_the_task_that_ends_it)
{
    static pattern p;
    static sim_world world;
    memset(&p, 0, sizeof p);
    add_burst(&p, 0, 1, MS(5));
    add_phase(&p, (phase){RPP_STATE_RUNNING, 1, 0, true, false, MS(30), MS(50)});
    add_wait(&p, 1, false, MS(1), MS(2)); /* the task that slept releases the GVL */
    add_burst(&p, 2, 1, MS(5));
    add_wait(&p, 40, false, MS(1), MS(2));
    sim_world_init(&world, 8, MS(10.1), MS(4));
    sim_run(&world, &p, 1, 100);
    double cpu = world.seen.cpu_ns[1][RPP_STATE_RUNNING], wall = world.seen.wall_ns[1][RPP_STATE_RUNNING];
    CHECK(sim_is_near(wall - cpu, world.is.wall_ns[1][RPP_STATE_RUNNING], MS(100)));
    CHECK(cpu < MS(1)); /* where windows end */
    for (unsigned place = 0; place <= 2; place += 2) {
        double in_cpu = world.seen.cpu_ns[place][RPP_STATE_RUNNING],
               in_wall = world.seen.wall_ns[place][RPP_STATE_RUNNING];
        if (!sim_is_near(in_wall, in_cpu, MS(50)))
            FAIL("place %u: %.3f ms of wall time, %.3f of CPU time", place, in_wall / 1e6, in_cpu / 1e6);
    }
    sim_check(&world);
    sim_world_destroy(&world);
}

/* Preempted for 2 ms in every burst of 6, never in those of 1. */
TEST_BY_NUMBERS(short_gaps_are_sampled_where_they_are)
{
    static pattern p;
    static sim_world world;
    memset(&p, 0, sizeof p);
    add_burst(&p, 0, 1, MS(3));
    add_phase(&p, (phase){RPP_STATE_RUNNING, 0, 0, true, false, MS(1), MS(3)});
    add_burst(&p, 0, 1, MS(3));
    add_wait(&p, 0, false, MS(2), MS(6));
    add_burst(&p, 1, 1, MS(1));
    add_wait(&p, 1, false, MS(2), MS(6));
    sim_world_init(&world, 9, MS(10.1), MS(4));
    sim_run(&world, &p, 1, 200);
    double gap[2], is = world.is.wall_ns[0][RPP_STATE_RUNNING] - world.is.cpu_ns[0][RPP_STATE_RUNNING];
    for (unsigned place = 0; place < 2; place++) {
        gap[place] = world.seen.wall_ns[place][RPP_STATE_RUNNING] - world.seen.cpu_ns[place][RPP_STATE_RUNNING];
    }
    CHECK(sim_is_near(gap[0], is, 0.03 * is));
    CHECK(sim_is_near(gap[1], 0, 0.01 * is));
    sim_check(&world);
    sim_world_destroy(&world);
}

/* --- ticks of a collector: engine safepoint --- */

static void add_wait_for_core(pattern *p, rpp_state state, uint8_t place, double from_ms, double to_ms)
{
    add_phase(p, (phase){state, place, 0, true, false, MS(from_ms), MS(to_ms)});
}

static void add_gc(pattern *p, uint8_t place, double ms)
{
    add_phase(p, (phase){RPP_STATE_GC_MARKING, place, 0, false, false, MS(ms), MS(ms)});
}

/* On a crowded machine a thread that works long waits for a core again and again, with the GVL; one that works a little
 * at a time never does. None of them burns ten periods in a window: samples alone decide what each gets. */
TEST(threads_that_wait_for_a_core_get_what_they_burnt)
{
    static pattern patterns[4];
    static sim_world world;
    memset(patterns, 0, sizeof patterns);
    pattern *allocates = &patterns[0], *computes = &patterns[1], *sleeps = &patterns[2],
            *sleeps_with_gvl = &patterns[3];
    add_burst(allocates, 0, 1, MS(2));
    add_gc(allocates, 10, 1);
    add_burst(allocates, 0, 1, MS(1.3));
    add_wait_for_core(allocates, RPP_STATE_RUNNING, 0, 30, 60);
    add_burst(allocates, 0, 1, MS(2));
    add_gc(allocates, 10, 0.4);
    add_wait_for_core(allocates, RPP_STATE_GC_MARKING, 10, 20, 40);
    add_gc(allocates, 10, 0.4);
    add_burst(computes, 1, 1, MS(3));
    add_wait_for_core(computes, RPP_STATE_RUNNING, 1, 30, 60);
    add_wait(sleeps, 11, false, MS(15), MS(25));
    add_burst(sleeps, 2, 1, MS(1));
    add_burst(sleeps_with_gvl, 3, 1, MS(2));
    add_wait_for_core(sleeps_with_gvl, RPP_STATE_RUNNING, 4, 10, 40);
    add_wait(sleeps_with_gvl, 12, false, MS(5), MS(15));
    sim_world_init(&world, 21, MS(4), MS(4));
    world.has_collector = true;
    world.rules.late_ticks = &world.late_ticks;
    world.window_ns = MS(400);
    sim_run(&world, patterns, 4, 2000);
    sim_check_sums(&world);
    for (unsigned place = 0; place < 4; place++) {
        double seen = world.seen.cpu_ns[place][RPP_STATE_RUNNING], is = world.is.cpu_ns[place][RPP_STATE_RUNNING];
        if (place == 3) seen += world.seen.cpu_ns[4][RPP_STATE_RUNNING]; /* the safepoint after it */
        if (!sim_is_near(seen, is, 0.1 * is)) FAIL("place %u: %.0f %%", place, 100 * seen / is);
    }
    sim_world_destroy(&world);
}

/* A thread that has just woken up keeps its core: six of ten ticks that are due in its first two milliseconds come
 * after them. In bursts of one length each place has a time since the GVL was acquired of its own. Returns the first
 * quarter's share, over its true one. */
static double first_quarter_where_ticks_are_late(double burst_ms, unsigned threads, bool weighed)
{
    static pattern patterns[8];
    static sim_world world;
    memset(patterns, 0, sizeof patterns);
    for (unsigned i = 0; i < threads; i++) {
        add_wait(&patterns[i], 40, false, MS(2), MS(6));
        add_burst(&patterns[i], 0, 4, MS(burst_ms));
    }
    sim_world_init(&world, 31 + threads, MS(5.025), MS(4));
    world.has_collector = true;
    world.rules.late_ticks = weighed ? &world.late_ticks : NULL;
    world.crowded = 0.6;
    world.keeps_core_ns = MS(2);
    sim_run(&world, patterns, threads, 200 / threads);
    sim_check_sums(&world);
    double first = 0;
    for (unsigned place = 0; place < 4; place++) {
        double is = world.is.cpu_ns[place][RPP_STATE_RUNNING];
        double seen = world.seen.cpu_ns[place][RPP_STATE_RUNNING] / is;
        double allowed = 0.03 + 4.5 * sqrt(2 * MS(5.025) / is);
        if (weighed && !sim_is_near(seen, 1, allowed)) {
            FAIL("%.1f ms, %u threads: %.1f %% of place %u", burst_ms, threads, 100 * seen, place);
        }
        if (!place) first = seen;
    }
    sim_world_destroy(&world);
    return first;
}

TEST_BY_NUMBERS(late_ticks_of_a_collector_take_nothing_from_what_runs_first)
{
    static const double bursts_ms[] = {0.3, 1.2, 4.8, 15};
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned threads = 1; threads <= 8; threads *= 2) {
            (void)first_quarter_where_ticks_are_late(bursts_ms[i], threads, true);
        }
    }
}

TEST(late_ticks_would_take_it_unweighed)
{
    CHECK(first_quarter_where_ticks_are_late(4.8, 1, false) < 0.7);
}

/* --- thousands of patterns --- */

static uint64_t some_length_ns(sim_world *world)
{
    static const uint64_t about_ns[] = {US(20), US(100), US(300), MS(1), MS(3), MS(8), MS(20)};
    uint64_t about = about_ns[sim_random(world, 7)];
    return about / 2 + sim_random(world, about);
}

static rpp_state some_state(sim_world *world)
{
    static const rpp_state states[] = {RPP_STATE_RUNNING,    RPP_STATE_RUNNING,    RPP_STATE_RUNNING,
                                       RPP_STATE_BLOCKED,    RPP_STATE_BLOCKED,    RPP_STATE_WAITING,
                                       RPP_STATE_GC_MARKING, RPP_STATE_GC_SWEEPING};
    return states[sim_random(world, 8)];
}

static void sample_pattern(sim_world *world, pattern *p)
{
    memset(p, 0, sizeof *p);
    unsigned count = 2 + (unsigned)sim_random(world, 11);
    p->shuffled = sim_random(world, 4) == 0;
    add_burst(p, (uint8_t)sim_random(world, 12), 1, some_length_ns(world));
    for (unsigned i = 0; i < count; i++) {
        phase next = {.state = some_state(world), .burns = sim_random(world, 3) == 0};
        next.place = (uint8_t)(sim_random(world, 12) + (next.state == RPP_STATE_RUNNING ? 0 : 12));
        next.labels = (uint8_t)sim_random(world, 4);
        next.from_ns = some_length_ns(world);
        next.to_ns = next.from_ns + sim_random(world, 2) * next.from_ns;
        add_phase(p, next);
    }
}

static void add_up(sim_truth *sum, const sim_truth *one)
{
    for (unsigned place = 0; place < PLACES; place++) {
        for (unsigned state = 0; state < RPP_STATE_COUNT; state++) {
            sum->cpu_ns[place][state] += one->cpu_ns[place][state];
            sum->wall_ns[place][state] += one->wall_ns[place][state];
        }
    }
    for (unsigned i = 0; i < SETS; i++) sum->label_ns[i] += one->label_ns[i];
}

/* One at a time chance hides a small fault; of all together it hides nothing. */
static void check_patterns(unsigned from, unsigned to)
{
    static const uint64_t periods_ns[] = {MS(2), MS(5.025), MS(10.1), MS(20)}, ticks_ns[] = {MS(1), MS(4), MS(10)};
    static sim_world world, all;
    sim_world_init(&all, 1, MS(10.1), MS(4));
    for (unsigned seed = from; seed < to; seed++) {
        static pattern patterns[8];
        sim_world_init(&world, seed, periods_ns[seed % 4], ticks_ns[seed % 3]);
        world.window_ns = MS(500) + sim_random(&world, MS(3000));
        for (unsigned place = 0; place < 12; place++) world.deferred[place] = sim_random(&world, 3) ? 0 : 0.2;
        unsigned threads = 1 + (unsigned)sim_random(&world, 8);
        for (unsigned i = 0; i < threads; i++) sample_pattern(&world, &patterns[i]);
        sim_run(&world, patterns, threads, 3 + (unsigned)sim_random(&world, 5));
        sim_check(&world);
        add_up(&all.is, &world.is);
        add_up(&all.seen, &world.seen);
        sim_world_destroy(&world);
    }
    all.stand_in_ns = MS(1000); /* of minutes at each place */
    sim_check_shares(&all);
    sim_world_destroy(&all);
}

TEST_BY_NUMBERS(thousands_of_patterns)
{
    check_patterns(1, 700);
}
