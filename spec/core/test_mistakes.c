/* test_mistakes.c - mistakes are collected, one line each. */
#include "base/alloc.h"
#include "settings/settings.h"
#include "test.h"

TEST(mistakes_are_kept_in_order)
{
    rpp_mistakes mistakes = {0};
    CHECK_OK(rpp_mistakes_add(&mistakes, "%s is %d", "one", 1));
    CHECK_OK(rpp_mistakes_add(&mistakes, "two\nlines"));
    CHECK_INT(mistakes.count, 2);
    CHECK_STR(mistakes.lines[0], "one is 1");
    CHECK_STR(mistakes.lines[1], "two?lines");
    rpp_mistakes_destroy(&mistakes);
    CHECK_INT(mistakes.count, 0);
}

TEST(a_long_mistake_is_cut)
{
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rpp_mistakes mistakes = {0};
    CHECK_OK(rpp_mistakes_add(&mistakes, "%s", text));
    CHECK_INT(strlen(mistakes.lines[0]), 900);
    rpp_mistakes_destroy(&mistakes);
}

TEST(adding_survives_every_failing_allocation)
{
    rpp_mistakes mistakes = {0};
    for (size_t nth = 1; nth <= 2; nth++) {
        rpp_alloc_fail_at(nth);
        CHECK_INT(rpp_mistakes_add(&mistakes, "x"), RPP_NO_MEMORY);
        CHECK_INT(mistakes.count, 0);
    }
    CHECK_OK(rpp_mistakes_add(&mistakes, "x"));
    rpp_alloc_fail_at(0);
    rpp_mistakes_destroy(&mistakes);
}
