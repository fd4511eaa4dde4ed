/* test_log.c - one line, to whoever takes it. */
#include "base/log.h"

#include <unistd.h>

#include "test.h"

static char last[RPP_LOG_LINE_MAX];
static rpp_log_level last_level;
static int lines;

static void keep(rpp_log_level level, const char *line, void *context)
{
    *(int *)context += 1;
    last_level = level;
    snprintf(last, sizeof last, "%s", line);
}

TEST(a_line_reaches_the_sink_with_its_prefix)
{
    rpp_log_set_sink(keep, &lines);
    lines = 0;
    rpp_log(RPP_LOG_WARN, "answered %d: %s", 401, "no org id");
    rpp_log_set_sink(NULL, NULL);
    CHECK_INT(lines, 1);
    CHECK_INT(last_level, RPP_LOG_WARN);
    CHECK_STR(last, "[rperf-push] answered 401: no org id");
}

TEST(what_the_arguments_bring_stays_on_one_line)
{
    rpp_log_set_sink(keep, &lines);
    rpp_log(RPP_LOG_INFO, "got %s", "a\nb\r\x1b[31m\xff\x7f");
    rpp_log_set_sink(NULL, NULL);
    CHECK_STR(last, "[rperf-push] got a?b??[31m??");
}

TEST(a_long_line_is_cut_at_a_character)
{
    char text[4096];
    for (size_t i = 0; i + 3 < sizeof text; i += 3) memcpy(text + i, "\xe2\x80\xa6", 4);
    rpp_log_set_sink(keep, &lines);
    for (int pad = 0; pad < 3; pad++) {
        rpp_log(RPP_LOG_INFO, "%.*s%s", pad, "xx", text);
        size_t length = strlen(last);
        CHECK(length < RPP_LOG_LINE_MAX && length > RPP_LOG_LINE_MAX - 4);
        CHECK(memcmp(last + length - 3, "\xe2\x80\xa6", 3) == 0);
        CHECK(!strchr(last, '?'));
    }
    rpp_log_set_sink(NULL, NULL);
}

static void log_again(rpp_log_level level, const char *line, void *context)
{
    (void)level;
    (void)line;
    if (++*(int *)context < 3) rpp_log(RPP_LOG_INFO, "again");
}

TEST(no_lock_is_held_while_the_sink_runs)
{
    lines = 0;
    rpp_log_set_sink(log_again, &lines);
    rpp_log(RPP_LOG_INFO, "once");
    rpp_log_discard_after_fork();
    rpp_log_set_sink(NULL, NULL);
    CHECK_INT(lines, 3);
}

TEST(without_a_sink_lines_go_to_standard_error)
{
    int ends[2], saved = dup(STDERR_FILENO);
    CHECK(saved >= 0 && pipe(ends) == 0);
    dup2(ends[1], STDERR_FILENO);
    rpp_log(RPP_LOG_ERROR, "loud");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    char text[64] = "";
    ssize_t length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    CHECK(length > 0);
    CHECK_STR(text, "[rperf-push] loud\n");
}
