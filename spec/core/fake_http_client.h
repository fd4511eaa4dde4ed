/* fake_http_client.h - an HTTP client without a network: keeps what it is given, answers what it is told. */
#ifndef RPP_FAKE_HTTP_CLIENT_H
#define RPP_FAKE_HTTP_CLIENT_H

#include "http/http_client.h"

typedef struct fake_http_client {
    rpp_http_client client; /* first */
    /* what it answers */
    rpp_attempt attempt;
    const char *body, *content_type, *error;
    bool timed_out, connected;
    rpp_status status; /* RPP_NO_MEMORY instead of an answer */
    /* what it was given last; destroyed by the next and by fake_http_client_destroy */
    char *url, *sent_type, *headers; /* headers: each with a newline */
    char *sent;
    size_t sent_length;
    uint64_t deadline_ns;
    unsigned count;
} fake_http_client;

/* Answers 200 until told otherwise. */
void fake_http_client_init(fake_http_client *fake);
void fake_http_client_destroy(fake_http_client *fake);
void fake_http_client_answer(fake_http_client *fake, int status, const char *content_type, const char *body);

#endif
