/* upload_result.c - fills an upload result from the server's answer: status, Retry-After, and its message as one line.
 * */
#include "backends/upload_result.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json_text.h"
#include "base/utf8.h"

#define SERVER_MESSAGE_MAX 300u

/* Makes the text one trimmed line, cut at a character boundary. */
static void tidy(char *text, size_t max)
{
    for (char *at = text; *at; at++) {
        if (*at == '\n' || *at == '\r' || *at == '\t') *at = ' ';
    }
    size_t length = strlen(text), lead = strspn(text, " ");
    memmove(text, text + lead, length - lead + 1);
    length -= lead;
    rpp_utf8_one_line(text, length);
    length = rpp_utf8_prefix(text, length, max);
    while (length && text[length - 1] == ' ') length--;
    text[length] = '\0';
}

static bool is_page(const rpp_http_response *response)
{
    return strncasecmp(response->content_type, "text/html", 9) == 0;
}

/* Connect and gRPC gateways answer {"code","message"}. A page of HTML is of no use in a log. */
static bool server_message(const rpp_http_response *response, char message[4 * SERVER_MESSAGE_MAX])
{
    const size_t size = 4 * SERVER_MESSAGE_MAX;
    if (!response->body || is_page(response)) return false;
    if (!rpp_json_read_string(response->body, "message", message, size)) {
        snprintf(message, size, "%s", response->body);
    }
    tidy(message, SERVER_MESSAGE_MAX);
    return *message != '\0';
}

/* Connect's codes that tell more than the status. A failure may concern only a part of the way: if the server ran out
 * of time, the profile may be stored. */
static const struct {
    const char *name;
    rpp_answer_meaning meaning;
    bool permanent;
} codes[] = {
    {"unavailable", RPP_MEANS_NOT_NOW, false},
    {"resource_exhausted", RPP_MEANS_NOT_NOW, false},
    {"internal", RPP_MEANS_NOT_NOW, false},
    {"aborted", RPP_MEANS_NOT_NOW, false},
    {"deadline_exceeded", RPP_MEANS_UNKNOWN, false},
    {"canceled", RPP_MEANS_UNKNOWN, false},
    {"unauthenticated", RPP_MEANS_REFUSED, false},
    {"permission_denied", RPP_MEANS_REFUSED, false},
    {"invalid_argument", RPP_MEANS_ITS_STATUS, true},
    {"out_of_range", RPP_MEANS_ITS_STATUS, true},
    {"failed_precondition", RPP_MEANS_ITS_STATUS, true},
    {"unimplemented", RPP_MEANS_ITS_STATUS, true},
};

#define CODES (sizeof codes / sizeof *codes)

static bool is_word_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

/* The position of "code:" in the text; NULL: none. */
static const char *find_code(const char *text, const char *code)
{
    size_t length = strlen(code);
    for (const char *at = text; (at = strstr(at, code)); at += length) {
        if (at[length] == ':' && (at == text || !is_word_byte(at[-1]))) return at;
    }
    return NULL;
}

/* The first code in the text says what failed; later codes are its causes. CODES: none. */
static size_t first_code(const char *text)
{
    size_t found = CODES;
    const char *first = NULL;
    for (size_t i = 0; i < CODES; i++) {
        const char *at = find_code(text, codes[i].name);
        if (!at || (first && at > first)) continue;
        first = at;
        found = i;
    }
    return found;
}

static size_t code_of(const char *body)
{
    char code[32];
    if (!rpp_json_read_string(body, "code", code, sizeof code)) return first_code(body);
    for (size_t i = 0; i < CODES; i++) {
        if (strcmp(codes[i].name, code) == 0) return i;
    }
    return CODES; /* "unknown" among them */
}

/* Alloy forwards to several targets and names those that failed: if it is not the first, other targets may have the
 * profile. */
static bool names_a_later_target(const char *body)
{
    const char *at = strstr(body, "to appendable ");
    return at && !strstr(body, "to appendable 0") && at[14] >= '1' && at[14] <= '9';
}

static void read_code(rpp_attempt *attempt, const char *body)
{
    size_t code = code_of(body);
    if (names_a_later_target(body) || (code == CODES && strstr(body, "deadline exceeded"))) {
        attempt->meaning = RPP_MEANS_UNKNOWN;
    } else if (code < CODES) {
        attempt->meaning = codes[code].meaning;
        attempt->permanent = codes[code].permanent;
    }
}

/* A 429 for a too large request never changes. */
static bool speaks_of_size(const char *message)
{
    return strcasestr(message, "message size") || strcasestr(message, "message larger than");
}

static bool is_success(rpp_upload_result *result, const rpp_http_response *response, rpp_dialect dialect)
{
    int status = response->attempt.http_status;
    if (status < 200 || status > 299) return false;
    if (!dialect.speaks_no_html || !is_page(response)) return true;
    result->attempt.meaning = RPP_MEANS_REFUSED;
    snprintf(result->message, sizeof result->message,
             "HTTP %d with a page of HTML, which the server does not send (a login or maintenance page before it?)",
             status);
    return false;
}

void rpp_upload_result_from_response(rpp_upload_result *result, const rpp_http_response *response, rpp_dialect dialect)
{
    *result = (rpp_upload_result){.attempt = response->attempt, .timed_out = response->timed_out};
    if (response->attempt.end != RPP_END_ANSWERED) {
        result->failure = response->failure;
        snprintf(result->message, sizeof result->message, "%s", response->error);
        return;
    }
    if (is_success(result, response, dialect) || result->attempt.meaning == RPP_MEANS_REFUSED) return;

    char message[4 * SERVER_MESSAGE_MAX];
    int status = response->attempt.http_status;
    bool told = server_message(response, message);
    if (told && status == 429 && speaks_of_size(message)) result->attempt.permanent = true;
    bool reads = (status == 422 && dialect.says_422_for_all) || (status == 500 && dialect.says_500_for_many);
    if (told && reads) read_code(&result->attempt, response->body);
    result->failure = told ? rpp_failure_of_answer(message) : RPP_FAILURE_UNEXPLAINED;
    snprintf(result->message, sizeof result->message, told ? "HTTP %d: %.*s" : "HTTP %d", status,
             (int)SERVER_MESSAGE_MAX, message);
}

void rpp_upload_result_add_hint(rpp_upload_result *result, const char *hint)
{
    size_t length = strlen(result->message), room = sizeof result->message - length;
    if (!hint || strlen(hint) + sizeof " ()" > room) return;
    snprintf(result->message + length, room, " (%s)", hint);
}
