/* test_retry_verdict.c - every end and every status has its verdict; waits grow, jitter and end; Retry-After in all its
 * forms. */
#include "base/clock.h"
#include "http/retry_verdict.h"
#include "test.h"

static const rpp_retry_policy policy = {.first_ns = RPP_NS_PER_S, .max_ns = 60 * RPP_NS_PER_S};
static const rpp_retry_policy resending = {
    .first_ns = RPP_NS_PER_S, .max_ns = 60 * RPP_NS_PER_S, .resend_unconfirmed = true};

/* So many tries, each ended the same way. */
static rpp_tries all(uint32_t count)
{
    return (rpp_tries){.begun = count, .server_errors = count};
}

static rpp_verdict decide(const rpp_retry_policy *with, rpp_attempt attempt, uint32_t attempts)
{
    uint64_t random = 42, due_ns = 7;
    rpp_verdict verdict = rpp_retry_decide(with, &attempt, all(attempts), 1000, &random, &due_ns);
    if (verdict != RPP_VERDICT_RETRY) CHECK_INT(due_ns, 7);
    return verdict;
}

static rpp_attempt answered(int status)
{
    return (rpp_attempt){.end = RPP_END_ANSWERED, .http_status = status, .sent_whole = true};
}

static rpp_verdict expected_of(int status)
{
    if (status >= 200 && status < 300) return RPP_VERDICT_DELIVERED;
    switch (status) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 507:
    case 521:
    case 522:
    case 523:
    case 525:
    case 526:
    case 529:
    case 530: return RPP_VERDICT_RETRY;
    case 504:
    case 520:
    case 524:
    case 598: return RPP_VERDICT_UNCONFIRMED;
    default: return RPP_VERDICT_REJECTED;
    }
}

TEST(the_policy_of_a_session_gives_up_one_payload_and_lets_a_spool_keep_what_an_outage_would_lose)
{
    rpp_retry_policy without = rpp_retry_session_policy(false, false), with = rpp_retry_session_policy(true, true);
    CHECK_INT(without.max_alone, 10);
    CHECK_INT(with.max_alone, 10);
    CHECK(!without.keeps_server_errors && with.keeps_server_errors);
    CHECK_INT(without.refusals_ns, 300 * RPP_NS_PER_S);
    CHECK_INT(with.refusals_ns, UINT64_MAX);
    CHECK(!without.resend_unconfirmed && with.resend_unconfirmed);
    CHECK_INT(without.max_ns, 60 * RPP_NS_PER_S);
}

TEST(every_status_has_its_verdict)
{
    for (int status = 100; status <= 599; status++) {
        if (decide(&policy, answered(status), 1) != expected_of(status)) FAIL("status %d", status);
    }
}

TEST(resending_changes_nothing_but_the_unknown_outcomes)
{
    for (int status = 100; status <= 599; status++) {
        rpp_verdict unless_unknown = expected_of(status);
        rpp_verdict expected = unless_unknown == RPP_VERDICT_UNCONFIRMED ? RPP_VERDICT_RETRY : unless_unknown;
        if (decide(&resending, answered(status), 1) != expected) FAIL("status %d", status);
    }
    CHECK_INT(decide(&resending, (rpp_attempt){.end = RPP_END_NO_ANSWER, .sent_whole = true}, 1), RPP_VERDICT_RETRY);
}

TEST(a_500_is_retried_twice_at_most)
{
    CHECK_INT(decide(&policy, answered(500), 1), RPP_VERDICT_RETRY);
    CHECK_INT(decide(&policy, answered(500), 2), RPP_VERDICT_RETRY);
    CHECK_INT(decide(&policy, answered(500), 3), RPP_VERDICT_GIVEN_UP);
    CHECK_INT(decide(&policy, answered(503), 300), RPP_VERDICT_RETRY);
}

