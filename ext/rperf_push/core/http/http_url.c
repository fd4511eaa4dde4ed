/* http_url.c - takes checked URLs apart, and escapes text for them. */
#include "http/http_url.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

typedef struct url_parts {
    const char *userinfo, *host, *path, *end; /* userinfo == host: none; end: of the path, at '?' or '#' or NUL */
} url_parts;

static url_parts take_apart(const char *url)
{
    const char *scheme_end = strstr(url, "://");
    const char *authority = scheme_end ? scheme_end + 3 : url;
    url_parts parts = {.userinfo = authority, .host = authority, .path = authority + strcspn(authority, "/?#")};
    for (const char *at = authority; at < parts.path; at++) {
        if (*at == '@') parts.host = at + 1; /* the last one: a password may contain others */
    }
    parts.end = parts.path + strcspn(parts.path, "?#");
    return parts;
}

/* Copies the path and merges runs of '/': servers answer a double slash with a redirect. */
static char *copy_path(char *out, const char *path, const char *end)
{
    for (char last = '\0'; path < end; last = *path++) {
        if (*path != '/' || last != '/') *out++ = *path;
    }
    return out;
}

char *rpp_url_join(const char *base, const char *path)
{
    url_parts parts = take_apart(base);
    char *url = rpp_malloc(strlen(base) + strlen(path) + 2);
    if (!url) return NULL;

    size_t scheme = (size_t)(parts.userinfo - base), host = (size_t)(parts.path - parts.host);
    memcpy(url, base, scheme);
    memcpy(url + scheme, parts.host, host);
    char *out = copy_path(url + scheme + host, parts.path, parts.end);
    while (out > url + scheme + host && out[-1] == '/') out--;
    *out++ = '/';
    strcpy(out, path + strspn(path, "/"));
    return url;
}

char *rpp_url_without_userinfo(const char *url)
{
    url_parts parts = take_apart(url);
    char *bare = rpp_strdup(url);
    if (!bare) return NULL;
    memmove(bare + (parts.userinfo - url), bare + (parts.host - url), strlen(parts.host) + 1);
    return bare;
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static char *percent_decoded(const char *text, size_t length)
{
    char *decoded = rpp_strndup(text, length), *out = decoded;
    if (!decoded) return NULL;
    for (size_t i = 0; i < length; i++) {
        int high = i + 2 < length && text[i] == '%' ? hex_value(text[i + 1]) : -1;
        int low = high >= 0 ? hex_value(text[i + 2]) : -1;
        bool escaped = low >= 0 && (high || low);
        *out++ = escaped ? (char)(high << 4 | low) : text[i];
        if (escaped) i += 2;
    }
    *out = '\0';
    return decoded;
}

rpp_status rpp_url_userinfo(const char *url, char **user, char **password)
{
    url_parts parts = take_apart(url);
    if (parts.userinfo == parts.host) {
        *user = *password = NULL;
        return RPP_OK;
    }
    const char *end = parts.host - 1;
    const char *colon = memchr(parts.userinfo, ':', (size_t)(end - parts.userinfo));
    const char *user_end = colon ? colon : end, *password_start = colon ? colon + 1 : end;
    char *user_copy = percent_decoded(parts.userinfo, (size_t)(user_end - parts.userinfo));
    char *password_copy = percent_decoded(password_start, (size_t)(end - password_start));
    if (!user_copy || !password_copy) {
        rpp_free(user_copy);
        rpp_free(password_copy);
        return RPP_NO_MEMORY;
    }
    *user = user_copy;
    *password = password_copy;
    return RPP_OK;
}

void rpp_url_host(const char *url, char *text, size_t size)
{
    url_parts parts = take_apart(url);
    snprintf(text, size, "%.*s", (int)(parts.path - parts.host), parts.host);
}

rpp_status rpp_url_escape(rpp_byte_sink *sink, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    static const char digits[] = "0123456789ABCDEF";
    while (*text) {
        size_t run = strspn(text, plain);
        rpp_status status = rpp_byte_sink_write(sink, text, run);
        if (status != RPP_OK) return status;
        text += run;
        if (!*text) break;
        unsigned char byte = (unsigned char)*text++;
        char escaped[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        status = rpp_byte_sink_write(sink, escaped, sizeof escaped);
        if (status != RPP_OK) return status;
    }
    return RPP_OK;
}
