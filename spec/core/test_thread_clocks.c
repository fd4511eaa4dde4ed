/* test_thread_clocks.c - all the time given to a thread's clocks is taken from them, once. */
#include "thread_clocks.h"

#include "clock.h"
#include "test.h"

#define START UINT64_C(1000000)

static const rpp_state OFF_GVL[] = {RPP_STATE_BLOCKED, RPP_STATE_WAITING};

static rpp_label_set *labels_of(unsigned number)
{
    char value[16];
    rpp_label_set *set = NULL;
    snprintf(value, sizeof value, "%u", number);
    rpp_label label = {"k", value, 1, (uint32_t)strlen(value)};
    CHECK_OK(rpp_label_set_merge(NULL, &label, 1, &set));
    return set;
}

static uint64_t wall_of(rpp_thread_clocks *clocks, rpp_state state)
{
    return rpp_thread_clocks_current(clocks)->wall_ns[state];
}

static uint64_t cpu_of(rpp_thread_clocks *clocks, rpp_state state)
{
    return rpp_thread_clocks_current(clocks)->cpu_ns[state];
}

TEST(time_goes_to_the_state_it_was_spent_in)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 10);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_BLOCKED, START + 40);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 45);
    CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 15);
    CHECK_INT(wall_of(&clocks, RPP_STATE_BLOCKED), 30);
    CHECK_INT(rpp_thread_clocks_unread_ns(&clocks), 45);
}

TEST(a_moment_that_has_passed_gives_nothing)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START - 5);
    CHECK(rpp_clock_slot_is_empty(rpp_thread_clocks_current(&clocks)));
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 5);
    CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 5);
}

TEST(a_pause_gives_nothing_and_takes_nothing)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 500);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 10);
    rpp_thread_clocks_restart(&clocks, START + 1000, 900);
    CHECK_INT(rpp_thread_clocks_unread_ns(&clocks), 0);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 1005);
    rpp_thread_clocks_read(&clocks, 903);
    CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 15);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 3);
}

/* --- what a reading of the CPU clock is split into --- */

static rpp_thread_clocks clocks_with(uint64_t running, uint64_t marking, uint64_t sweeping, uint64_t blocked)
{
    rpp_thread_clocks clocks = {0};
    uint64_t now = START;
    rpp_thread_clocks_reset(&clocks, now, 500);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, now += running);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_GC_MARKING, now += marking);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_GC_SWEEPING, now += sweeping);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_BLOCKED, now += blocked);
    return clocks;
}

TEST(cpu_on_the_gvl_follows_wall_in_proportion)
{
    rpp_thread_clocks clocks = clocks_with(600, 300, 100, 5000);
    rpp_thread_clocks_read(&clocks, 500 + 500);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 300);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_GC_MARKING), 150);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_GC_SWEEPING), 50);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_BLOCKED), 0);
    CHECK_INT(rpp_thread_clocks_unread_ns(&clocks), 0);
}

TEST(cpu_beyond_the_time_on_the_gvl_was_burnt_off_it)
{
    rpp_thread_clocks clocks = clocks_with(600, 300, 100, 5000);
    rpp_thread_clocks_read(&clocks, 500 + 4000);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 600);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_GC_MARKING), 300);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_GC_SWEEPING), 100);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_BLOCKED), 3000);
}

TEST(cpu_that_nothing_explains_goes_to_running)
{
    rpp_thread_clocks clocks = clocks_with(100, 0, 0, 0);
    rpp_thread_clocks_read(&clocks, 500 + 103);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 103);
    rpp_thread_clocks_read(&clocks, 500 + 110);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 110);
}

TEST(what_ran_is_the_cpu_time_of_running_under_all_labels)
{
    rpp_thread_clocks clocks = clocks_with(600, 300, 100, 5000);
    rpp_thread_clocks_read(&clocks, 500 + 4000);
    CHECK_INT(clocks.ran_ns, 600);
    rpp_label_set *labels = labels_of(1);
    rpp_thread_clocks_switch_labels(&clocks, labels);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 6000 + 50);
    rpp_thread_clocks_read(&clocks, 500 + 4000 + 50);
    CHECK_INT(clocks.ran_ns, 650);

    rpp_sample sample = {0};
    CHECK(rpp_clock_slot_take(rpp_thread_clocks_current(&clocks), RPP_STATE_RUNNING, &sample));
    rpp_label_set_release(sample.labels);
    rpp_thread_clocks_restart(&clocks, START + 9000, 5000);
    CHECK_INT(clocks.ran_ns, 650);
    rpp_thread_clocks_read(&clocks, 5000 + 7); /* what nothing explains ran, too */
    CHECK_INT(clocks.ran_ns, 657);
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_label_set_release(labels);
}

