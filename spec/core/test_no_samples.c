/* test_no_samples.c - a word when samples stay away from a process that works; none when it waits. */
#include "profile/no_samples.h"

#include "base/clock.h"
#include "base/log.h"
#include "test.h"

#define INTERVAL (10 * RPP_NS_PER_S)
#define BEGIN    (1000 * RPP_NS_PER_S)

static char lines[512];
static unsigned line_count;
static uint64_t cpu_ns;

static void keep(rpp_log_level level, const char *line, void *context)
{
    (void)context;
    snprintf(lines, sizeof lines, "%c%s", level == RPP_LOG_WARN ? 'W' : 'I', line);
    line_count++;
}

static uint64_t cpu(void)
{
    return cpu_ns;
}

static rpp_no_samples begin(void)
{
    rpp_no_samples no_samples;
    rpp_no_samples_init(&no_samples, INTERVAL, BEGIN);
    no_samples.process_cpu_ns = cpu;
    rpp_log_set_sink(keep, NULL);
    lines[0] = '\0';
    line_count = 0;
    cpu_ns = 500 * RPP_NS_PER_S;
    return no_samples;
}

/* Looks ten times a second, while the process uses that share of a core. */
static void pass(rpp_no_samples *no_samples, uint64_t *now_ns, unsigned seconds, unsigned percent)
{
    for (unsigned i = 0; i < seconds * 10; i++) {
        *now_ns += RPP_NS_PER_S / 10;
        cpu_ns += RPP_NS_PER_S / 1000 * percent;
        rpp_no_samples_check(no_samples, *now_ns);
    }
}

TEST(a_busy_process_without_samples_is_told_once)
{
    rpp_no_samples no_samples = begin();
    uint64_t now = BEGIN;
    pass(&no_samples, &now, 29, 100);
    CHECK_STR(lines, "");
    pass(&no_samples, &now, 300, 100);
    CHECK_STR(lines,
              "W[rperf-push] no sample came for 30.0 s, while the process used 20.0 s of CPU: sampling does not work "
              "here, or all of that is spent outside of Ruby's threads; RperfPush.stats says more");
    CHECK_INT(line_count, 1);
    rpp_log_set_sink(NULL, NULL);
}

TEST(samples_that_come_again_are_told_once)
{
    rpp_no_samples no_samples = begin();
    uint64_t now = BEGIN;
    pass(&no_samples, &now, 45, 100);
    rpp_no_samples_end(&no_samples, now);
    CHECK_STR(lines, "I[rperf-push] samples come again, after 45.0 s without one");
    rpp_no_samples_end(&no_samples, now + 1);
    CHECK_INT(line_count, 2);
    pass(&no_samples, &now, 45, 100);
    CHECK_INT(line_count, 3);
    rpp_log_set_sink(NULL, NULL);
}

TEST(a_process_that_waits_is_left_in_peace)
{
    rpp_no_samples no_samples = begin();
    uint64_t now = BEGIN;
    pass(&no_samples, &now, 3600, 0);
    CHECK_INT(line_count, 0);
    rpp_no_samples_end(&no_samples, now);
    CHECK_INT(line_count, 0);
    rpp_log_set_sink(NULL, NULL);
}

TEST(cpu_time_of_the_first_interval_belongs_to_the_samples_before)
{
    rpp_no_samples no_samples = begin();
    uint64_t now = BEGIN;
    pass(&no_samples, &now, 9, 400);
    pass(&no_samples, &now, 3600, 9);
    CHECK_INT(line_count, 0);
    pass(&no_samples, &now, 3600, 50);
    CHECK_INT(line_count, 1);
    rpp_log_set_sink(NULL, NULL);
}

TEST(windows_closed_without_samples_need_no_cpu_time)
{
    rpp_no_samples no_samples = begin();
    uint64_t now = BEGIN;
    for (int i = 0; i < 2; i++) {
        pass(&no_samples, &now, 12, 0);
        rpp_no_samples_window(&no_samples);
    }
    pass(&no_samples, &now, 12, 0);
    CHECK_INT(line_count, 0);
    rpp_no_samples_window(&no_samples);
    pass(&no_samples, &now, 1, 0);
    CHECK_INT(line_count, 1);
    rpp_log_set_sink(NULL, NULL);
}

TEST(windows_closed_early_are_no_warning)
{
    rpp_no_samples no_samples = begin();
    uint64_t now = BEGIN;
    for (int i = 0; i < 10; i++) rpp_no_samples_window(&no_samples);
    pass(&no_samples, &now, 29, 0);
    CHECK_INT(line_count, 0);
    rpp_log_set_sink(NULL, NULL);
}

TEST(short_windows_do_not_make_a_short_gap_a_warning)
{
    rpp_no_samples no_samples;
    (void)begin();
    rpp_no_samples_init(&no_samples, RPP_NS_PER_S / 50, BEGIN);
    no_samples.process_cpu_ns = cpu;
    uint64_t now_ns = BEGIN;
    for (unsigned i = 0; i < 30; i++) rpp_no_samples_window(&no_samples);
    pass(&no_samples, &now_ns, 2, 100);
    CHECK_INT(line_count, 0);
    pass(&no_samples, &now_ns, 2, 100);
    CHECK_INT(line_count, 1);
}

TEST(a_burst_after_a_deep_sleep_is_no_warning)
{
    rpp_no_samples no_samples = begin();
    uint64_t now = BEGIN + 5 * INTERVAL;
    rpp_no_samples_check(&no_samples, now);
    for (unsigned i = 0; i < 3; i++) rpp_no_samples_window(&no_samples);
    pass(&no_samples, &now, 19, 100);
    CHECK_INT(line_count, 0);
    pass(&no_samples, &now, 2, 100);
    CHECK_INT(line_count, 1);
    rpp_log_set_sink(NULL, NULL);
}

TEST(all_zero_says_nothing)
{
    rpp_no_samples no_samples = {0};
    uint64_t now = BEGIN;
    begin();
    rpp_no_samples_window(&no_samples);
    pass(&no_samples, &now, 100, 100);
    rpp_no_samples_end(&no_samples, now);
    CHECK_INT(line_count, 0);
    rpp_log_set_sink(NULL, NULL);
}
