/* retry_verdict.c - decides what follows a try: the payload is delivered, retried later, or dropped with a reason. */
#include "http/retry_verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define SERVER_ERROR_RETRIES 2u /* the payload itself may break the server */
#define CLOSED_RETRIES       2u
#define RETRY_AFTER_MAX_S    UINT64_C(3600)
#define MOST_WAIT_NS         (UINT64_MAX / 4) /* so that additions cannot overflow */

rpp_retry_policy rpp_retry_session_policy(bool has_spool, bool resend_unconfirmed)
{
    return (rpp_retry_policy){
        .first_ns = RPP_NS_PER_S,
        .max_ns = 60 * RPP_NS_PER_S,
        .max_alone = 10, /* about four minutes */
        .refusals_ns = has_spool ? UINT64_MAX : 5 * 60 * RPP_NS_PER_S,
        .refusal_step = has_spool ? 7 : 0, /* the longest pause */
        .keeps_server_errors = has_spool,
        .resend_unconfirmed = resend_unconfirmed,
    };
}

/* --- the verdict
 * ---------------------------------------------------------------------------------------------------- */

static rpp_verdict judge_unknown_outcome(const rpp_retry_policy *policy, const rpp_attempt *attempt)
{
    return policy->resend_unconfirmed && !attempt->permanent ? RPP_VERDICT_RETRY : RPP_VERDICT_UNCONFIRMED;
}

/* 520, 524 and 598: an edge network lost track of a request. */
static bool is_unknown(const rpp_attempt *attempt)
{
    switch (attempt->http_status) {
    case 504:
    case 520:
    case 524:
    case 598: return true;
    default: return attempt->meaning == RPP_MEANS_UNKNOWN;
    }
}

/* 507: no room; 521 to 530: an edge network did not reach the server. */
static bool is_temporary(const rpp_attempt *attempt)
{
    switch (attempt->http_status) {
    case 408:
    case 429:
    case 502:
    case 503:
    case 507:
    case 521:
    case 522:
    case 523:
    case 525:
    case 526:
    case 529:
    case 530: return true;
    default: return attempt->meaning == RPP_MEANS_NOT_NOW;
    }
}

bool rpp_attempt_is_refusal(const rpp_attempt *attempt)
{
    if (attempt->end != RPP_END_ANSWERED || attempt->permanent) return false;
    int status = attempt->http_status;
    return status == 401 || status == 403 || status == 404 || attempt->meaning == RPP_MEANS_REFUSED;
}

bool rpp_attempt_is_server_error(const rpp_attempt *attempt)
{
    return attempt->end == RPP_END_ANSWERED && attempt->http_status == 500 && attempt->meaning == RPP_MEANS_ITS_STATUS;
}

static rpp_verdict judge_server_error(const rpp_retry_policy *policy, rpp_tries tries)
{
    if (tries.server_errors <= SERVER_ERROR_RETRIES) return RPP_VERDICT_RETRY;
    bool may_be_an_outage = policy->keeps_server_errors && tries.alone < SERVER_ERROR_RETRIES;
    return may_be_an_outage ? RPP_VERDICT_RETRY : RPP_VERDICT_GIVEN_UP;
}

static rpp_verdict judge_status(const rpp_retry_policy *policy, const rpp_attempt *attempt, rpp_tries tries)
{
    int status = attempt->http_status;
    if (rpp_attempt_is_refusal(attempt)) return policy->refusals_ns ? RPP_VERDICT_RETRY : RPP_VERDICT_REJECTED;
    if (status >= 200 && status <= 299) return RPP_VERDICT_DELIVERED;
    if (is_unknown(attempt)) return judge_unknown_outcome(policy, attempt);
    if (attempt->permanent) return RPP_VERDICT_REJECTED;
    if (is_temporary(attempt)) return RPP_VERDICT_RETRY;
    return rpp_attempt_is_server_error(attempt) ? judge_server_error(policy, tries) : RPP_VERDICT_REJECTED;
}

static rpp_verdict judge_no_answer(const rpp_retry_policy *policy, const rpp_attempt *attempt, rpp_tries tries)
{
    bool again = attempt->closed && !attempt->permanent && tries.closed <= CLOSED_RETRIES;
    return again ? RPP_VERDICT_RETRY : judge_unknown_outcome(policy, attempt);
}

static rpp_verdict judge(const rpp_retry_policy *policy, const rpp_attempt *attempt, rpp_tries tries)
{
    switch (attempt->end) {
    case RPP_END_ANSWERED: return judge_status(policy, attempt, tries);
    case RPP_END_NOT_SENT:
    case RPP_END_IO_ERROR: return attempt->permanent ? RPP_VERDICT_REJECTED : RPP_VERDICT_RETRY;
    case RPP_END_NO_ANSWER: return judge_no_answer(policy, attempt, tries);
    case RPP_END_STORED: return RPP_VERDICT_DELIVERED;
    case RPP_END_ABORTED: break;
    }
    return attempt->sent_whole ? RPP_VERDICT_UNCONFIRMED : RPP_VERDICT_ABORTED;
}

/* The verdict on a payload that could be retried, but will not be. */
static rpp_verdict out_of_tries(const rpp_attempt *attempt)
{
    bool maybe_stored = attempt->end == RPP_END_NO_ANSWER || (attempt->end == RPP_END_ANSWERED && is_unknown(attempt));
    if (maybe_stored) return RPP_VERDICT_UNCONFIRMED;
    return rpp_attempt_is_refusal(attempt) ? RPP_VERDICT_REJECTED : RPP_VERDICT_GIVEN_UP;
}

