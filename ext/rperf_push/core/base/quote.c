/* quote.c - shows foreign bytes in a message. */
#include "base/quote.h"

#include <string.h>

#include "base/utf8.h"

const char *rpp_quote(char out[RPP_QUOTED_MAX], const char *bytes, size_t length)
{
    const char dots[] = "...\"";
    size_t kept = rpp_utf8_copy(out + 1, RPP_QUOTED_MAX - 1 - sizeof dots, bytes, length);
    rpp_utf8_one_line(out + 1, kept);
    out[0] = '"';
    strcpy(out + 1 + kept, kept < length ? dots : "\"");
    return out;
}
