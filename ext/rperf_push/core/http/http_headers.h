/* http_headers.h - builds the header lines of a request, ours and the settings', and refuses lines that contain another
 * one.
 *
 * Threads    one at a time, under the fork lock.
 * Ownership  the caller frees the list with curl_slist_free_all.
 */
#ifndef RPP_HTTP_HEADERS_H
#define RPP_HTTP_HEADERS_H

#include <curl/curl.h>

#include "http/http_message.h"
#include "settings/settings.h"

#define RPP_HTTP_HEADER_LINE_MAX 8192

/* RPP_INVALID: a header must not be sent; `why` says which. */
RPP_NODISCARD rpp_status rpp_http_headers_make(const rpp_settings *settings, const rpp_http_request *request,
                                               bool expects, struct curl_slist **list, char *why, size_t why_size);

#endif
