/* spool_report.h - what the world is told of the spool: its gauges, its failures, and one line when they begin or end.
 *
 * Threads    any.
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
        bool told[RPP_SPOOL_WORKS]; /* that it fails */
        uint64_t files, bytes;
    } synced;
} rpp_spool_report;

/* The path must outlive the report. */
void rpp_spool_report_init(rpp_spool_report *report, const char *path);
void rpp_spool_report_destroy(rpp_spool_report *report);

/* "the spool PATH WHAT: WHY" */
void rpp_spool_report_failure(rpp_spool_report *report, rpp_spool_work work, const char *what, const char *why);
/* The same, why being errno's text. */
void rpp_spool_report_errno(rpp_spool_report *report, rpp_spool_work work, const char *what);
void rpp_spool_report_success(rpp_spool_report *report, rpp_spool_work work);

/* The gauges: as the directory was found, one file more, and one less (payloads_unspooled). */
void rpp_spool_report_found(rpp_spool_report *report, uint64_t files, uint64_t bytes);
void rpp_spool_report_added(rpp_spool_report *report, uint64_t bytes);
void rpp_spool_report_gone(rpp_spool_report *report, uint64_t bytes);

#endif