TEST(rounding_loses_nothing)
{
    rpp_thread_clocks clocks = clocks_with(1, 1, 1, 0);
    rpp_thread_clocks_read(&clocks, 500 + 2);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING) + cpu_of(&clocks, RPP_STATE_GC_MARKING) +
                  cpu_of(&clocks, RPP_STATE_GC_SWEEPING),
              2);
}

TEST(a_cpu_clock_that_goes_back_gives_nothing)
{
    rpp_thread_clocks clocks = clocks_with(100, 0, 0, 0);
    rpp_thread_clocks_read(&clocks, 0); /* the clock of a thread that is gone reads 0 */
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 0);
    rpp_thread_clocks_read(&clocks, 500 + 7);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 7);
}

/* --- take and untake --- */

TEST(take_empties_one_clock)
{
    rpp_thread_clocks clocks = clocks_with(100, 0, 0, 50);
    rpp_clock_slot *slot = rpp_thread_clocks_current(&clocks);
    rpp_sample sample = {0};
    rpp_thread_clocks_read(&clocks, 500 + 80);
    CHECK(!rpp_clock_slot_take(slot, RPP_STATE_WAITING, &sample));
    CHECK(rpp_clock_slot_take(slot, RPP_STATE_RUNNING, &sample));
    CHECK_INT(sample.wall_ns, 100);
    CHECK_INT(sample.cpu_ns, 80);
    CHECK_INT(sample.state, RPP_STATE_RUNNING);
    CHECK(!sample.labels);
    CHECK(!rpp_clock_slot_take(slot, RPP_STATE_RUNNING, &sample));
    CHECK_INT(slot->wall_ns[RPP_STATE_BLOCKED], 50);
    CHECK(!rpp_clock_slot_is_empty(slot));
    CHECK(rpp_clock_slot_take(slot, RPP_STATE_BLOCKED, &sample));
    CHECK(rpp_clock_slot_is_empty(slot));
}

TEST(untake_puts_time_and_reference_back)
{
    rpp_thread_clocks clocks = {0};
    rpp_label_set *labels = labels_of(1);
    rpp_sample sample = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_switch_labels(&clocks, labels);
    rpp_label_set_release(labels); /* the slot has its own */
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 100);
    rpp_clock_slot *slot = rpp_thread_clocks_current(&clocks);
    CHECK(rpp_clock_slot_take(slot, RPP_STATE_RUNNING, &sample));
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 130);
    rpp_clock_slot_untake(slot, &sample);
    CHECK_INT(slot->wall_ns[RPP_STATE_RUNNING], 130);

    CHECK(rpp_clock_slot_take(slot, RPP_STATE_RUNNING, &sample));
    rpp_thread_clocks_reset(&clocks, START, 0);
    CHECK_INT(rpp_label_set_count(sample.labels), 1); /* outlives the clocks */
    rpp_label_set_release(sample.labels);
}

/* --- labels --- */

TEST(each_label_set_has_its_own_time)
{
    rpp_thread_clocks clocks = {0};
    rpp_label_set *one = labels_of(1), *same = labels_of(1);
    uint64_t now = START;
    rpp_thread_clocks_reset(&clocks, now, 0);
    for (int i = 0; i < 3; i++) {
        rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, now += 10);
        rpp_thread_clocks_switch_labels(&clocks, i % 2 ? same : one); /* equal is the same */
        rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, now += 7);
        rpp_thread_clocks_switch_labels(&clocks, NULL);
    }
    CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 30);
    rpp_thread_clocks_switch_labels(&clocks, one);
    CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 21);
    rpp_thread_clocks_reset(&clocks, now, 0);
    CHECK(!rpp_thread_clocks_current(&clocks)->labels);
    rpp_label_set_release(one);
    rpp_label_set_release(same);
}