/* --- the time
 * ------------------------------------------------------------------------------------------------------- */

static uint64_t exponential_ns(const rpp_retry_policy *policy, uint32_t failures)
{
    uint64_t wait_ns = policy->first_ns;
    for (uint32_t i = 1; i < failures && wait_ns < policy->max_ns && wait_ns < MOST_WAIT_NS; i++) {
        wait_ns = wait_ns > MOST_WAIT_NS / 2 ? MOST_WAIT_NS : wait_ns * 2;
    }
    if (wait_ns > policy->max_ns) wait_ns = policy->max_ns;
    return wait_ns < MOST_WAIT_NS ? wait_ns : MOST_WAIT_NS;
}

/* 75 % to 125 % of the time. */
static uint64_t jittered(uint64_t wait_ns, uint64_t *random)
{
    uint64_t quarter = wait_ns / 4;
    return wait_ns - quarter + rpp_random_next(random) % (2 * quarter + 1);
}

uint64_t rpp_retry_due_ns(const rpp_retry_policy *policy, uint32_t failures, uint64_t retry_after_ns, uint64_t now_ns,
                          uint64_t *random)
{
    uint64_t wait_ns = jittered(exponential_ns(policy, failures), random);
    if (wait_ns < retry_after_ns) wait_ns = retry_after_ns;
    return wait_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + wait_ns;
}

rpp_verdict rpp_retry_decide(const rpp_retry_policy *policy, const rpp_attempt *attempt, rpp_tries tries,
                             uint64_t now_ns, uint64_t *random, uint64_t *due_ns)
{
    rpp_verdict verdict = judge(policy, attempt, tries);
    if (verdict != RPP_VERDICT_RETRY) return verdict;
    if (policy->max_tries && tries.begun >= policy->max_tries) return out_of_tries(attempt);
    if (policy->max_alone && tries.alone >= policy->max_alone) return out_of_tries(attempt);

    /* The few retries after a 500 have long pauses, so that a short outage with status 500 costs no payload. */
    uint32_t step = rpp_attempt_is_server_error(attempt) ? 2 * tries.server_errors + 1 : tries.begun;
    *due_ns = rpp_retry_due_ns(policy, step, attempt->retry_after_ns, now_ns, random);
    return RPP_VERDICT_RETRY;
}

/* --- Retry-After
 * ---------------------------------------------------------------------------------------------------- */

/* Days since 1970-01-01 of a date of the Gregorian calendar (months shifted so that the year ends with February). */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year, shifted = (month + 9) % 12;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * shifted + 2) / 5 + day - 1 - 719468;
}

/* The month's number from the three letters of its English name; 0 if it is none. */
static int month_of(const char *name)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const char *found = strlen(name) == 3 ? strstr(names, name) : NULL;
    return found && (found - names) % 3 == 0 ? (int)(found - names) / 3 + 1 : 0;
}

static bool is_whole(int fields, const char *text, const int *end)
{
    return fields == 6 && *end && !text[*end];
}

/* Parses the three forms of RFC 9110. Returns seconds since the epoch, or -1. */
static int64_t http_date(const char *text)
{
    int day = 0, year = 0, hour = 0, minute = 0, second = 0, end = 0;
    char month_name[4] = "";
    if (!is_whole(sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &day, month_name, &year, &hour,
                         &minute, &second, &end),
                  text, &end) &&
        !is_whole(sscanf(text, "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", month_name, &day, &hour, &minute,
                         &second, &year, &end),
                  text, &end)) {
        if (!is_whole(sscanf(text, "%*9[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d GMT%n", &day, month_name, &year, &hour,
                             &minute, &second, &end),
                      text, &end))
            return -1;
        year += year < 70 ? 2000 : 1900;
    }
    int month = month_of(month_name);
    bool sane = month && day >= 1 && day <= 31 && year >= 1970 && hour >= 0 && hour <= 23 && minute >= 0 &&
                minute <= 59 && second >= 0 && second <= 60;
    return sane ? days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second : -1;
}

uint64_t rpp_retry_after_ns(const char *value, uint64_t realtime_ns)
{
    char text[64];
    if (!value) return 0;
    value += strspn(value, " \t");
    size_t length = strlen(value);
    while (length && (value[length - 1] == ' ' || value[length - 1] == '\t')) length--;
    if (!length || length >= sizeof text) return 0;
    memcpy(text, value, length);
    text[length] = '\0';

    uint64_t seconds = 0;
    if (strspn(text, "0123456789") == length) {
        for (size_t i = 0; i < length && seconds < RETRY_AFTER_MAX_S; i++) {
            seconds = seconds * 10 + (uint64_t)(text[i] - '0');
        }
        if (seconds > RETRY_AFTER_MAX_S) seconds = RETRY_AFTER_MAX_S;
        return seconds * RPP_NS_PER_S;
    }

    int64_t date = http_date(text);
    if (date < 0) return 0;
    /* Compare in seconds first: in nanoseconds a date of the year 2600 overflows. */
    if ((uint64_t)date > realtime_ns / RPP_NS_PER_S + RETRY_AFTER_MAX_S) return RETRY_AFTER_MAX_S * RPP_NS_PER_S;
    uint64_t date_ns = (uint64_t)date * RPP_NS_PER_S;
    if (date_ns <= realtime_ns) return 0;
    uint64_t wait_ns = date_ns - realtime_ns, most_ns = RETRY_AFTER_MAX_S * RPP_NS_PER_S;
    return wait_ns < most_ns ? wait_ns : most_ns;
}
