/* fuzz_input.h - the fuzzer's bytes as numbers and texts, and the check that ends a run when something is wrong.
 *
 * Reading past the end gives zeros and empty texts, so that every input means something.
 */
#ifndef RPP_FUZZ_INPUT_H
#define RPP_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input;

static inline uint8_t fuzz_byte(fuzz_input *input)
{
    if (!input->left) return 0;
    input->left--;
    return *input->at++;
}

/* Small numbers mostly: one byte, or more when it is large. */
static inline uint64_t fuzz_number(fuzz_input *input)
{
    uint8_t first = fuzz_byte(input);
    if (first < 0xf0) return first;
    uint64_t number = 0;
    for (int i = 0; i <= (first & 7); i++) number = number << 8 | fuzz_byte(input);
    return number;
}

/* A copy of up to `max` bytes, with a NUL behind them that is not counted; free it. */
static inline char *fuzz_bytes(fuzz_input *input, size_t max, size_t *length)
{
    size_t wanted = (size_t)fuzz_number(input);
    if (wanted > max) wanted = max;
    if (wanted > input->left) wanted = input->left;
    char *copy = malloc(wanted + 1);
    if (!copy) abort();
    if (wanted) memcpy(copy, input->at, wanted);
    copy[wanted] = '\0';
    input->at += wanted;
    input->left -= wanted;
    *length = wanted;
    return copy;
}

/* The same as a C string: it ends at the first NUL. */
static inline char *fuzz_text(fuzz_input *input, size_t max)
{
    size_t length;
    return fuzz_bytes(input, max, &length);
}

/* Strict UTF-8, by another road than core/base/utf8.c: decode, and see whether the shortest form is what was there. */
static inline bool fuzz_is_utf8(const char *text, size_t length)
{
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t i = 0; i < length;) {
        size_t more = bytes[i] < 0x80       ? 0
                      : bytes[i] >> 5 == 6  ? 1
                      : bytes[i] >> 4 == 14 ? 2
                      : bytes[i] >> 3 == 30 ? 3
                                            : 9;
        if (more == 9 || more > length - i - 1) return false;
        uint32_t code = more ? bytes[i] & (0x3fu >> more) : bytes[i];
        for (size_t j = 1; j <= more; j++) {
            if (bytes[i + j] >> 6 != 2) return false;
            code = code << 6 | (bytes[i + j] & 0x3f);
        }
        size_t shortest = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        if (more != shortest || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
        i += more + 1;
    }
    return true;
}

/* Fit for a log: valid UTF-8 without control characters. */
static inline bool fuzz_is_one_line(const char *text)
{
    for (const char *at = text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) return false;
    }
    return fuzz_is_utf8(text, strlen(text));
}

#endif
