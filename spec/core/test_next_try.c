/* test_next_try.c - the backend carry_over, the payload waits behind the others, and neither waits for the other's
 * reason. */
#include "delivery/next_try.h"

#include "base/clock.h"
#include "test.h"

#define S RPP_NS_PER_S

static const rpp_retry_policy policy = {
    .first_ns = S, .max_ns = 60 * S, .max_alone = 10, .refusals_ns = 300 * S, .refusal_step = 0};
static uint64_t random_state = 1;

static const rpp_attempt unreached = {.end = RPP_END_NOT_SENT}, half_sent = {.end = RPP_END_NOT_SENT, .reached = true},
                         busy = {.end = RPP_END_ANSWERED, .http_status = 503},
                         refused = {.end = RPP_END_ANSWERED, .http_status = 401},
                         broken = {.end = RPP_END_ANSWERED, .http_status = 500},
                         taken = {.end = RPP_END_ANSWERED, .http_status = 200};

static rpp_next_try after(const rpp_attempt *attempt, rpp_situation situation)
{
    if (!situation.now_ns) situation.now_ns = 1000 * S;
    if (!situation.tries.begun) situation.tries.begun = 1;
    if (attempt == &broken) situation.tries.server_errors = 1;
    return rpp_next_try_after(&policy, attempt, &situation, &random_state);
}

static bool is_about(uint64_t at_ns, uint64_t seconds)
{
    uint64_t wait_ns = at_ns - 1000 * S;
    return wait_ns >= seconds * S * 3 / 4 && wait_ns <= seconds * S * 5 / 4;
}

TEST(one_that_reached_nobody_stays_in_front)
{
    rpp_next_try next = after(&unreached, (rpp_situation){0});
    CHECK_INT(next.verdict, RPP_VERDICT_RETRY);
    CHECK_INT(next.due_ns, 0);
    CHECK(is_about(next.backoff_until_ns, 1));
    CHECK_INT(next.streak.failures, 1);
    CHECK_INT(next.streak.absent_since_ns, 1000 * S);
}

TEST(one_that_may_be_at_fault_goes_behind_the_others)
{
    const rpp_attempt *attempts[] = {&half_sent, &busy, &broken};
    for (size_t i = 0; i < 3; i++) {
        rpp_next_try next = after(attempts[i], (rpp_situation){0});
        CHECK_INT(next.verdict, RPP_VERDICT_RETRY);
        CHECK(is_about(next.backoff_until_ns, 1));
        CHECK(next.due_ns >= next.backoff_until_ns);
        CHECK_INT(next.streak.absent_since_ns, 0);
    }
    CHECK(is_about(after(&broken, (rpp_situation){0}).due_ns, 4));
}

TEST(the_backend_backs_off_by_the_streak_and_the_payload_by_its_own_tries)
{
    rpp_next_try next = after(&busy, (rpp_situation){.streak = {.failures = 4}, .tries = {.begun = 1}});
    CHECK_INT(next.streak.failures, 5);
    CHECK(is_about(next.backoff_until_ns, 16));
    CHECK_INT(next.due_ns, next.backoff_until_ns);
    next = after(&busy, (rpp_situation){.tries = {.begun = 5}});
    CHECK(is_about(next.backoff_until_ns, 1));
    CHECK(is_about(next.due_ns, 16));
}

TEST(a_good_end_ends_the_streak)
{
    const rpp_streak bad = {.failures = 9, .absent_since_ns = S, .refused_since_ns = S};
    rpp_next_try next = after(&taken, (rpp_situation){.streak = bad});
    CHECK_INT(next.verdict, RPP_VERDICT_DELIVERED);
    CHECK_INT(next.streak.failures, 0);
    CHECK_INT(next.streak.absent_since_ns, 0);
    CHECK_INT(next.streak.refused_since_ns, 0);
    CHECK_INT(next.backoff_until_ns, 0);
}

TEST(refusals_are_waited_for_some_minutes)
{
    rpp_next_try next = after(&refused, (rpp_situation){0});
    CHECK_INT(next.verdict, RPP_VERDICT_RETRY);
    CHECK_INT(next.streak.refused_since_ns, 1000 * S);
    next = after(&refused, (rpp_situation){.streak = {.failures = 20, .refused_since_ns = 701 * S}});
    CHECK_INT(next.verdict, RPP_VERDICT_RETRY);
    next = after(&refused, (rpp_situation){.streak = {.failures = 20, .refused_since_ns = 700 * S}});
    CHECK_INT(next.verdict, RPP_VERDICT_REJECTED);
    CHECK_INT(next.streak.failures, 0);
    CHECK_INT(next.streak.refused_since_ns, 700 * S); /* what follows is refused at once, too */
    next = after(&unreached, (rpp_situation){.streak = next.streak});
    CHECK_INT(next.streak.refused_since_ns, 700 * S); /* nobody answered anything else */
    next = after(&busy, (rpp_situation){.streak = next.streak});
    CHECK_INT(next.streak.refused_since_ns, 0);
}

