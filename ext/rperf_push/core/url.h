/* url.h - judging the URLs of the settings, and showing them without what is private in them.
 *
 * Only as much of a URL is looked at as a user can get wrong; libcurl reads the rest.
 */
#ifndef RPP_URL_H
#define RPP_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/* scheme://[user[:password]@]host[:port][/path][?query], no spaces or control characters. schemes ends with NULL. */
bool rpp_url_is_good(const char *url, const char *const *schemes);
/* Like rpp_quote; userinfo becomes ***, and so does what follows a '?'. */
const char *rpp_url_quote(char out[RPP_QUOTED_MAX], const char *bytes, size_t length);

#endif
