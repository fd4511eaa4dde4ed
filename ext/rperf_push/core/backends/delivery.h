/* delivery.h - how a try ended, for the uploader and for people.
 *
 * Threads    one at a time.
 * Ownership  a delivery holds its own text.
 */
#ifndef RPP_DELIVERY_H
#define RPP_DELIVERY_H

#include <stdbool.h>

#include "http/backoff.h"
#include "http/http_message.h"

#define RPP_DELIVERY_MESSAGE_MAX 400

typedef struct rpp_delivery {
    rpp_attempt attempt;
    bool timed_out;                         /* for the statistics */
    rpp_failure failure;                    /* for advice */
    char message[RPP_DELIVERY_MESSAGE_MAX]; /* why it failed, for a human; never credentials */
} rpp_delivery;

/* Peculiarities in the answers of a kind of server. */
typedef struct rpp_dialect {
    bool speaks_no_html;    /* a page comes from something in front of the server */
    bool says_422_for_all;  /* for any failure; the text has the reason */
    bool says_500_for_many; /* for many failures; the code or the text has the reason */
} rpp_dialect;

/* Fills a delivery from a response: status, Retry-After, meaning, and the server's message as one log line. */
void rpp_delivery_from_response(rpp_delivery *delivery, const rpp_http_response *response, rpp_dialect dialect);

/* Adds " (hint)" to the message if it fits. NULL adds nothing. */
void rpp_delivery_add_hint(rpp_delivery *delivery, const char *hint);

#endif
