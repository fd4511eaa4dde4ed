/* quote.h - shows foreign bytes in a message.
 *
 * Threads    any thread.
 * Ownership  the caller keeps bytes and buffer.
 */
#ifndef RPP_QUOTE_H
#define RPP_QUOTE_H

#include <stddef.h>

/* Enough for a quoted value in a message. */
#define RPP_QUOTED_MAX 128
/* Puts the bytes between quotes, on one line, cut to size. Returns `out`. */
const char *rpp_quote(char out[RPP_QUOTED_MAX], const char *bytes, size_t length);

#endif
