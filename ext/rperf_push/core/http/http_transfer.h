/* http_transfer.h - one request inside libcurl: it supplies the body, collects the answer, and records the end.
 *
 * Threads    the thread that performs, under the fork lock.
 * Ownership  the caller owns request, response and handle.
 */
#ifndef RPP_HTTP_TRANSFER_H
#define RPP_HTTP_TRANSFER_H

#include <curl/curl.h>

#include "base/status.h"
#include "http/http_message.h"

/* What the next line of the answer's head is. */
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
    bool went_before;   /* the whole request went out before, over a connection that was then lost */
    uint64_t expect_ns; /* how long the body waits for a 100; 0: not at all */
    bool continued;     /* the 100 came */
    bool unexpected;    /* 417 came: nothing was stored, and the body may be sent without asking */
    char detail[CURL_ERROR_SIZE];
} rpp_http_transfer;

typedef enum rpp_transfer_end {
    RPP_TRANSFER_FINISHED, /* libcurl ended it, with success or not */
    RPP_TRANSFER_INTERRUPTED,
    RPP_TRANSFER_OUT_OF_TIME
} rpp_transfer_end;

/* The transfer and the headers must not move while the handle exists. */
CURLcode rpp_http_transfer_attach(rpp_http_transfer *transfer, CURL *easy, struct curl_slist *headers);
/* Completes the response. It returns RPP_NO_MEMORY only if the server cannot have stored the request. */
RPP_NODISCARD rpp_status rpp_http_transfer_conclude(rpp_http_transfer *transfer, CURL *easy, rpp_transfer_end end,
                                                    CURLcode code);

#endif
