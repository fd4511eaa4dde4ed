/* spool_report.h - reports on the spool: its gauges, its failures, and one log line when failures begin or end.
 *
 * Threads    any thread; the report has its own lock.
 * Ownership  the path must outlive the report.
 */
#ifndef RPP_SPOOL_REPORT_H
#define RPP_SPOOL_REPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum rpp_spool_work { RPP_SPOOL_PUTTING, RPP_SPOOL_TAKING, RPP_SPOOL_WORKS } rpp_spool_work;

typedef struct rpp_spool_report {
    const char *path;
    pthread_mutex_t lock;
    struct {                        /* under the lock */
        bool told[RPP_SPOOL_WORKS]; /* a line said that it fails */
        uint64_t files, bytes;
    } synced;
} rpp_spool_report;

void rpp_spool_report_init(rpp_spool_report *report, const char *path);
void rpp_spool_report_destroy(rpp_spool_report *report);

/* Logs "the spool PATH WHAT: WHY". */
void rpp_spool_report_failure(rpp_spool_report *report, rpp_spool_work work, const char *what, const char *why);
/* The same with errno's text as WHY. */
void rpp_spool_report_errno(rpp_spool_report *report, rpp_spool_work work, const char *what);
void rpp_spool_report_success(rpp_spool_report *report, rpp_spool_work work);

/* The gauges: the state of the directory, one file more, one file less (payloads_unspooled). */
void rpp_spool_report_found(rpp_spool_report *report, uint64_t files, uint64_t bytes);
void rpp_spool_report_added(rpp_spool_report *report, uint64_t bytes);
void rpp_spool_report_gone(rpp_spool_report *report, uint64_t bytes);

#endif
