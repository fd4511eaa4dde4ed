/* url.c - checks the URLs of the settings, and shows them without their private parts. */
#include "settings/url.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* The end of "scheme://"; NULL if it is none of these schemes. */
static const char *after_scheme(const char *url, const char *const *schemes)
{
    for (; *schemes; schemes++) {
        size_t length = strlen(*schemes);
        if (strncasecmp(url, *schemes, length) == 0 && strncmp(url + length, "://", 3) == 0) return url + length + 3;
    }
    return NULL;
}

static bool is_port(const char *digits, const char *end)
{
    unsigned port = 0;
    if (digits == end || end - digits > 5) return false;
    for (; digits < end; digits++) {
        if (*digits < '0' || *digits > '9') return false;
        port = port * 10 + (unsigned)(*digits - '0');
    }
    return port >= 1 && port <= 65535;
}

static bool is_host_and_port(const char *host, const char *end)
{
    const char *host_end = host;
    if (host < end && *host == '[') {
        size_t length = strspn(host + 1, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:.%-_~");
        host_end += length + 1;
        if (!length || host_end >= end || *host_end++ != ']') return false;
    } else {
        while (host_end < end && *host_end != ':') host_end++;
        if (host_end == host) return false;
        for (const char *at = host; at < host_end; at++) {
            if (strchr("[]<>\"\\^`{|}", *at)) return false;
        }
    }
    return host_end == end || (*host_end == ':' && is_port(host_end + 1, end));
}

bool rpp_url_is_good(const char *url, const char *const *schemes)
{
    for (const unsigned char *at = (const unsigned char *)url; *at; at++) {
        if (*at <= ' ' || *at == 0x7f) return false;
    }
    const char *host = after_scheme(url, schemes);
    if (!host) return false;
    const char *end = host + strcspn(host, "/?#");
    for (const char *at = host; at < end; at++) {
        if (*at == '@') host = at + 1; /* the last one: a password may contain others */
    }
    return is_host_and_port(host, end);
}

const char *rpp_url_quote(char out[RPP_QUOTED_MAX], const char *bytes, size_t length)
{
    /* Hides generously: a malformed URL may have its password anywhere before the last '@'. */
    char masked[RPP_QUOTED_MAX * 2];
    const char hidden[] = "***";
    size_t start = 0, rest = 0, used = 0;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '@') rest = i;
    }
    for (size_t i = 0; rest && i + 2 < rest; i++) {
        if (memcmp(bytes + i, "://", 3) == 0) {
            start = i + 3;
            break;
        }
    }
    const char *query = memchr(bytes + rest, '?', length - rest);
    size_t end = query ? (size_t)(query - bytes) + 1 : length;

    if (rest) {
        used = start < 16 ? start : 0;
        memcpy(masked, bytes, used);
        memcpy(masked + used, hidden, sizeof hidden - 1);
        used += sizeof hidden - 1;
    }
    size_t kept = end - rest;
    if (kept > RPP_QUOTED_MAX) kept = RPP_QUOTED_MAX; /* rpp_quote cuts earlier and says so */
    if (kept) memcpy(masked + used, bytes + rest, kept);
    used += kept;
    if (query && kept == end - rest) {
        memcpy(masked + used, hidden, sizeof hidden - 1);
        used += sizeof hidden - 1;
    }
    return rpp_quote(out, masked, used);
}