TEST(only_tries_that_met_a_500_count_against_it)
{
    uint64_t random = 42, early = 0, late = 0;
    rpp_attempt server_error = answered(500);
    CHECK_INT(rpp_retry_decide(&policy, &server_error, (rpp_tries){.begun = 1, .server_errors = 1}, 0, &random, &early),
              RPP_VERDICT_RETRY);
    CHECK_INT(rpp_retry_decide(&policy, &server_error, (rpp_tries){.begun = 90, .server_errors = 1}, 0, &random, &late),
              RPP_VERDICT_RETRY);
    CHECK(early <= 5 * RPP_NS_PER_S && late <= 5 * RPP_NS_PER_S);
    CHECK_INT(rpp_retry_decide(&policy, &server_error, (rpp_tries){.begun = 90, .server_errors = 2}, 0, &random, &late),
              RPP_VERDICT_RETRY);
    CHECK_INT(rpp_retry_decide(&policy, &server_error, (rpp_tries){.begun = 90, .server_errors = 3}, 0, &random, &late),
              RPP_VERDICT_GIVEN_UP);
}

static uint64_t wait_after(int status, uint32_t attempts)
{
    uint64_t random = 42, due_ns = 0;
    rpp_attempt attempt = answered(status);
    CHECK_INT(rpp_retry_decide(&policy, &attempt, all(attempts), 0, &random, &due_ns), RPP_VERDICT_RETRY);
    return due_ns;
}

TEST(the_tries_after_a_500_outlast_a_short_outage)
{
    CHECK(wait_after(503, 1) <= 1250 * RPP_NS_PER_MS);
    CHECK(wait_after(500, 1) >= 3 * RPP_NS_PER_S);
    CHECK(wait_after(500, 1) + wait_after(500, 2) >= 15 * RPP_NS_PER_S);
    CHECK(wait_after(500, 1) + wait_after(500, 2) <= 25 * RPP_NS_PER_S);
}

TEST(ends_without_a_status)
{
    CHECK_INT(decide(&policy, (rpp_attempt){.end = RPP_END_NOT_SENT}, 9), RPP_VERDICT_RETRY);
    CHECK_INT(decide(&policy, (rpp_attempt){.end = RPP_END_IO_ERROR}, 9), RPP_VERDICT_RETRY);
    CHECK_INT(decide(&policy, (rpp_attempt){.end = RPP_END_NO_ANSWER}, 1), RPP_VERDICT_UNCONFIRMED);
    CHECK_INT(decide(&policy, (rpp_attempt){.end = RPP_END_STORED}, 1), RPP_VERDICT_DELIVERED);
    CHECK_INT(decide(&policy, (rpp_attempt){.end = RPP_END_ABORTED}, 1), RPP_VERDICT_ABORTED);
    CHECK_INT(decide(&policy, (rpp_attempt){.end = RPP_END_ABORTED, .sent_whole = true}, 1), RPP_VERDICT_UNCONFIRMED);
}

TEST(a_closed_connection_is_no_lost_answer)
{
    const rpp_attempt closed = {.end = RPP_END_NO_ANSWER, .sent_whole = true, .closed = true};
    for (uint32_t times = 1; times <= 3; times++) {
        uint64_t random = 42, due_ns = 0;
        rpp_verdict verdict =
            rpp_retry_decide(&policy, &closed, (rpp_tries){.begun = 9, .closed = times}, 1000, &random, &due_ns);
        CHECK_INT(verdict, times <= 2 ? RPP_VERDICT_RETRY : RPP_VERDICT_UNCONFIRMED);
    }
}

TEST(permanent_means_never_again_but_never_lies_about_what_may_be_stored)
{
    rpp_attempt too_large = answered(429);
    too_large.permanent = true;
    CHECK_INT(decide(&policy, too_large, 1), RPP_VERDICT_REJECTED);
    CHECK_INT(decide(&policy, (rpp_attempt){.end = RPP_END_NOT_SENT, .permanent = true}, 1), RPP_VERDICT_REJECTED);
    rpp_attempt unknown = {.end = RPP_END_NO_ANSWER, .permanent = true};
    CHECK_INT(decide(&resending, unknown, 1), RPP_VERDICT_UNCONFIRMED);
    rpp_attempt fine = answered(200);
    fine.permanent = true;
    CHECK_INT(decide(&policy, fine, 1), RPP_VERDICT_DELIVERED);
}

TEST(tries_are_limited_on_wish)
{
    rpp_retry_policy limited = resending;
    limited.max_tries = 3;
    CHECK_INT(decide(&limited, answered(503), 2), RPP_VERDICT_RETRY);
    CHECK_INT(decide(&limited, answered(503), 3), RPP_VERDICT_GIVEN_UP);
    CHECK_INT(decide(&limited, (rpp_attempt){.end = RPP_END_NO_ANSWER}, 3), RPP_VERDICT_UNCONFIRMED);
    CHECK_INT(decide(&limited, answered(504), 3), RPP_VERDICT_UNCONFIRMED);
}

