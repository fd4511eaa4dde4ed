/* control_request.c - parses the request of a peer: one line of text. */
#include "control/control_request.h"

#include <string.h>

static const char greeting[] = "rperf-push/1 ";

typedef struct text {
    const char *at, *end;
} text;

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_of_key(char c)
{
    return is_lower(c) || c == '_';
}

static bool is_of_value(char c)
{
    return c > ' ' && c < 0x7f;
}

/* Copies 1 to `max` characters of the set. */
static bool take_word(text *t, bool (*is_of_word)(char), size_t max, char *word)
{
    size_t length = 0;
    while (t->at + length < t->end && is_of_word(t->at[length])) length++;
    if (!length || length > max) return false;
    memcpy(word, t->at, length);
    word[length] = '\0';
    t->at += length;
    return true;
}

static bool take_character(text *t, char c)
{
    if (t->at == t->end || *t->at != c) return false;
    t->at++;
    return true;
}

static bool take_argument(text *t, rpp_control_request *request)
{
    if (request->count == RPP_CONTROL_ARGUMENTS_MAX) return false;
    rpp_control_argument *argument = &request->arguments[request->count++];
    return take_word(t, is_of_key, RPP_CONTROL_KEY_MAX, argument->key) && take_character(t, '=') &&
           take_word(t, is_of_value, RPP_CONTROL_VALUE_MAX, argument->value);
}

rpp_status rpp_control_request_parse(const char *line, size_t length, rpp_control_request *request)
{
    const size_t greeted = sizeof greeting - 1;
    rpp_control_request parsed = {.count = 0};
    if (length < greeted || memcmp(line, greeting, greeted) != 0) return RPP_INVALID;
    text rest = {line + greeted, line + length};
    if (!take_word(&rest, is_lower, RPP_CONTROL_VERB_MAX, parsed.verb)) return RPP_INVALID;
    while (take_character(&rest, ' ')) {
        if (!take_argument(&rest, &parsed)) return RPP_INVALID;
    }
    if (rest.at != rest.end) return RPP_INVALID;
    *request = parsed;
    return RPP_OK;
}

const char *rpp_control_request_get(const rpp_control_request *request, const char *key)
{
    for (size_t i = request->count; i-- > 0;) {
        if (strcmp(request->arguments[i].key, key) == 0) return request->arguments[i].value;
    }
    return NULL;
}

rpp_status rpp_control_request_number(const rpp_control_request *request, const char *key, uint64_t min, uint64_t max,
                                      uint64_t otherwise, uint64_t *number)
{
    const char *value = rpp_control_request_get(request, key);
    uint64_t read = 0;
    if (!value) {
        *number = otherwise;
        return RPP_OK;
    }
    if (strlen(value) > 18) return RPP_INVALID; /* 18 digits cannot overflow */
    for (const char *digit = value; *digit; digit++) {
        if (*digit < '0' || *digit > '9') return RPP_INVALID;
        read = read * 10 + (uint64_t)(*digit - '0');
    }
    if (read < min || read > max) return RPP_INVALID;
    *number = read;
    return RPP_OK;
}
