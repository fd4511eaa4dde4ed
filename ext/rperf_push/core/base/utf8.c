/* utf8.c - turns arbitrary bytes into valid UTF-8. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* The length of the character at `p`; 0 if it is invalid. */
static size_t character_length(const unsigned char *p, size_t left)
{
    size_t length = p[0] < 0x80                    ? 1
                    : p[0] >= 0xc2 && p[0] <= 0xdf ? 2
                    : (p[0] & 0xf0) == 0xe0        ? 3
                    : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
                                                   : 0;
    if (length > left) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
    }
    if (p[0] == 0xe0 && p[1] < 0xa0) return 0; /* overlong */
    if (p[0] == 0xed && p[1] > 0x9f) return 0; /* surrogate */
    if (p[0] == 0xf0 && p[1] < 0x90) return 0; /* overlong */
    if (p[0] == 0xf4 && p[1] > 0x8f) return 0; /* past U+10FFFF */
    return length;
}

/* The number of ASCII bytes at the start, eight at a time: nearly all names are ASCII. */
static size_t ascii_run(const unsigned char *p, size_t length)
{
    size_t at = 0;
    for (uint64_t word; length - at >= sizeof word; at += sizeof word) {
        memcpy(&word, p + at, sizeof word);
        if (word & UINT64_C(0x8080808080808080)) break;
    }
    while (at < length && p[at] < 0x80) at++;
    return at;
}

size_t rpp_utf8_prefix(const char *bytes, size_t length, size_t max)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t at = 0, end = length < max ? length : max;
    for (;;) {
        at += ascii_run(p + at, end - at);
        if (at == end) return at;
        size_t step = character_length(p + at, end - at);
        if (!step) return at;
        at += step;
    }
}

void rpp_utf8_repair(char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        at += rpp_utf8_prefix(bytes + at, length - at, length - at);
        if (at < length) bytes[at++] = '?';
    }
}

size_t rpp_utf8_copy(char *out, size_t max, const char *bytes, size_t length)
{
    size_t at = 0;
    while (at < length && at < max) {
        size_t good = rpp_utf8_prefix(bytes + at, length - at, max - at);
        if (good) memcpy(out + at, bytes + at, good);
        at += good;
        if (at == length || at == max) break;
        /* A valid character that only `max` cuts is left out; any other byte here is invalid. */
        if (character_length((const unsigned char *)bytes + at, length - at)) break;
        out[at++] = '?';
    }
    return at;
}

void rpp_utf8_one_line(char *bytes, size_t length)
{
    rpp_utf8_repair(bytes, length);
    for (size_t at = 0; at < length; at++) {
        unsigned char byte = (unsigned char)bytes[at];
        if (byte < 0x20 || byte == 0x7f) {
            bytes[at] = '?';
        } else if (byte == 0xc2 && (unsigned char)bytes[at + 1] < 0xa0) { /* U+0080..U+009F also move cursors */
            bytes[at] = bytes[at + 1] = '?';
            at++;
        }
    }
}
