/* upload_report.c - reports on uploads: it counts every try and logs one line when uploads begin to fail or to work
 * again.
 */
#include "delivery/upload_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"

/* A backend that alternately fails and works gets one pair of lines in this time. */
#define QUIET_NS (60 * RPP_NS_PER_S)

static void count_payload(rpp_verdict verdict)
{
    switch (verdict) {
    case RPP_VERDICT_DELIVERED: rpp_stats_add(RPP_STAT_payloads_delivered, 1); break;
    case RPP_VERDICT_UNCONFIRMED: rpp_stats_add(RPP_STAT_payloads_unconfirmed, 1); break;
    case RPP_VERDICT_REJECTED: rpp_stats_add(RPP_STAT_payloads_dropped_rejected, 1); break;
    case RPP_VERDICT_GIVEN_UP: rpp_stats_add(RPP_STAT_payloads_dropped_retries, 1); break;
    case RPP_VERDICT_ABORTED: rpp_stats_add(RPP_STAT_payloads_dropped_shutdown, 1); break;
    case RPP_VERDICT_RETRY: break;
    }
}

static void count_reason(const rpp_upload_result *result)
{
    const rpp_attempt *attempt = &result->attempt;
    if (result->timed_out) {
        rpp_stats_add(RPP_STAT_uploads_failed_timeout, 1);
    } else if (attempt->end == RPP_END_ANSWERED) {
        if (attempt->http_status / 100 == 4) rpp_stats_add(RPP_STAT_uploads_failed_4xx, 1);
        if (attempt->http_status / 100 == 5) rpp_stats_add(RPP_STAT_uploads_failed_5xx, 1);
    } else if (attempt->end == RPP_END_NOT_SENT || attempt->end == RPP_END_NO_ANSWER) {
        rpp_stats_add(RPP_STAT_uploads_failed_connect, 1);
    }
}

static const char *consequence(rpp_verdict verdict)
{
    switch (verdict) {
    case RPP_VERDICT_RETRY: return "trying again";
    case RPP_VERDICT_UNCONFIRMED: return "it may have been stored and is not sent again";
    case RPP_VERDICT_REJECTED: return "the profile is dropped";
    case RPP_VERDICT_GIVEN_UP: return "given up after too many tries";
    default: return "";
    }
}

/* One line for a series of failures; shortly after a success, only for a series that lasts. */
static void tell_failure(rpp_upload_report *report, const rpp_upload_result *result, rpp_verdict verdict,
                         uint64_t now_ns)
{
    rpp_stats_set_last_error(result->message);
    if (!report->failing) {
        report->failing = true;
        report->told = false;
        report->failed_tries = 0;
        report->failing_since_ns = now_ns;
    }
    report->failed_tries++;
    if (report->told || (report->told_at_ns && now_ns - report->told_at_ns < QUIET_NS)) return;
    report->told = true;
    report->told_at_ns = now_ns;
    rpp_log(RPP_LOG_WARN, "upload to %s failed: %s; %s", report->backend_name, result->message, consequence(verdict));
}

static void tell_success(rpp_upload_report *report, uint64_t now_ns)
{
    if (report->failing && report->told) {
        rpp_log(RPP_LOG_INFO, "uploads to %s work again, after %" PRIu64 " failed in %.1f s", report->backend_name,
                report->failed_tries, (double)(now_ns - report->failing_since_ns) / (double)RPP_NS_PER_S);
    }
    report->failing = false;
}

/* The end of the session aborted the try. The code that ends the session logs lost payloads, but not unconfirmed ones.
 * With a spool nothing has failed, because another process continues. */
static void tell_end(rpp_upload_report *report, const rpp_upload_result *result, rpp_verdict verdict, uint64_t now_ns)
{
    if (verdict == RPP_VERDICT_UNCONFIRMED) tell_failure(report, result, verdict, now_ns);
    if (verdict == RPP_VERDICT_ABORTED) rpp_stats_set_last_error(result->message);
}

/* The counts come last: a reader that sees them also sees the rest. */
void rpp_upload_report_try(rpp_upload_report *report, const rpp_payload *payload, const rpp_upload_result *result,
                           rpp_verdict verdict, uint64_t now_ns, uint64_t realtime_ns)
{
    if (verdict == RPP_VERDICT_DELIVERED) {
        tell_success(report, now_ns);
        rpp_stats_add(RPP_STAT_bytes_sent, payload->length);
        rpp_stats_set(RPP_STAT_last_upload_ok_at_ns, realtime_ns);
        rpp_stats_add(RPP_STAT_uploads_ok, 1);
    } else {
        bool ended = result->attempt.end == RPP_END_ABORTED;
        (ended ? tell_end : tell_failure)(report, result, verdict, now_ns);
        count_reason(result);
        if (verdict == RPP_VERDICT_RETRY && result->attempt.closed)
            rpp_stats_add(RPP_STAT_payloads_resent_after_close, 1);
        rpp_stats_add(verdict == RPP_VERDICT_RETRY ? RPP_STAT_uploads_retried : RPP_STAT_uploads_failed, 1);
    }
    count_payload(verdict);
}

void rpp_upload_report_too_old(rpp_upload_report *report, const rpp_payload *payload, uint64_t age_ns)
{
    char message[128];
    snprintf(message, sizeof message,
             "profile %" PRIu64 " was dropped: %" PRIu64 " minutes old, more than the backend takes", payload->sequence,
             age_ns / (60 * RPP_NS_PER_S));
    rpp_stats_set_last_error(message);
    if (!report->told_of_age) rpp_log(RPP_LOG_WARN, "%s; others like it are only counted", message);
    report->told_of_age = true;
    rpp_stats_add(RPP_STAT_payloads_dropped_too_old, 1);
}
