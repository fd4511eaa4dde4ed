/* http_headers.h - the header lines of a request: ours, the settings', and none that could smuggle a second one.
 *
 * Ownership  the list is the caller's: curl_slist_free_all.
 */
#ifndef RPP_HTTP_HEADERS_H
#define RPP_HTTP_HEADERS_H

#include <curl/curl.h>

#include "http_client.h"

#define RPP_HTTP_HEADER_LINE_MAX 8192

/* RPP_INVALID: a header is not fit to be sent; `why` tells which. Call under the gate. */
RPP_NODISCARD rpp_status rpp_http_headers_make(const rpp_settings *settings, const rpp_http_request *request,
                                               struct curl_slist **list, char *why, size_t why_size);

#endif
