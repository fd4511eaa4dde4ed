/* upload_report.h - what the world is told of uploads: every try counted, and one line when they begin to fail or to work.
 *
 * Threads    the uploader only.
 */
#ifndef RPP_UPLOAD_REPORT_H
#define RPP_UPLOAD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"

typedef struct rpp_upload_report {
    const char *backend_name;
    bool failing; /* the last try failed */
    bool told;    /* ... and a line said so */
    uint64_t failed_tries, failing_since_ns, told_at_ns;
} rpp_upload_report;

/* Counts one try and what became of its payload. */
void rpp_upload_report_try(rpp_upload_report *report, const rpp_payload *payload, const rpp_delivery *delivery,
                           rpp_verdict verdict, uint64_t now_ns, uint64_t realtime_ns);
void rpp_upload_report_too_old(const rpp_payload *payload, uint64_t age_ns);

#endif
