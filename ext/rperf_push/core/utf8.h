/* utf8.h - making bytes from anywhere into text that every reader takes.
 *
 * Bad bytes become '?', one each. What counts as valid is strict: no overlong forms, no surrogates, nothing past
 * U+10FFFF.
 *
 * Threads    any thread, async-signal-safe.
 */
#ifndef RPP_UTF8_H
#define RPP_UTF8_H

#include <stddef.h>

/* Length of the longest valid UTF-8 prefix of at most `max` bytes; never splits a character. */
size_t rpp_utf8_prefix(const char *bytes, size_t length, size_t max);
/* Replaces each byte that is not part of valid UTF-8 by '?', in place. */
void rpp_utf8_repair(char *bytes, size_t length);
/* Copies repaired bytes, cut to `max` bytes at a character. Returns the bytes written; adds no NUL. */
size_t rpp_utf8_copy(char *out, size_t max, const char *bytes, size_t length);
/* Repairs, and replaces each byte of a control character by '?', in place: fit for one line of a terminal. */
void rpp_utf8_one_line(char *bytes, size_t length);

#endif
