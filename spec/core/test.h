/* test.h - the smallest test runner that can fail.
 *
 * TEST(name) { ... } registers itself. `test_x` runs all, `test_x NAME` one, `test_x --list` lists them. A failed CHECK
 * says where and what, ends its test, and makes the program exit with 1.
 *
 * TEST_BY_NUMBERS(name) { ... } does the same thing many times, so that chance cannot hide an error. An instrument,
 * which makes it slow, would see nothing there that a TEST does not show it: `test_x --without-numbers` leaves it out.
 */
#ifndef RPP_TEST_H
#define RPP_TEST_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_case {
    const char *name;
    void (*run)(void);
    int by_numbers;
    struct test_case *next;
} test_case;

static test_case *test_first, **test_last = &test_first;
static jmp_buf test_failed;

#define TEST(test_name)            TEST_OF_KIND(test_name, 0)
#define TEST_BY_NUMBERS(test_name) TEST_OF_KIND(test_name, 1)

#define TEST_OF_KIND(test_name, by_numbers)                                                                            \
    static void test_name(void);                                                                                       \
    __attribute__((constructor)) static void register_##test_name(void)                                                \
    {                                                                                                                  \
        static test_case self = {#test_name, test_name, by_numbers, NULL};                                             \
        *test_last = &self;                                                                                            \
        test_last = &self.next;                                                                                        \
    }                                                                                                                  \
    static void test_name(void)

#define FAIL(...)                                                                                                      \
    do {                                                                                                               \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                                \
        fprintf(stderr, __VA_ARGS__);                                                                                  \
        fputc('\n', stderr);                                                                                           \
        longjmp(test_failed, 1);                                                                                       \
    } while (0)

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) FAIL("%s", #condition);                                                                      \
    } while (0)

#define CHECK_INT(actual, expected)                                                                                    \
    do {                                                                                                               \
        int64_t actual_ = (int64_t)(actual), expected_ = (int64_t)(expected);                                          \
        if (actual_ != expected_) FAIL("%s is %" PRId64 ", not %" PRId64, #actual, actual_, expected_);                \
    } while (0)

#define CHECK_STR(actual, expected)                                                                                    \
    do {                                                                                                               \
        const char *actual_ = (actual), *expected_ = (expected);                                                       \
        if (strcmp(actual_, expected_) != 0) FAIL("%s is \"%s\", not \"%s\"", #actual, actual_, expected_);            \
    } while (0)

#define CHECK_OK(call) CHECK_INT((call), RPP_OK)

static int passes(const test_case *test)
{
    if (setjmp(test_failed) == 0) {
        test->run();
        return 1;
    }
    fprintf(stderr, "FAILED %s\n", test->name);
    return 0;
}

int main(int argc, char **argv)
{
    int without_numbers = argc > 1 && strcmp(argv[1], "--without-numbers") == 0, failed = 0, ran = 0;
    const char *wanted = argc > 1 + without_numbers ? argv[1 + without_numbers] : NULL;
    for (test_case *test = test_first; test; test = test->next) {
        if (without_numbers && test->by_numbers) continue;
        if (wanted && strcmp(wanted, "--list") == 0) {
            puts(test->name);
            ran++;
            continue;
        }
        if (wanted && strcmp(wanted, test->name) != 0) continue;
        ran++;
        failed += !passes(test);
    }
    if (!ran) fprintf(stderr, "no test named %s\n", wanted ? wanted : "(none at all)");
    return failed || !ran ? 1 : 0;
}

#endif