TEST(with_room_to_wait_refusals_are_tried_each_minute)
{
    rpp_retry_policy roomy = policy;
    roomy.refusals_ns = UINT64_MAX;
    roomy.refusal_step = 7;
    rpp_situation first = {.now_ns = 1000 * S, .tries = {.begun = 1}};
    rpp_next_try next = rpp_next_try_after(&roomy, &refused, &first, &random_state);
    CHECK_INT(next.verdict, RPP_VERDICT_RETRY);
    CHECK(is_about(next.backoff_until_ns, 60));
}

TEST(who_waits_for_it_gets_a_short_rest)
{
    rpp_situation flushing = {.streak = {.failures = 9}, .tries = {.begun = 9}, .flushing = true};
    rpp_next_try next = after(&busy, flushing);
    CHECK(next.backoff_until_ns <= 1001 * S);
    CHECK_INT(next.due_ns, next.backoff_until_ns);
    next = after(&broken, flushing); /* a flush must not use its few tries up */
    CHECK(next.backoff_until_ns <= 1001 * S);
    CHECK(is_about(next.due_ns, 4));
    rpp_attempt peace = busy;
    peace.retry_after_ns = 120 * S;
    CHECK_INT(after(&peace, flushing).backoff_until_ns, 1120 * S);
}

TEST(asked_for_meanwhile_it_is_tried_again_at_once_behind_the_others)
{
    rpp_next_try next = after(&busy, (rpp_situation){.flushing = true, .hurried = true});
    CHECK_INT(next.backoff_until_ns, 0);
    CHECK_INT(next.due_ns, 1);
    next = after(&unreached, (rpp_situation){.flushing = true, .hurried = true});
    CHECK_INT(next.due_ns, 0);
}

TEST(at_the_end_only_what_has_just_gone_is_waited_for)
{
    rpp_next_try next = after(&unreached, (rpp_situation){.stopping = true});
    CHECK_INT(next.backoff_until_ns, 1000 * S + S / 4);
    next = after(&unreached, (rpp_situation){.stopping = true, .streak = {.absent_since_ns = 999 * S}});
    CHECK_INT(next.backoff_until_ns, UINT64_MAX);
    next = after(&half_sent, (rpp_situation){.stopping = true, .streak = {.absent_since_ns = 1}});
    CHECK(next.backoff_until_ns <= 1001 * S); /* it is there */
}

TEST(what_was_broken_off_is_nobodys_fault)
{
    const rpp_attempt aborted = {.end = RPP_END_ABORTED};
    CHECK_INT(after(&aborted, (rpp_situation){.stopping = true}).verdict, RPP_VERDICT_ABORTED);
    CHECK(!rpp_may_be_its_own_fault(&aborted));
}

TEST(what_a_stop_breaks_off_is_left_to_another_process_where_there_is_a_spool)
{
    const rpp_attempt aborted = {.end = RPP_END_ABORTED}, sent = {.end = RPP_END_ABORTED, .sent_whole = true};
    rpp_next_try next = after(&aborted, (rpp_situation){.stopping = true, .has_spool = true});
    CHECK_INT(next.verdict, RPP_VERDICT_RETRY);
    CHECK_INT(next.backoff_until_ns + next.due_ns + next.streak.failures, 0);
    CHECK_INT(after(&sent, (rpp_situation){.stopping = true, .has_spool = true}).verdict, RPP_VERDICT_UNCONFIRMED);
}

/* --- what holds for each attempt in each situation
 * ------------------------------------------------------------------ */

static const rpp_attempt attempts[] = {{.end = RPP_END_ANSWERED, .http_status = 200},
                                       {.end = RPP_END_ANSWERED, .http_status = 400},
                                       {.end = RPP_END_ANSWERED, .http_status = 404},
                                       {.end = RPP_END_ANSWERED, .http_status = 429, .retry_after_ns = 120 * S},
                                       {.end = RPP_END_ANSWERED, .http_status = 429, .permanent = true},
                                       {.end = RPP_END_ANSWERED, .http_status = 500},
                                       {.end = RPP_END_ANSWERED, .http_status = 500, .meaning = RPP_MEANS_NOT_NOW},
                                       {.end = RPP_END_ANSWERED, .http_status = 503},
                                       {.end = RPP_END_ANSWERED, .http_status = 504},
                                       {.end = RPP_END_NOT_SENT},
                                       {.end = RPP_END_NOT_SENT, .reached = true},
                                       {.end = RPP_END_NOT_SENT, .permanent = true},
                                       {.end = RPP_END_NO_ANSWER},
                                       {.end = RPP_END_STORED},
                                       {.end = RPP_END_IO_ERROR},
                                       {.end = RPP_END_ABORTED},
                                       {.end = RPP_END_ABORTED, .sent_whole = true}};

