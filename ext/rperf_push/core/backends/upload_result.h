/* upload_result.h - how a try ended, for the uploader and for people.
 *
 * Threads    one at a time.
 * Ownership  an upload result holds its own text.
 */
#ifndef RPP_UPLOAD_RESULT_H
#define RPP_UPLOAD_RESULT_H

#include <stdbool.h>

#include "http/http_message.h"
#include "http/retry_verdict.h"

#define RPP_UPLOAD_RESULT_MESSAGE_MAX 400

typedef struct rpp_upload_result {
    rpp_attempt attempt;
    bool timed_out;                              /* for the statistics */
    rpp_failure failure;                         /* for advice */
    char message[RPP_UPLOAD_RESULT_MESSAGE_MAX]; /* why it failed, for a human; never credentials */
} rpp_upload_result;

/* Peculiarities in the answers of a kind of server. */
typedef struct rpp_dialect {
    bool speaks_no_html;    /* a page comes from something in front of the server */
    bool says_422_for_all;  /* for any failure; the text has the reason */
    bool says_500_for_many; /* for many failures; the code or the text has the reason */
} rpp_dialect;

/* Fills an upload result from a response: status, Retry-After, meaning, and the server's message as one log line. */
void rpp_upload_result_from_response(rpp_upload_result *result, const rpp_http_response *response, rpp_dialect dialect);

/* Adds " (hint)" to the message if it fits. NULL adds nothing. */
void rpp_upload_result_add_hint(rpp_upload_result *result, const char *hint);

#endif
