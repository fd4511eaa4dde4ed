/* test_utf8.c - valid text stays, everything else becomes '?'. */
#include "base/utf8.h"

#include "test.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define FACE     "\xf0\x9f\x98\x80"

static size_t prefix(const char *text, size_t max)
{
    return rpp_utf8_prefix(text, strlen(text), max);
}

TEST(a_prefix_never_splits_a_character)
{
    CHECK_INT(prefix("abc", 10), 3);
    CHECK_INT(prefix("abc", 2), 2);
    CHECK_INT(prefix("a" ELLIPSIS "b", 3), 1);
    CHECK_INT(prefix("a" ELLIPSIS "b", 4), 4);
    CHECK_INT(prefix(FACE, 3), 0);
    CHECK_INT(prefix(FACE, 4), 4);
    CHECK_INT(prefix("0123456789abcdef" FACE, 19), 16);
}

TEST(a_prefix_ends_at_what_is_not_utf8)
{
    static const char *const bad[] = {
        "\x80",             /* a middle without a start */
        "\xc0\x80",         /* overlong */
        "\xc1\xbf",         /* overlong */
        "\xe0\x9f\xbf",     /* overlong */
        "\xf0\x8f\xbf\xbf", /* overlong */
        "\xed\xa0\x80",     /* surrogate */
        "\xf4\x90\x80\x80", /* past the last character */
        "\xf5\x80\x80\x80",
        "\xff",
        "\xe2\x80",
        "\xe2\x28\xa1",
        "\xf0\x9f\x98",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[32];
        snprintf(text, sizeof text, "ok%s", bad[i]);
        CHECK_INT(prefix(text, 32), 2);
    }
    CHECK_INT(prefix("\xed\x9f\xbf", 9), 3);
    CHECK_INT(prefix("\xee\x80\x80", 9), 3);
    CHECK_INT(prefix("\xf4\x8f\xbf\xbf", 9), 4);
}

TEST(repair_replaces_each_bad_byte)
{
    char text[] = "a\xff" ELLIPSIS "\xe2\x80z\x80";
    rpp_utf8_repair(text, strlen(text));
    CHECK_STR(text, "a?" ELLIPSIS "??z?");
}

TEST(copy_repairs_and_cuts)
{
    char out[16] = "---------------";
    CHECK_INT(rpp_utf8_copy(out, 5, "ab\xff" ELLIPSIS "c", 7), 3);
    CHECK(memcmp(out, "ab?-", 4) == 0);
    CHECK_INT(rpp_utf8_copy(out, 6, "ab\xff" ELLIPSIS "c", 7), 6);
    CHECK(memcmp(out, "ab?" ELLIPSIS "-", 7) == 0);
    CHECK_INT(rpp_utf8_copy(out, 2, "\xe2\x80", 2), 2);
    CHECK(memcmp(out, "??", 2) == 0);
    CHECK_INT(rpp_utf8_copy(out, 0, "abc", 3), 0);
    CHECK_INT(rpp_utf8_copy(out, 9, NULL, 0), 0);
}

TEST(copy_agrees_with_repair_on_random_bytes)
{
    uint64_t state = 7;
    for (int round = 0; round < 20000; round++) {
        char source[24], repaired[24], copied[24];
        for (size_t i = 0; i < sizeof source; i++) {
            static const char some[] = "a\x80\xbf\xc2\xe0\xe2\xed\xf0\xf4\x9f";
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            source[i] = some[(state >> 40) % (sizeof some - 1)];
        }
        memcpy(repaired, source, sizeof source);
        rpp_utf8_repair(repaired, sizeof repaired);
        CHECK_INT(rpp_utf8_prefix(repaired, sizeof repaired, SIZE_MAX), sizeof repaired);
        CHECK_INT(rpp_utf8_copy(copied, sizeof copied, source, sizeof source), sizeof source);
        CHECK(memcmp(copied, repaired, sizeof copied) == 0);
        size_t max = (state >> 20) % sizeof source;
        CHECK_INT(rpp_utf8_copy(copied, max, source, sizeof source), rpp_utf8_prefix(repaired, sizeof repaired, max));
    }
}

TEST(one_line_holds_no_control_characters)
{
    char text[] = "a\nb\x1b[1m\x7f\xc2\x9b"
                  "c\xc2\xa0\xff";
    rpp_utf8_one_line(text, strlen(text));
    CHECK_STR(text, "a?b?[1m???c\xc2\xa0?");
}