/* Gives 10 ns to each of the label sets 0 (none) to count - 1. */
static void fill(rpp_thread_clocks *clocks, rpp_label_set **sets, unsigned count)
{
    rpp_thread_clocks_reset(clocks, START, 0);
    for (unsigned i = 0; i < count; i++) {
        rpp_thread_clocks_switch_labels(clocks, sets[i]);
        rpp_thread_clocks_advance(clocks, RPP_STATE_RUNNING, START + (i + 1) * 10);
    }
}

TEST(with_no_slot_left_the_one_used_longest_ago_is_in_the_way)
{
    rpp_thread_clocks clocks = {0};
    rpp_label_set *sets[RPP_LABEL_SLOTS + 1] = {NULL};
    rpp_sample sample = {0};
    for (unsigned i = 1; i <= RPP_LABEL_SLOTS; i++) sets[i] = labels_of(i);
    fill(&clocks, sets, RPP_LABEL_SLOTS);
    rpp_thread_clocks_switch_labels(&clocks, sets[0]);
    rpp_thread_clocks_switch_labels(&clocks, sets[5]);

    for (unsigned i = 0; i < RPP_LABEL_SLOTS; i++) CHECK(!rpp_thread_clocks_slot_in_the_way(&clocks, sets[i]));
    rpp_clock_slot *slot = rpp_thread_clocks_slot_in_the_way(&clocks, sets[RPP_LABEL_SLOTS]);
    CHECK(slot && slot->labels == sets[1]);
    CHECK(rpp_clock_slot_take(slot, RPP_STATE_RUNNING, &sample));
    rpp_label_set_release(sample.labels);
    CHECK(!rpp_thread_clocks_slot_in_the_way(&clocks, sets[RPP_LABEL_SLOTS]));
    rpp_thread_clocks_switch_labels(&clocks, sets[RPP_LABEL_SLOTS]);
    CHECK(rpp_thread_clocks_current(&clocks) == slot);
    CHECK(slot->labels == sets[RPP_LABEL_SLOTS]);
    for (unsigned i = 2; i < RPP_LABEL_SLOTS; i++) {
        rpp_thread_clocks_switch_labels(&clocks, sets[i]);
        CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 10);
    }
    rpp_thread_clocks_reset(&clocks, START, 0);
    for (unsigned i = 1; i <= RPP_LABEL_SLOTS; i++) rpp_label_set_release(sets[i]);
}

TEST(cpu_time_goes_to_the_labels_under_which_the_time_passed)
{
    rpp_thread_clocks clocks = {0};
    rpp_label_set *set = labels_of(1);
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 30);
    rpp_thread_clocks_switch_labels(&clocks, set);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_RUNNING, START + 40);
    rpp_thread_clocks_read(&clocks, 20);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 5);
    rpp_thread_clocks_switch_labels(&clocks, NULL);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 15);
    rpp_thread_clocks_reset(&clocks, 0, 0);
    rpp_label_set_release(set);
}

static rpp_clock_part event_of(rpp_thread_clocks *clocks, uint64_t length, uint64_t period)
{
    rpp_clock_part part = {0};
    rpp_thread_clocks_begin_event(clocks, OFF_GVL);
    rpp_thread_clocks_advance(clocks, RPP_STATE_BLOCKED, clocks->wall_mark_ns + length);
    if (rpp_thread_clocks_event_is_due(clocks, RPP_STATE_BLOCKED, period, &part)) {
        rpp_clock_slot *slot = rpp_thread_clocks_current(clocks);
        rpp_sample sample = {0};
        CHECK(rpp_clock_slot_take(slot, RPP_STATE_BLOCKED, &sample));
        rpp_clock_slot_keep_rest(slot, &sample, part);
        CHECK_INT(sample.wall_ns, part.wall_ns);
    }
    return part;
}

TEST(a_long_event_gets_its_own_time_and_leaves_the_rest)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    CHECK_INT(event_of(&clocks, 7, 10).wall_ns, 0);
    CHECK_INT(event_of(&clocks, 500, 10).wall_ns, 500);
    CHECK_INT(wall_of(&clocks, RPP_STATE_BLOCKED), 7);
    CHECK_INT(event_of(&clocks, 4, 10).wall_ns, 10);
    CHECK_INT(wall_of(&clocks, RPP_STATE_BLOCKED), 1);
}

