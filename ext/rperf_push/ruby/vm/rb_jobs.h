/* rb_jobs.h - requests for work at a safepoint, from any thread: each kind of work is done once, however often it is
 * requested until then.
 *
 * Threads    request: any thread. do_requested and any_requested: in the job (rb_trigger.h).
 * Ownership  functions are static.
 */
#ifndef RB_JOBS_H
#define RB_JOBS_H

#include <stdbool.h>

typedef enum rb_rpp_request {
    RB_RPP_REQUEST_LOG, /* lines for Ruby's logger */
    RB_RPP_REQUEST_END, /* of sessions whose results are not wanted any more */
    RB_RPP_REQUESTS
} rb_rpp_request;

void rb_rpp_jobs_request(rb_rpp_request what, void (*function)(void));
bool rb_rpp_jobs_any_requested(void);
void rb_rpp_jobs_do_requested(void);

#endif
