/* http_transfer.h - one request on its way through libcurl: the body given, the answer taken, and how it ended.
 *
 * Threads    the one that performs, under the gate.
 */
#ifndef RPP_HTTP_TRANSFER_H
#define RPP_HTTP_TRANSFER_H

#include <curl/curl.h>

#include "http_client.h"

/* What the next line of the answer's head is taken for. */
typedef enum rpp_answer_part { RPP_ANSWER_STATUS, RPP_ANSWER_HEADERS, RPP_ANSWER_REST } rpp_answer_part;

typedef struct rpp_http_transfer {
    const rpp_http_request *request;
    rpp_http_response *response;
    uint64_t begin_ns;
    size_t taken;         /* bytes of the body that libcurl has taken */
    size_t header_bytes;  /* of the answer */
    size_t body_capacity; /* of response->body */
    int status;           /* of the latest status line, 0: none yet */
    rpp_answer_part part;
    bool went_before; /* wholly, over a connection that was lost then */
    char detail[CURL_ERROR_SIZE];
} rpp_http_transfer;

typedef enum rpp_transfer_end {
    RPP_TRANSFER_FINISHED, /* libcurl says so, well or not */
    RPP_TRANSFER_INTERRUPTED,
    RPP_TRANSFER_OUT_OF_TIME
} rpp_transfer_end;

/* The transfer and the headers must stay where they are as long as the handle lives. */
CURLcode rpp_http_transfer_attach(rpp_http_transfer *transfer, CURL *easy, struct curl_slist *headers);
/* Completes the response. RPP_NO_MEMORY only while nothing can have been stored. */
RPP_NODISCARD rpp_status rpp_http_transfer_conclude(rpp_http_transfer *transfer, CURL *easy, rpp_transfer_end end,
                                                    CURLcode code);

#endif
