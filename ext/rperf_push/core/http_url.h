/* http_url.h - taking checked URLs apart, and putting text into them.
 *
 * Ownership  what is returned is the caller's: rpp_free.
 */
#ifndef RPP_HTTP_URL_H
#define RPP_HTTP_URL_H

#include <stddef.h>

#include "byte_sink.h"
#include "status.h"

/* The URL as it is, but for "user:password@". NULL when out of memory. */
char *rpp_url_without_userinfo(const char *url);
/* Percent-decoded; both NULL when the URL names no user. */
RPP_NODISCARD rpp_status rpp_url_userinfo(const char *url, char **user, char **password);
/* "host:port" for messages, cut to size. */
void rpp_url_host(const char *url, char *text, size_t size);
/* Writes the text with every byte but letters, digits and "-._~" as %XX. */
RPP_NODISCARD rpp_status rpp_url_escape(rpp_byte_sink *sink, const char *text);

#endif
