/* http_headers.c - builds the header lines of a request, ours and the settings', and refuses lines that contain another
 * one. */
#include "http/http_headers.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

typedef struct header_list {
    struct curl_slist *lines;
    char *why;
    size_t why_size;
} header_list;

static rpp_status refuse(header_list *list, const char *line, size_t name_length, const char *reason)
{
    char name[64];
    size_t length = rpp_utf8_copy(name, sizeof name - 1, line, name_length);
    rpp_utf8_one_line(name, length);
    name[length] = '\0';
    snprintf(list->why, list->why_size, "the header \"%s\" %s", name, reason);
    return RPP_INVALID;
}

/* Builds a whole line. For libcurl, "Name:" means "leave it out" and "Name;" means "send it empty". */
static rpp_status add_line(header_list *list, const char *line)
{
    size_t name_length = strcspn(line, ":;"), length = strlen(line);
    if (length > RPP_HTTP_HEADER_LINE_MAX) return refuse(list, line, name_length, "is too long");
    for (const unsigned char *at = (const unsigned char *)line; *at; at++) {
        if ((*at < ' ' && *at != '\t') || *at == 0x7f) {
            return refuse(list, line, name_length, "holds a line break or another control character");
        }
    }
    if (!name_length || !line[name_length] || strcspn(line, " \t") < name_length) {
        return refuse(list, line, name_length, "has no proper name");
    }
    struct curl_slist *longer = curl_slist_append(list->lines, line);
    if (!longer) return RPP_NO_MEMORY;
    list->lines = longer;
    return RPP_OK;
}

static rpp_status add(header_list *list, const char *name, const char *value)
{
    char line[RPP_HTTP_HEADER_LINE_MAX + 1];
    int length = snprintf(line, sizeof line, *value ? "%s: %s" : "%s;", name, value);
    if (length < 0 || (size_t)length >= sizeof line) return refuse(list, name, strlen(name), "is too long");
    if (strpbrk(name, ":;")) return refuse(list, name, strlen(name), "has no proper name");
    return add_line(list, line);
}

/* Settings must not change the framing and the content of a request. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {"Content-Type", "Content-Length",  "Transfer-Encoding", "Content-Encoding",
                                       "Expect",       "Accept-Encoding", "Connection"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strcasecmp(name, ours[i]) == 0) return true;
    }
    return false;
}

static bool is_given(const rpp_pairs *headers, const char *name)
{
    for (size_t i = 0; i < headers->count; i++) {
        if (strcasecmp(headers->items[i].key, name) == 0) return true;
    }
    return false;
}

static rpp_status add_settings(header_list *list, const rpp_settings *settings)
{
    const rpp_pairs *given = &settings->http_headers;
    rpp_status status = RPP_OK;
    for (size_t i = 0; i < given->count && status == RPP_OK; i++) {
        const rpp_pair *header = &given->items[i];
        if (!is_ours(header->key)) status = add(list, header->key, header->value ? header->value : "");
    }
    if (status == RPP_OK && settings->tenant_id && *settings->tenant_id && !is_given(given, "X-Scope-OrgID")) {
        status = add(list, "X-Scope-OrgID", settings->tenant_id);
    }
    if (status == RPP_OK && settings->auth_token && *settings->auth_token && !is_given(given, "Authorization")) {
        char value[RPP_HTTP_HEADER_LINE_MAX];
        int length = snprintf(value, sizeof value, "Bearer %s", settings->auth_token);
        if (length < 0 || (size_t)length >= sizeof value) {
            status = refuse(list, "Authorization", strlen("Authorization"), "is too long");
        } else {
            status = add(list, "Authorization", value);
        }
    }
    return status;
}

rpp_status rpp_http_headers_make(const rpp_settings *settings, const rpp_http_request *request, bool expects,
                                 struct curl_slist **lines, char *why, size_t why_size)
{
    header_list list = {.why = why, .why_size = why_size};
    rpp_status status = add_line(&list, expects ? "Expect: 100-continue" : "Expect:");
    if (status == RPP_OK) status = add_line(&list, "Accept-Encoding:");
    if (status == RPP_OK) {
        status = request->content_type ? add(&list, "Content-Type", request->content_type)
                                       : add_line(&list, "Content-Type:");
    }
    for (size_t i = 0; i < RPP_HTTP_HEADERS_MAX && request->headers[i] && status == RPP_OK; i++) {
        status = add_line(&list, request->headers[i]);
    }
    if (status == RPP_OK) status = add_settings(&list, settings);
    if (status != RPP_OK) {
        curl_slist_free_all(list.lines);
        return status;
    }
    *lines = list.lines;
    return RPP_OK;
}
