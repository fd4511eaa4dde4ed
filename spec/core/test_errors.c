/* test_errors.c - errors are collected, one line each. */
#include "base/alloc.h"
#include "settings/settings.h"
#include "test.h"

TEST(errors_are_kept_in_order)
{
    rpp_errors errors = {0};
    CHECK_OK(rpp_errors_add(&errors, "%s is %d", "one", 1));
    CHECK_OK(rpp_errors_add(&errors, "two\nlines"));
    CHECK_INT(errors.count, 2);
    CHECK_STR(errors.lines[0], "one is 1");
    CHECK_STR(errors.lines[1], "two?lines");
    rpp_errors_destroy(&errors);
    CHECK_INT(errors.count, 0);
}

TEST(a_long_error_is_cut)
{
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rpp_errors errors = {0};
    CHECK_OK(rpp_errors_add(&errors, "%s", text));
    CHECK_INT(strlen(errors.lines[0]), 900);
    rpp_errors_destroy(&errors);
}

TEST(adding_survives_every_failing_allocation)
{
    rpp_errors errors = {0};
    for (size_t nth = 1; nth <= 2; nth++) {
        rpp_alloc_fail_at(nth);
        CHECK_INT(rpp_errors_add(&errors, "x"), RPP_NO_MEMORY);
        CHECK_INT(errors.count, 0);
    }
    CHECK_OK(rpp_errors_add(&errors, "x"));
    rpp_alloc_fail_at(0);
    rpp_errors_destroy(&errors);
}