TEST(a_payload_fails_alone_so_many_times_only)
{
    rpp_retry_policy limited = policy;
    limited.max_alone = 3;
    uint64_t random = 1, due_ns;
    rpp_attempt busy = answered(429), refused = answered(403);
    CHECK_INT(rpp_retry_decide(&limited, &busy, (rpp_tries){.begun = 90, .alone = 2}, 0, &random, &due_ns),
              RPP_VERDICT_RETRY);
    CHECK_INT(rpp_retry_decide(&limited, &busy, (rpp_tries){.begun = 4, .alone = 3}, 0, &random, &due_ns),
              RPP_VERDICT_GIVEN_UP);
    limited.refusals_ns = UINT64_MAX;
    CHECK_INT(rpp_retry_decide(&limited, &refused, (rpp_tries){.begun = 4, .alone = 3}, 0, &random, &due_ns),
              RPP_VERDICT_REJECTED);
}

TEST(refusals_are_waited_for_on_wish)
{
    rpp_retry_policy patient = policy;
    patient.refusals_ns = 1;
    for (int status = 400; status <= 499; status++) {
        bool is_refusal = status == 401 || status == 403 || status == 404;
        rpp_verdict expected = is_refusal ? RPP_VERDICT_RETRY : expected_of(status);
        if (decide(&patient, answered(status), 1) != expected) FAIL("status %d", status);
    }
    rpp_attempt page = answered(200);
    page.meaning = RPP_MEANS_REFUSED;
    CHECK_INT(decide(&patient, page, 1), RPP_VERDICT_RETRY);
    CHECK_INT(decide(&policy, page, 1), RPP_VERDICT_REJECTED);
}

TEST(what_an_answer_says_goes_before_its_status)
{
    rpp_attempt said = answered(500);
    said.meaning = RPP_MEANS_NOT_NOW;
    CHECK_INT(decide(&policy, said, 90), RPP_VERDICT_RETRY);
    said.meaning = RPP_MEANS_UNKNOWN;
    CHECK_INT(decide(&policy, said, 1), RPP_VERDICT_UNCONFIRMED);
    CHECK_INT(decide(&resending, said, 1), RPP_VERDICT_RETRY);
    said = answered(422);
    said.meaning = RPP_MEANS_NOT_NOW;
    CHECK_INT(decide(&policy, said, 90), RPP_VERDICT_RETRY);
}

TEST(where_there_is_room_a_500_is_given_up_only_when_others_are_delivered)
{
    rpp_retry_policy roomy = policy;
    roomy.keeps_server_errors = true;
    uint64_t random = 1, due_ns;
    rpp_attempt failed = answered(500);
    rpp_tries tries = {.begun = 200, .server_errors = 200, .alone = 1};
    CHECK_INT(rpp_retry_decide(&roomy, &failed, tries, 0, &random, &due_ns), RPP_VERDICT_RETRY);
    CHECK(due_ns <= 75 * RPP_NS_PER_S);
    tries.alone = 2;
    CHECK_INT(rpp_retry_decide(&roomy, &failed, tries, 0, &random, &due_ns), RPP_VERDICT_GIVEN_UP);
}

TEST(waits_double_up_to_the_most_with_jitter_on_both_sides)
{
    rpp_attempt refused = {.end = RPP_END_NOT_SENT};
    uint64_t random = 1;
    for (uint32_t attempts = 1; attempts <= 40; attempts++) {
        uint64_t middle = attempts <= 6 ? RPP_NS_PER_S << (attempts - 1) : policy.max_ns;
        bool below = false, above = false;
        for (int i = 0; i < 200; i++) {
            uint64_t due_ns = 0;
            CHECK_INT(rpp_retry_decide(&policy, &refused, all(attempts), 5, &random, &due_ns), RPP_VERDICT_RETRY);
            uint64_t wait = due_ns - 5;
            CHECK(wait >= middle - middle / 4 && wait <= middle + middle / 4);
            below |= wait < middle - middle / 8;
            above |= wait > middle + middle / 8;
        }
        CHECK(below && above);
    }
}

