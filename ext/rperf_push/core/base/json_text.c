/* json_text.c - the JSON that delivery needs: it writes a quoted string and reads one member of an answer. */
#include "base/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rpp_status rpp_json_write_string(rpp_byte_sink *sink, const char *text)
{
    rpp_status status = rpp_byte_sink_write(sink, "\"", 1);
    while (*text && status == RPP_OK) {
        size_t run = 0;
        while ((unsigned char)text[run] >= 0x20 && text[run] != '"' && text[run] != '\\') run++;
        status = rpp_byte_sink_write(sink, text, run);
        text += run;
        if (!*text || status != RPP_OK) break;
        char escape[8];
        unsigned char byte = (unsigned char)*text++;
        int length = byte < 0x20 ? snprintf(escape, sizeof escape, "\\u%04x", (unsigned)byte)
                                 : snprintf(escape, sizeof escape, "\\%c", byte);
        status = rpp_byte_sink_write(sink, escape, (size_t)length);
    }
    return status == RPP_OK ? rpp_byte_sink_write(sink, "\"", 1) : status;
}

/* Reads one character of a string at *at and advances *at. */
static char read_character(const char **at)
{
    char c = *(*at)++;
    if (c != '\\' || !**at) return c;
    c = *(*at)++;
    switch (c) {
    case 'n':
    case 'r':
    case 't':
    case 'b':
    case 'f': return ' ';
    case 'u': {
        char digits[5] = "";
        size_t count = strspn(*at, "0123456789abcdefABCDEF");
        count = count < 4 ? count : 4;
        memcpy(digits, *at, count);
        *at += count;
        unsigned long code = strtoul(digits, NULL, 16);
        return code >= 0x20 && code < 0x7f ? (char)code : '?';
    }
    default: return c;
    }
}

/* Reads a string after its opening quote, cut to size. Returns the position after the closing quote. */
static const char *read_string(const char *at, char *out, size_t size)
{
    size_t length = 0;
    while (*at && *at != '"') {
        char c = read_character(&at);
        if (length + 1 < size) out[length++] = c;
    }
    out[length] = '\0';
    return *at ? at + 1 : at;
}

bool rpp_json_read_string(const char *json, const char *key, char *value, size_t size)
{
    static const char space[] = " \t\r\n";
    int depth = 0;
    for (const char *at = json + strspn(json, space); *at;) {
        if (*at == '{' || *at == '[') depth++;
        if (*at == '}' || *at == ']') depth--;
        if (depth <= 0) return false;
        if (*at++ != '"') continue;

        char name[32];
        at = read_string(at, name, sizeof name);
        const char *after = at + strspn(at, space);
        if (depth != 1 || *after != ':' || strcmp(name, key) != 0) continue;
        after += 1 + strspn(after + 1, space);
        if (*after != '"') return false;
        read_string(after + 1, value, size);
        return true;
    }
    return false;
}
