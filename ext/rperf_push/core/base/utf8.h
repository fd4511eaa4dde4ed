/* utf8.h - turns arbitrary bytes into valid UTF-8.
 *
 * Each invalid byte becomes '?'. The check is strict: overlong forms, surrogates and code points above U+10FFFF are
 * invalid.
 *
 * Threads    any thread; async-signal-safe.
 * Ownership  the caller keeps all buffers.
 */
#ifndef RPP_UTF8_H
#define RPP_UTF8_H

#include <stddef.h>

/* The length of the longest valid UTF-8 prefix of at most `max` bytes. It never splits a character. */
size_t rpp_utf8_prefix(const char *bytes, size_t length, size_t max);
/* Replaces each invalid byte by '?', in place. */
void rpp_utf8_repair(char *bytes, size_t length);
/* Copies and repairs the bytes, cut to `max` bytes at a character boundary. Returns the length; adds no NUL. */
size_t rpp_utf8_copy(char *out, size_t max, const char *bytes, size_t length);
/* Repairs the bytes in place and replaces control characters by '?', so that they fit on one line of a terminal. */
void rpp_utf8_one_line(char *bytes, size_t length);

#endif
