/* pairs.c - lists of names and values, and parsing them from text. */
#include "settings/pairs.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

void rpp_pairs_destroy(rpp_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        rpp_free(pairs->items[i].key);
        rpp_free(pairs->items[i].value);
    }
    rpp_free(pairs->items);
    *pairs = (rpp_pairs){0};
}

static rpp_pair *find(const rpp_pairs *pairs, const char *key, size_t length)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const char *known = pairs->items[i].key;
        if (strlen(known) == length && memcmp(known, key, length) == 0) return &pairs->items[i];
    }
    return NULL;
}

const char *rpp_pairs_get(const rpp_pairs *pairs, const char *key)
{
    const rpp_pair *pair = find(pairs, key, strlen(key));
    return pair ? pair->value : NULL;
}

rpp_status rpp_pairs_put(rpp_pairs *pairs, const char *key, size_t key_length, const char *value, size_t value_length)
{
    char *value_copy = NULL, *key_copy = NULL;
    if (value) {
        value_copy = rpp_strndup(value, value_length);
        if (!value_copy) goto done;
    }
    rpp_pair *known = find(pairs, key, key_length);
    if (known) {
        rpp_free(known->value);
        known->value = value_copy;
        return RPP_OK;
    }
    key_copy = rpp_strndup(key, key_length);
    if (!key_copy) goto done;
    if (rpp_grow((void **)&pairs->items, &pairs->capacity, pairs->count + 1, sizeof *pairs->items) != RPP_OK) goto done;
    pairs->items[pairs->count++] = (rpp_pair){key_copy, value_copy};
    return RPP_OK;

done:
    rpp_free(key_copy);
    rpp_free(value_copy);
    return RPP_NO_MEMORY;
}

/* --- text --- */

typedef struct span {
    const char *start;
    size_t length;
} span;

static span trimmed(const char *start, const char *end)
{
    while (start < end && (*start == ' ' || *start == '\t')) start++;
    while (end > start && (end[-1] == ' ' || end[-1] == '\t')) end--;
    return (span){start, (size_t)(end - start)};
}

static rpp_status put_item(rpp_pairs *pairs, const char *start, const char *end, bool with_values)
{
    span item = trimmed(start, end);
    if (!item.length) return RPP_OK;
    if (!with_values) return rpp_pairs_put(pairs, item.start, item.length, NULL, 0);
    const char *equals = memchr(item.start, '=', item.length);
    if (!equals) return RPP_INVALID;
    span key = trimmed(item.start, equals), value = trimmed(equals + 1, item.start + item.length);
    if (!key.length) return RPP_INVALID;
    return rpp_pairs_put(pairs, key.start, key.length, value.start, value.length);
}

static rpp_status parse_items(rpp_pairs *pairs, const char *text, bool with_values)
{
    for (;;) {
        const char *end = text + strcspn(text, ",");
        rpp_status status = put_item(pairs, text, end, with_values);
        if (status != RPP_OK || !*end) return status;
        text = end + 1;
    }
}

rpp_status rpp_pairs_parse_list(rpp_pairs *pairs, const char *text)
{
    return parse_items(pairs, text, false);
}

/* --- JSON: one object, strings only --- */

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Converts four hex digits to a code unit; -1 if they are not hex digits. */
static int32_t hex_unit(const char *at)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        const char digits[] = "0123456789abcdef", *digit;
        char lower = at[i] >= 'A' && at[i] <= 'F' ? (char)(at[i] + 32) : at[i];
        if (!lower || !(digit = strchr(digits, lower))) return -1;
        unit = unit << 4 | (int32_t)(digit - digits);
    }
    return unit;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* The end of "\uXXXX", or of a surrogate pair; NULL for half a pair and for NUL, which a C string cannot contain. */
static const char *read_unicode(const char *at, char **out)
{
    int32_t unit = hex_unit(at);
    if (unit <= 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return NULL;
    uint32_t character = (uint32_t)unit;
    at += 4;
    if (unit >= 0xd800 && unit <= 0xdbff) {
        if (at[0] != '\\' || at[1] != 'u') return NULL;
        int32_t low = hex_unit(at + 2);
        if (low < 0xdc00 || low > 0xdfff) return NULL;
        character = 0x10000 + (((uint32_t)unit - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
        at += 6;
    }
    *out = put_utf8(*out, character);
    return at;
}

/* Decodes a string to *out and returns its end; NULL if it is not a string. The result is never longer than its
 * source. */
static const char *read_string(const char *at, char **out)
{
    if (*at++ != '"') return NULL;
    while (*at != '"') {
        if ((unsigned char)*at < 0x20) return NULL;
        if (*at != '\\') {
            *(*out)++ = *at++;
            continue;
        }
        const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t", *name;
        at++;
        if (*at == 'u') {
            at = read_unicode(at + 1, out);
            if (!at) return NULL;
        } else if (*at && (name = strchr(names, *at))) {
            *(*out)++ = meanings[name - names];
            at++;
        } else {
            return NULL;
        }
    }
    return at + 1;
}

/* `decoded` has as much room as the text has bytes. */
static rpp_status parse_object(rpp_pairs *pairs, const char *at, char *decoded)
{
    at = skip_space(at + 1);
    if (*at == '}') return *skip_space(at + 1) ? RPP_INVALID : RPP_OK;
    for (;;) {
        char *key_end = decoded;
        at = read_string(at, &key_end);
        if (!at) return RPP_INVALID;
        at = skip_space(at);
        if (*at++ != ':') return RPP_INVALID;

        char *value_end = key_end;
        at = read_string(skip_space(at), &value_end);
        if (!at || key_end == decoded) return RPP_INVALID;
        rpp_status status =
            rpp_pairs_put(pairs, decoded, (size_t)(key_end - decoded), key_end, (size_t)(value_end - key_end));
        if (status != RPP_OK) return status;

        at = skip_space(at);
        if (*at == '}') return *skip_space(at + 1) ? RPP_INVALID : RPP_OK;
        if (*at++ != ',') return RPP_INVALID;
        at = skip_space(at);
    }
}

rpp_status rpp_pairs_parse(rpp_pairs *pairs, const char *text)
{
    text = skip_space(text);
    if (*text != '{') return parse_items(pairs, text, true);
    char *decoded = rpp_malloc(strlen(text) + 1);
    if (!decoded) return RPP_NO_MEMORY;
    rpp_status status = parse_object(pairs, text, decoded);
    rpp_free(decoded);
    return status;
}
