/* test_outcome.c - what is known of a request, before and after its end. */
#include "requests/outcome.h"

#include "base/alloc.h"
#include "test.h"

/* "2xx true", and "-" for what is not known. */
static const char *known(const rpp_outcome *outcome)
{
    static char text[32];
    rpp_outcome_view view = rpp_outcome_now(outcome);
    snprintf(text, sizeof text, "%s %s", view.status ? view.status : "-", view.slow ? view.slow : "-");
    return text;
}

TEST(a_request_is_open_before_its_end)
{
    rpp_outcome *outcome = rpp_outcome_new(17);
    CHECK_INT(rpp_outcome_began_ns(outcome), 17);
    CHECK(!rpp_outcome_has_ended(outcome));
    CHECK_STR(known(outcome), "open -");
    rpp_outcome_release(outcome);
}

TEST(a_status_is_known_by_its_class)
{
    static const struct {
        unsigned status;
        rpp_slow slow;
        const char *text;
    } rows[] = {
        {100, RPP_SLOW_NO, "1xx false"}, {204, RPP_SLOW_YES, "2xx true"}, {302, RPP_SLOW_UNKNOWN, "3xx -"},
        {404, RPP_SLOW_NO, "4xx false"}, {599, RPP_SLOW_YES, "5xx true"}, {99, RPP_SLOW_NO, "- false"},
        {600, RPP_SLOW_YES, "- true"},   {0, RPP_SLOW_UNKNOWN, "- -"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rpp_outcome *outcome = rpp_outcome_new(0);
        rpp_outcome_end(outcome, rows[i].status, rows[i].slow);
        CHECK(rpp_outcome_has_ended(outcome));
        CHECK_STR(known(outcome), rows[i].text);
        rpp_outcome_release(outcome);
    }
}

TEST(the_last_reference_frees_it)
{
    rpp_outcome *outcome = rpp_outcome_new(0);
    CHECK(rpp_outcome_retain(outcome) == outcome);
    rpp_outcome_release(outcome);
    rpp_outcome_end(outcome, 200, RPP_SLOW_NO);
    CHECK_STR(known(outcome), "2xx false");
    rpp_outcome_release(outcome);
    CHECK(!rpp_outcome_retain(NULL));
    rpp_outcome_release(NULL);
}

TEST(without_memory_there_is_none)
{
    rpp_alloc_fail_at(1);
    CHECK(!rpp_outcome_new(0));
    rpp_alloc_fail_at(0);
}

TEST(it_is_over_for_other_threads_than_the_one_that_ends_it)
{
    rpp_outcome *outcome = rpp_outcome_new(0);
    rpp_outcome_ends_in(outcome, 1);
    CHECK(!rpp_outcome_is_over_for(outcome, 2)); /* not yet */
    rpp_outcome_end(outcome, 200, RPP_SLOW_NO);
    CHECK(rpp_outcome_is_over_for(outcome, 2));
    CHECK(!rpp_outcome_is_over_for(outcome, 1)); /* it has time to flush */
    rpp_outcome_ends_in(outcome, 0);
    CHECK(!rpp_outcome_is_over_for(outcome, 2)); /* nobody knows which one that is */
    rpp_outcome_release(outcome);
}
