/* spool_report.c - reports on the spool. */
#include "spool/spool_report.h"

#include <errno.h>
#include <stdio.h>

#include "base/errno_text.h"
#include "base/log.h"
#include "base/stats.h"

void rpp_spool_report_init(rpp_spool_report *report, const char *path)
{
    *report = (rpp_spool_report){.path = path};
    pthread_mutex_init(&report->lock, NULL);
}

void rpp_spool_report_destroy(rpp_spool_report *report)
{
    pthread_mutex_destroy(&report->lock);
}

/* --- failures
 * ------------------------------------------------------------------------------------------------------- */

/* Returns the previous state. */
static bool set_told(rpp_spool_report *report, rpp_spool_work work, bool told)
{
    pthread_mutex_lock(&report->lock);
    bool before = report->synced.told[work];
    report->synced.told[work] = told;
    pthread_mutex_unlock(&report->lock);
    return before;
}

void rpp_spool_report_failure(rpp_spool_report *report, rpp_spool_work work, const char *what, const char *why)
{
    char message[RPP_LAST_ERROR_MAX];
    snprintf(message, sizeof message, "the spool %.250s %s: %s", report->path, what, why);
    rpp_stats_set_last_error(message);
    rpp_stats_add(RPP_STAT_spool_errors, 1);
    if (set_told(report, work, true)) return;
    rpp_log(RPP_LOG_WARN, "%s%s", message, work == RPP_SPOOL_PUTTING ? "; profiles wait in memory" : "");
}

void rpp_spool_report_errno(rpp_spool_report *report, rpp_spool_work work, const char *what)
{
    char room[RPP_ERRNO_TEXT_MAX];
    rpp_spool_report_failure(report, work, what, rpp_errno_text(errno, room));
}

void rpp_spool_report_success(rpp_spool_report *report, rpp_spool_work work)
{
    if (!set_told(report, work, false)) return;
    rpp_log(RPP_LOG_INFO, "the spool %s %s again", report->path,
            work == RPP_SPOOL_PUTTING ? "takes profiles" : "can be used");
}

/* --- gauges
 * --------------------------------------------------------------------------------------------------------- */

/* Under the lock: otherwise two threads could store their values in the wrong order. */
static void show(rpp_spool_report *report, uint64_t files, uint64_t bytes)
{
    report->synced.files = files;
    report->synced.bytes = bytes;
    rpp_stats_set(RPP_STAT_spool_files, files);
    rpp_stats_set(RPP_STAT_spool_bytes, bytes);
}

void rpp_spool_report_found(rpp_spool_report *report, uint64_t files, uint64_t bytes)
{
    pthread_mutex_lock(&report->lock);
    show(report, files, bytes);
    pthread_mutex_unlock(&report->lock);
}

void rpp_spool_report_added(rpp_spool_report *report, uint64_t bytes)
{
    pthread_mutex_lock(&report->lock);
    show(report, report->synced.files + 1, report->synced.bytes + bytes);
    pthread_mutex_unlock(&report->lock);
}

void rpp_spool_report_gone(rpp_spool_report *report, uint64_t bytes)
{
    pthread_mutex_lock(&report->lock);
    uint64_t files = report->synced.files, all = report->synced.bytes;
    show(report, files ? files - 1 : 0, all > bytes ? all - bytes : 0);
    pthread_mutex_unlock(&report->lock);
    rpp_stats_add(RPP_STAT_payloads_unspooled, 1);
}