static void check_what_always_holds(const rpp_attempt *attempt, const rpp_situation *s)
{
    uint64_t random = 7, same = 7;
    rpp_next_try next = rpp_next_try_after(&policy, attempt, s, &random);
    rpp_next_try again = rpp_next_try_after(&policy, attempt, s, &same);
    CHECK(next.backoff_until_ns == again.backoff_until_ns && next.due_ns == again.due_ns &&
          next.verdict == again.verdict);
    CHECK(next.verdict != RPP_VERDICT_ABORTED || !s->has_spool);
    bool carry_over = next.verdict == RPP_VERDICT_RETRY && attempt->end != RPP_END_ABORTED;
    CHECK_INT(next.streak.failures, carry_over ? s->streak.failures + 1 : 0);
    if (!carry_over) {
        CHECK_INT(next.backoff_until_ns, 0);
        CHECK_INT(next.due_ns, 0);
        return;
    }
    bool gone = s->stopping && next.streak.absent_since_ns;
    CHECK_INT(next.due_ns == 0, !rpp_may_be_its_own_fault(attempt));
    CHECK(!next.due_ns || next.due_ns >= next.backoff_until_ns);
    if (s->hurried) CHECK_INT(next.backoff_until_ns, 0);
    if (!s->hurried) CHECK(next.backoff_until_ns > s->now_ns);
    if (!s->hurried && !gone) CHECK(next.backoff_until_ns >= s->now_ns + attempt->retry_after_ns);
    if (!s->hurried && !gone)
        CHECK(next.backoff_until_ns <= s->now_ns + attempt->retry_after_ns + policy.max_ns * 5 / 4);
}

TEST(what_holds_for_each_attempt_in_each_situation)
{
    static const uint64_t absent[] = {0, 900 * S, 999 * S + S / 2}, refusing[] = {0, 700 * S, 999 * S};
    static const uint32_t failures[] = {0, 1, 40};
    static const rpp_tries tries[] = {{.begun = 1}, {.begun = 4, .server_errors = 4}, {.begun = 40, .alone = 11}};
    unsigned tried = 0;
    for (unsigned i = 0; i < 17u * 16 * 81; i++, tried++) {
        unsigned flags = i / 17, rest = flags / 16;
        const rpp_situation s = {.now_ns = 1000 * S,
                                 .tries = tries[rest % 3],
                                 .streak = {failures[rest / 3 % 3], absent[rest / 9 % 3], refusing[rest / 27]},
                                 .flushing = flags & 1,
                                 .stopping = flags & 2,
                                 .hurried = flags & 4,
                                 .has_spool = flags & 8};
        check_what_always_holds(&attempts[i % 17], &s);
    }
    CHECK_INT(tried, 22032);
}

/* It began before another one failed. */
TEST(a_stale_try_tells_nothing_new_of_the_backend)
{
    const rpp_streak streak = {.failures = 3};
    const rpp_situation s = {
        .now_ns = 1000 * S, .tries = {.begun = 1}, .streak = streak, .stale = true, .backoff_until_ns = 1020 * S};
    static const struct {
        rpp_attempt attempt;
        rpp_verdict verdict;
        uint64_t backoff_until_s;
    } rows[] = {
        {{.end = RPP_END_ANSWERED, .http_status = 200}, RPP_VERDICT_DELIVERED, 1020},
        {{.end = RPP_END_NOT_SENT}, RPP_VERDICT_RETRY, 1020},
        {{.end = RPP_END_ANSWERED, .http_status = 429, .retry_after_ns = 5 * S}, RPP_VERDICT_RETRY, 1020},
        {{.end = RPP_END_ANSWERED, .http_status = 429, .retry_after_ns = 500 * S}, RPP_VERDICT_RETRY, 1500},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t random = 7;
        rpp_next_try next = rpp_next_try_after(&policy, &rows[i].attempt, &s, &random);
        CHECK_INT(next.verdict, rows[i].verdict);
        CHECK_INT(next.streak.failures, 3);
        CHECK_INT(next.backoff_until_ns, rows[i].backoff_until_s * S);
    }
}