TEST(extreme_policies_do_not_overflow)
{
    rpp_retry_policy endless = {.first_ns = UINT64_MAX, .max_ns = UINT64_MAX}, none = {0};
    rpp_attempt refused = {.end = RPP_END_NOT_SENT};
    uint64_t random = 1, due_ns = 0;
    CHECK_INT(rpp_retry_decide(&endless, &refused, all(UINT32_MAX), UINT64_MAX - 1, &random, &due_ns),
              RPP_VERDICT_RETRY);
    CHECK(due_ns == UINT64_MAX);
    CHECK_INT(rpp_retry_decide(&none, &refused, all(UINT32_MAX), 17, &random, &due_ns), RPP_VERDICT_RETRY);
    CHECK_INT(due_ns, 17);
}

TEST(retry_after_is_a_floor)
{
    rpp_attempt busy = answered(429);
    uint64_t random = 1, due_ns = 0;
    busy.retry_after_ns = 30 * RPP_NS_PER_S;
    CHECK_INT(rpp_retry_decide(&policy, &busy, all(1), 10, &random, &due_ns), RPP_VERDICT_RETRY);
    CHECK_INT(due_ns, 10 + 30 * RPP_NS_PER_S);
    busy.retry_after_ns = 1;
    CHECK_INT(rpp_retry_decide(&policy, &busy, all(1), 10, &random, &due_ns), RPP_VERDICT_RETRY);
    CHECK(due_ns >= RPP_NS_PER_S / 2);
}

#define BIRTH 784111777u /* Sun, 06 Nov 1994 08:49:37 GMT */

TEST(retry_after_in_seconds_and_as_dates)
{
    static const struct {
        const char *value;
        uint64_t seconds;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {" 120 ", 120},
        {"\t7", 7},
        {"0012", 12},
        {"3600", 3600},
        {"3601", 3600},
        {"99999999999999999999999999999999", 3600},
        {"", 0},
        {" ", 0},
        {"-1", 0},
        {"+1", 0},
        {"1.5", 0},
        {"1e3", 0},
        {"0x10", 0},
        {"soon", 0},
        {"12 s", 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 60},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 60},
        {"Sun Nov  6 08:49:37 1994", 60},
        {"Sun, 06 Nov 1994 08:48:36 GMT", 0},
        {"Sun, 06 Nov 1994 08:48:38 GMT", 1},
        {"Mon, 07 Nov 1994 08:49:37 GMT", 3600},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 3600},
        {"Sun, 22 Jul 2554 00:00:00 GMT", 3600}, /* just past what 64 bits of nanoseconds hold */
        {"Sun, 06 Nov 1994 08:49:37", 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT+1", 0},
        {"Sun, 06 Foo 1994 08:49:37 GMT", 0},
        {"Sun, 06 anF 1994 08:49:37 GMT", 0},
        {"Sun, 32 Nov 1994 08:49:37 GMT", 0},
        {"Sun, 06 Nov 1994 24:49:37 GMT", 0},
        {"Sun, 06 Nov 1994 08:-9:37 GMT", 0},
        {"Thu, 01 Jan 0000 00:00:00 GMT", 0},
    };
    uint64_t now = (BIRTH - 60) * RPP_NS_PER_S;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t wait = rpp_retry_after_ns(cases[i].value, now);
        if (wait != cases[i].seconds * RPP_NS_PER_S) FAIL("\"%s\": %" PRIu64, cases[i].value, wait);
    }
    CHECK_INT(rpp_retry_after_ns(NULL, now), 0);
}

TEST(retry_after_dates_agree_with_the_calendar)
{
    static const struct {
        const char *date;
        uint64_t at;
    } cases[] = {{"Tue, 29 Feb 2000 12:00:00 GMT", 951825600},
                 {"Wed, 01 Mar 2000 00:00:00 GMT", 951868800},
                 {"Sat, 31 Dec 2033 23:59:59 GMT", 2019686399},
                 {"Thu, 01 Jan 1970 00:01:00 GMT", 60}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t before = (cases[i].at - 5) * RPP_NS_PER_S;
        if (rpp_retry_after_ns(cases[i].date, before) != 5 * RPP_NS_PER_S) FAIL("%s", cases[i].date);
    }
}
