/* url.h - checks the URLs of the settings, and shows them without their private parts.
 *
 * It checks only what users get wrong; libcurl parses the rest.
 *
 * Threads    any thread; the functions are pure.
 * Ownership  the caller keeps URL and buffer.
 */
#ifndef RPP_URL_H
#define RPP_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/quote.h"

/* Accepts scheme://[user[:password]@]host[:port][/path][?query] without spaces and control characters. `schemes` ends
 * with NULL. */
bool rpp_url_is_good(const char *url, const char *const *schemes);
/* Like rpp_quote, with *** for the userinfo and for everything after a '?'. */
const char *rpp_url_quote(char out[RPP_QUOTED_MAX], const char *bytes, size_t length);

#endif
