/* test_upload_report.c - how many lines the log gets, and when. */
#include "delivery/upload_report.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "test.h"

#define AT(seconds) ((1000 + (seconds)) * RPP_NS_PER_S)

static char told[64]; /* W for each warning, I for each line that all is well */
static char last[512];

static void keep(rpp_log_level level, const char *line, void *context)
{
    (void)context;
    strcat(told, level == RPP_LOG_WARN ? "W" : "I");
    snprintf(last, sizeof last, "%s", line);
}

static rpp_upload_report begin(void)
{
    told[0] = '\0';
    rpp_log_set_sink(keep, NULL);
    return (rpp_upload_report){.backend_name = "pyroscope"};
}

static void fail(rpp_upload_report *report, unsigned at)
{
    rpp_payload payload = {.length = 1};
    rpp_upload_result result = {.attempt = {.end = RPP_END_NOT_SENT}, .message = "refused"};
    rpp_upload_report_try(report, &payload, &result, RPP_VERDICT_RETRY, AT(at), 1);
}

static void succeed(rpp_upload_report *report, unsigned at)
{
    rpp_payload payload = {.length = 1};
    rpp_upload_result result = {.attempt = {.end = RPP_END_ANSWERED, .http_status = 200}};
    rpp_upload_report_try(report, &payload, &result, RPP_VERDICT_DELIVERED, AT(at), 1);
}

TEST(an_outage_is_one_line_and_its_end_another)
{
    rpp_upload_report report = begin();
    for (unsigned i = 0; i < 100; i++) fail(&report, i * 10);
    CHECK_STR(told, "W");
    CHECK_STR(last, "[rperf-push] upload to pyroscope failed: refused; trying again");
    succeed(&report, 1000);
    succeed(&report, 1010);
    CHECK_STR(told, "WI");
    CHECK_STR(last, "[rperf-push] uploads to pyroscope work again, after 100 failed in 1000.0 s");
    rpp_log_set_sink(NULL, NULL);
}

TEST(failures_by_turns_are_told_once_a_minute)
{
    rpp_upload_report report = begin();
    for (unsigned i = 0; i < 12; i++) {
        fail(&report, 10 * i);
        succeed(&report, 10 * i + 5);
    }
    CHECK_STR(told, "WIWI");
    rpp_log_set_sink(NULL, NULL);
}

TEST(an_outage_soon_after_another_is_told_when_it_lasts)
{
    rpp_upload_report report = begin();
    fail(&report, 0);
    succeed(&report, 10);
    for (unsigned i = 20; i < 60; i += 10) fail(&report, i);
    CHECK_STR(told, "WI");
    fail(&report, 60);
    fail(&report, 70);
    CHECK_STR(told, "WIW");
    succeed(&report, 80);
    CHECK_STR(last, "[rperf-push] uploads to pyroscope work again, after 6 failed in 60.0 s");
    rpp_log_set_sink(NULL, NULL);
}

static rpp_verdict ended_as[] = {RPP_VERDICT_ABORTED, RPP_VERDICT_UNCONFIRMED, RPP_VERDICT_RETRY};

/* Told is what nobody else tells; the last error is that of what did not arrive. */
TEST(a_try_that_the_end_broke_off_is_the_last_error_and_told_where_it_may_have_arrived)
{
    for (size_t i = 0; i < 3; i++) {
        char error[RPP_LAST_ERROR_MAX];
        rpp_upload_report report = begin();
        rpp_payload payload = {.length = 1};
        rpp_upload_result result = {.attempt = {.end = RPP_END_ABORTED}, .message = "no answer"};
        rpp_stats_reset();
        rpp_upload_report_try(&report, &payload, &result, ended_as[i], AT(0), 1);
        CHECK_STR(told, ended_as[i] == RPP_VERDICT_UNCONFIRMED ? "W" : "");
        CHECK_INT(rpp_stats_last_error(error, sizeof error) > 0, ended_as[i] != RPP_VERDICT_RETRY);
        CHECK_STR(error, ended_as[i] == RPP_VERDICT_RETRY ? "" : "no answer");
        if (*told) CHECK(strstr(last, "failed: no answer; it may have been stored and is not sent again"));
    }
    rpp_stats_reset();
    rpp_log_set_sink(NULL, NULL);
}
