/* http_message.c - an HTTP request, and its response. */
#include "http/http_message.h"

#include "base/alloc.h"

void rpp_http_response_destroy(rpp_http_response *response)
{
    rpp_free(response->body);
    *response = (rpp_http_response){0};
}
