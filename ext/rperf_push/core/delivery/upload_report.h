/* upload_report.h - reports on uploads: it counts every try and logs one line when uploads begin to fail or to work
 * again.
 *
 * Threads    the uploader only.
 * Ownership  the backend's name must outlive the report.
 */
#ifndef RPP_UPLOAD_REPORT_H
#define RPP_UPLOAD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"

typedef struct rpp_upload_report {
    const char *backend_name;
    bool failing; /* the last try failed */
    bool told;    /* a line was logged */
    bool told_of_age;
    uint64_t failed_tries, failing_since_ns, told_at_ns;
} rpp_upload_report;

/* Counts one try and its verdict, and logs if something changed. */
void rpp_upload_report_try(rpp_upload_report *report, const rpp_payload *payload, const rpp_upload_result *result,
                           rpp_verdict verdict, uint64_t now_ns, uint64_t realtime_ns);
/* Logs one line, for the first such payload only. */
void rpp_upload_report_too_old(rpp_upload_report *report, const rpp_payload *payload, uint64_t age_ns);

#endif