/* All to whoever is there when a period is full: the four would never be seen, and the seven blamed for all. */
TEST(short_events_are_given_what_they_lasted_in_the_long_run)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    uint64_t fours = 0, sevens = 0;
    for (int i = 0; i < 1000; i++) {
        fours += event_of(&clocks, 4, 10).wall_ns;
        sevens += event_of(&clocks, 7, 10).wall_ns;
    }
    CHECK_INT(fours, 4000);
    CHECK_INT(sevens, 7000);
}

TEST(a_part_of_an_event_has_its_part_of_the_cpu_time)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    for (int i = 1; i <= 3; i++) {
        rpp_thread_clocks_begin_event(&clocks, OFF_GVL);
        rpp_thread_clocks_advance(&clocks, RPP_STATE_BLOCKED, START + (uint64_t)i * 40);
        rpp_thread_clocks_read(&clocks, (uint64_t)i * 20);
    }
    rpp_clock_part part;
    CHECK(rpp_thread_clocks_event_is_due(&clocks, RPP_STATE_BLOCKED, 100, &part));
    CHECK_INT(part.wall_ns, 100);
    CHECK_INT(part.cpu_ns, 50);
    rpp_thread_clocks_reset(&clocks, 0, 0);
}

/* At the end of a window its wall time went, but nobody knew whose CPU time it was. */
TEST(cpu_time_alone_makes_an_event_due)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_current(&clocks)->cpu_ns[RPP_STATE_BLOCKED] = 95;
    rpp_thread_clocks_begin_event(&clocks, OFF_GVL);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_BLOCKED, START + 30);
    rpp_thread_clocks_read(&clocks, 30);
    rpp_clock_part part;
    CHECK(rpp_thread_clocks_event_is_due(&clocks, RPP_STATE_BLOCKED, 100, &part));
    CHECK_INT(part.cpu_ns, 100);
    CHECK_INT(part.wall_ns, 24);
    CHECK(!rpp_thread_clocks_event_is_due(&clocks, RPP_STATE_BLOCKED, 126, &part));
    rpp_thread_clocks_reset(&clocks, 0, 0);
}

TEST(the_current_slot_is_never_in_the_way)
{
    rpp_thread_clocks clocks = {0};
    rpp_label_set *sets[RPP_LABEL_SLOTS + 1] = {NULL};
    for (unsigned i = 1; i <= RPP_LABEL_SLOTS; i++) sets[i] = labels_of(i);
    fill(&clocks, sets, RPP_LABEL_SLOTS);
    for (unsigned i = 0; i < RPP_LABEL_SLOTS; i++) {
        rpp_thread_clocks_switch_labels(&clocks, sets[i]);
        for (unsigned j = 0; j < RPP_LABEL_SLOTS; j++) clocks.slots[j].used = j == clocks.current ? 0 : 100 + j;
        CHECK(rpp_thread_clocks_slot_in_the_way(&clocks, sets[RPP_LABEL_SLOTS]) != rpp_thread_clocks_current(&clocks));
    }
    rpp_thread_clocks_reset(&clocks, START, 0);
    for (unsigned i = 1; i <= RPP_LABEL_SLOTS; i++) rpp_label_set_release(sets[i]);
}

/* --- conservation, whatever happens in whatever order --- */

enum { SETS = RPP_LABEL_SLOTS + 4, STEPS = 3000 };

typedef struct books {
    rpp_thread_clocks clocks;
    rpp_label_set *sets[SETS];
    unsigned labels; /* current, by number */
    uint64_t now, cpu, random;
    uint64_t given_wall[SETS][RPP_STATE_COUNT], given_cpu;
    uint64_t taken_wall[SETS][RPP_STATE_COUNT], taken_cpu;
} books;

static void take(books *b, rpp_clock_slot *slot, rpp_state state)
{
    rpp_sample sample = {0};
    if (!rpp_clock_slot_take(slot, state, &sample)) return;
    if (rpp_random_next(&b->random) >> 62 == 0) { /* no room for it */
        rpp_clock_slot_untake(slot, &sample);
        return;
    }
    unsigned labels = 0;
    while (!rpp_label_set_equal(b->sets[labels], sample.labels)) labels++;
    b->taken_wall[labels][sample.state] += sample.wall_ns;
    b->taken_cpu += sample.cpu_ns;
    rpp_label_set_release(sample.labels);
}

