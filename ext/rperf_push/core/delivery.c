/* delivery.c - how a try ended, from what the server answered: status, Retry-After, and its message fit for one line. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "backend.h"
#include "json_text.h"
#include "utf8.h"

#define SERVER_MESSAGE_MAX 300u

/* Cut at a character, of one line, without spaces around it. */
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

/* Connect and gRPC gateways answer {"code","message"}; a page of HTML says nothing to a human in a log. */
static bool server_message(const rpp_http_response *response, char message[4 * SERVER_MESSAGE_MAX])
{
    const size_t size = 4 * SERVER_MESSAGE_MAX;
    if (!response->body || strncasecmp(response->content_type, "text/html", 9) == 0) return false;
    if (!rpp_json_read_string(response->body, "message", message, size)) {
        snprintf(message, size, "%s", response->body);
    }
    tidy(message, SERVER_MESSAGE_MAX);
    return *message != '\0';
}

/* A 429 for what is too large stays one for ever. */
static bool speaks_of_size(const char *message)
{
    return strcasestr(message, "message size") || strcasestr(message, "message larger than");
}

void rpp_delivery_from_response(rpp_delivery *delivery, const rpp_http_response *response)
{
    *delivery = (rpp_delivery){.attempt = response->attempt, .timed_out = response->timed_out};
    if (response->attempt.end != RPP_END_ANSWERED) {
        snprintf(delivery->message, sizeof delivery->message, "%s", response->error);
        return;
    }
    int status = response->attempt.http_status;
    if (status >= 200 && status <= 299) return;

    char message[4 * SERVER_MESSAGE_MAX];
    bool told = server_message(response, message);
    if (told && status == 429 && speaks_of_size(message)) delivery->attempt.permanent = true;
    snprintf(delivery->message, sizeof delivery->message, told ? "HTTP %d: %.*s" : "HTTP %d", status,
             (int)SERVER_MESSAGE_MAX, message);
}

void rpp_delivery_add_hint(rpp_delivery *delivery, const char *hint)
{
    size_t length = strlen(delivery->message), room = sizeof delivery->message - length;
    if (!hint || strlen(hint) + sizeof " ()" > room) return;
    snprintf(delivery->message + length, room, " (%s)", hint);
}
