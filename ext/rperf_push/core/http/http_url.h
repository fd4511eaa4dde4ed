/* http_url.h - takes checked URLs apart, and escapes text for them.
 *
 * Threads    any thread; the functions are pure.
 * Ownership  the caller frees returned strings with rpp_free.
 */
#ifndef RPP_HTTP_URL_H
#define RPP_HTTP_URL_H

#include <stddef.h>

#include "base/byte_sink.h"
#include "base/status.h"

/* The URL without "user:password@". NULL if out of memory. */
char *rpp_url_without_userinfo(const char *url);
/* Percent-decoded. Both are NULL if the URL has no user. */
RPP_NODISCARD rpp_status rpp_url_userinfo(const char *url, char **user, char **password);
/* "host:port" for messages, cut to size. */
void rpp_url_host(const char *url, char *text, size_t size);
/* Writes the text. Bytes other than letters, digits and "-._~" become %XX. */
RPP_NODISCARD rpp_status rpp_url_escape(rpp_byte_sink *sink, const char *text);

/* The base URL (scheme://host:port/prefix, without userinfo and trailing slashes) joined with "/path". */
char *rpp_url_join(const char *base, const char *path);

#endif