static void switch_labels(books *b, unsigned labels)
{
    rpp_clock_slot *slot;
    while ((slot = rpp_thread_clocks_slot_in_the_way(&b->clocks, b->sets[labels]))) {
        for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) take(b, slot, state);
    }
    rpp_thread_clocks_switch_labels(&b->clocks, b->sets[labels]);
    b->labels = labels;
}

static void step(books *b)
{
    uint64_t some = rpp_random_next(&b->random) >> 8, passed = some >> (some % 45 + 11);
    rpp_state state = (rpp_state)(some % RPP_STATE_COUNT);
    switch (some / 8 % 4) {
    case 0:
        b->now += passed;
        b->given_wall[b->labels][state] += passed;
        rpp_thread_clocks_advance(&b->clocks, state, b->now);
        break;
    case 1:
        b->cpu += passed;
        b->given_cpu += passed;
        rpp_thread_clocks_read(&b->clocks, b->cpu);
        CHECK_INT(rpp_thread_clocks_unread_ns(&b->clocks), 0);
        break;
    case 2: take(b, &b->clocks.slots[some / 32 % RPP_LABEL_SLOTS], state); break;
    case 3: switch_labels(b, some / 32 % SETS); break;
    }
}

static void check_conservation(uint64_t seed)
{
    books b = {.now = START, .random = seed};
    for (unsigned i = 1; i < SETS; i++) b.sets[i] = labels_of(i);
    rpp_thread_clocks_reset(&b.clocks, b.now, b.cpu);
    for (int i = 0; i < STEPS; i++) step(&b);
    for (size_t slot = 0; slot < RPP_LABEL_SLOTS; slot++) {
        while (!rpp_clock_slot_is_empty(&b.clocks.slots[slot])) {
            for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) take(&b, &b.clocks.slots[slot], state);
        }
    }
    for (unsigned labels = 0; labels < SETS; labels++) {
        for (int state = 0; state < RPP_STATE_COUNT; state++) {
            CHECK_INT(b.taken_wall[labels][state], b.given_wall[labels][state]);
        }
    }
    CHECK_INT(b.taken_cpu, b.given_cpu);
    rpp_thread_clocks_reset(&b.clocks, 0, 0);
    for (unsigned i = 1; i < SETS; i++) rpp_label_set_release(b.sets[i]);
}

TEST(what_is_given_is_taken)
{
    for (uint64_t seed = 1; seed <= 200; seed++) check_conservation(seed);
}

TEST(cpu_time_off_the_gvl_is_shared_by_labels)
{
    rpp_thread_clocks clocks = {0};
    rpp_label_set *one = labels_of(1), *other = labels_of(2);
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_switch_labels(&clocks, one);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_BLOCKED, START + 100);
    rpp_thread_clocks_switch_labels(&clocks, other);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_BLOCKED, START + 400);
    rpp_thread_clocks_read(&clocks, 200);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_BLOCKED), 150);
    rpp_thread_clocks_switch_labels(&clocks, one);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_BLOCKED), 50);
    rpp_thread_clocks_reset(&clocks, 0, 0);
    rpp_label_set_release(one);
    rpp_label_set_release(other);
}

static uint64_t sum_of(rpp_thread_clocks *clocks, uint64_t (*of)(rpp_thread_clocks *, rpp_state))
{
    uint64_t sum = 0;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) sum += of(clocks, state);
    return sum;
}

/* 100 running, 20 marking, 30 sweeping, 250 blocked, 600 waiting; 60 % of the CPU time on the GVL. */
static void spend_usual_time(rpp_thread_clocks *clocks)
{
    rpp_thread_clocks_reset(clocks, START, 0);
    rpp_thread_clocks_advance(clocks, RPP_STATE_RUNNING, START + 100);
    rpp_thread_clocks_advance(clocks, RPP_STATE_GC_MARKING, START + 120);
    rpp_thread_clocks_advance(clocks, RPP_STATE_GC_SWEEPING, START + 150);
    rpp_thread_clocks_advance(clocks, RPP_STATE_BLOCKED, START + 400);
    rpp_thread_clocks_advance(clocks, RPP_STATE_WAITING, START + 1000);
    rpp_thread_clocks_read(clocks, 250); /* 150 on the GVL, 100 off it */
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample;
        if (rpp_clock_slot_take(rpp_thread_clocks_current(clocks), state, &sample))
            rpp_label_set_release(sample.labels);
    }
}

TEST(time_nobody_saw_is_shared_out_as_the_time_before)
{
    rpp_thread_clocks clocks = {0};
    spend_usual_time(&clocks);
    rpp_thread_clocks_fill(&clocks, START + 1000 + 10000, 250 + 2500);
    CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 1000);
    CHECK_INT(wall_of(&clocks, RPP_STATE_GC_MARKING), 200);
    CHECK_INT(wall_of(&clocks, RPP_STATE_GC_SWEEPING), 300);
    CHECK_INT(wall_of(&clocks, RPP_STATE_BLOCKED), 2500);
    CHECK_INT(wall_of(&clocks, RPP_STATE_WAITING), 6000);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 1000);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_GC_MARKING), 200);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_GC_SWEEPING), 300);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_BLOCKED), 1000);
    CHECK_INT(clocks.ran_ns, 100 + 1000);
}

TEST(what_ran_more_than_before_has_the_wall_time_for_it)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_BLOCKED, START + 1000);
    rpp_thread_clocks_read(&clocks, 0);
    rpp_thread_clocks_fill(&clocks, START + 2000, 800);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 800);
    CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 800);
    CHECK_INT(wall_of(&clocks, RPP_STATE_BLOCKED), 1000 + 200);
}

TEST(of_a_thread_that_nobody_knows_only_the_cpu_time_is_known)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_fill(&clocks, START + 1000, 1500); /* clocks may disagree */
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 1500);
    CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 1000);
    CHECK_INT(sum_of(&clocks, wall_of), 1000);
}

TEST(time_nobody_saw_is_neither_lost_nor_made)
{
    uint64_t random = 7;
    for (int i = 0; i < 20000; i++) {
        rpp_thread_clocks clocks = {0};
        rpp_thread_clocks_reset(&clocks, START, 0);
        uint64_t now = START, cpu = 0;
        for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
            rpp_thread_clocks_advance(&clocks, state,
                                      now += rpp_random_next(&random) % 4 * (rpp_random_next(&random) % 1000));
        }
        rpp_thread_clocks_read(&clocks, cpu += rpp_random_next(&random) % 3000);
        uint64_t wall_gap = rpp_random_next(&random) % 1000, cpu_gap = rpp_random_next(&random) % 1000;
        rpp_thread_clocks_fill(&clocks, now + wall_gap, cpu + cpu_gap);
        CHECK_INT(sum_of(&clocks, wall_of), now + wall_gap - START);
        CHECK_INT(sum_of(&clocks, cpu_of), cpu + cpu_gap);
    }
}

TEST(time_nobody_saw_stays_with_its_labels)
{
    rpp_thread_clocks clocks = {0};
    rpp_label_set *one = labels_of(1), *other = labels_of(2);
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_switch_labels(&clocks, one);
    rpp_thread_clocks_pass_unseen(&clocks, START + 300);
    CHECK(!rpp_clock_slot_is_empty(rpp_thread_clocks_current(&clocks)));
    rpp_thread_clocks_switch_labels(&clocks, other);
    rpp_thread_clocks_pass_unseen(&clocks, START + 400);
    rpp_thread_clocks_switch_labels(&clocks, one);
    rpp_thread_clocks_fill(&clocks, START + 1000, 100);
    CHECK_INT(wall_of(&clocks, RPP_STATE_RUNNING), 90);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 90);
    CHECK_INT(wall_of(&clocks, RPP_STATE_BLOCKED), 900 - 90);
    rpp_thread_clocks_switch_labels(&clocks, other);
    CHECK_INT(cpu_of(&clocks, RPP_STATE_RUNNING), 10);
    CHECK_INT(sum_of(&clocks, wall_of), 100);
    rpp_thread_clocks_reset(&clocks, 0, 0);
    rpp_label_set_release(one);
    rpp_label_set_release(other);
}

TEST(what_was_long_ago_fades)
{
    rpp_thread_clocks clocks = {0};
    rpp_thread_clocks_reset(&clocks, START, 0);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_BLOCKED, START + 1000000);
    for (int i = 0; i < 30; i++) rpp_thread_clocks_fade(&clocks);
    rpp_thread_clocks_advance(&clocks, RPP_STATE_WAITING, START + 1000100);
    rpp_thread_clocks_read(&clocks, 0);
    rpp_thread_clocks_fill(&clocks, START + 1000200, 0);
    CHECK_INT(wall_of(&clocks, RPP_STATE_WAITING), 200);
}
