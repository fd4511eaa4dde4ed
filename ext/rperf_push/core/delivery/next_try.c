/* next_try.c - decides what follows a try: the verdict on its payload, its next try, and the rest of the backend. */
#include "delivery/next_try.h"

#include "base/clock.h"

/* At the end, an absent backend is not waited for, unless it has only just gone away: that may be a short failure. */
#define JUST_GONE_NS  RPP_NS_PER_S
#define LAST_PAUSE_NS (250 * RPP_NS_PER_MS)

bool rpp_may_be_its_own_fault(const rpp_attempt *attempt)
{
    return attempt->end == RPP_END_NOT_SENT ? attempt->reached : attempt->end != RPP_END_ABORTED;
}

static bool is_absent(const rpp_attempt *attempt)
{
    return attempt->end == RPP_END_IO_ERROR || (attempt->end == RPP_END_NOT_SENT && !attempt->reached);
}

static void note_since(uint64_t *since_ns, bool is_so, uint64_t now_ns)
{
    if (!is_so) *since_ns = 0;
    if (is_so && !*since_ns) *since_ns = now_ns;
}

static rpp_streak continue_streak(rpp_streak streak, const rpp_attempt *attempt, uint64_t now_ns)
{
    note_since(&streak.absent_since_ns, is_absent(attempt), now_ns);
    if (attempt->end == RPP_END_ANSWERED) {
        note_since(&streak.refused_since_ns, rpp_attempt_is_refusal(attempt), now_ns);
    }
    return streak;
}

static bool is_refused_for_good(const rpp_retry_policy *policy, const rpp_attempt *attempt, rpp_streak streak,
                                uint64_t now_ns)
{
    return rpp_attempt_is_refusal(attempt) && now_ns - streak.refused_since_ns >= policy->refusals_ns;
}

/* The backoff is short while a flush or a stop waits, unless the backend sent Retry-After. */
static uint64_t backoff_until_ns(const rpp_retry_policy *policy, const rpp_attempt *attempt, const rpp_situation *s,
                                 rpp_streak streak, uint64_t *random)
{
    if (s->hurried) return 0;
    if (s->stopping && streak.absent_since_ns) {
        return s->now_ns - streak.absent_since_ns < JUST_GONE_NS ? s->now_ns + LAST_PAUSE_NS : UINT64_MAX;
    }
    uint32_t step = rpp_attempt_is_refusal(attempt) ? policy->refusal_step : 0;
    if (step < streak.failures) step = streak.failures;
    uint64_t until_ns = rpp_retry_due_ns(policy, step, attempt->retry_after_ns, s->now_ns, random);
    uint64_t soon_ns = s->now_ns + policy->first_ns;
    bool shortened = (s->flushing || s->stopping) && !attempt->retry_after_ns && soon_ns < until_ns;
    return shortened ? soon_ns : until_ns;
}

static rpp_next_try follow(const rpp_retry_policy *policy, const rpp_attempt *attempt, const rpp_situation *s,
                           uint64_t *random)
{
    uint64_t own_due_ns = 0;
    rpp_next_try next = {.streak = continue_streak(s->streak, attempt, s->now_ns)};
    next.verdict = rpp_retry_decide(policy, attempt, s->tries, s->now_ns, random, &own_due_ns);
    if (next.verdict == RPP_VERDICT_RETRY && is_refused_for_good(policy, attempt, next.streak, s->now_ns)) {
        next.verdict = RPP_VERDICT_REJECTED;
    }
    next.streak.failures = next.verdict == RPP_VERDICT_RETRY ? next.streak.failures + 1 : 0;
    if (next.verdict == RPP_VERDICT_ABORTED && s->has_spool) {
        next.verdict = RPP_VERDICT_RETRY; /* by another process */
        return next;
    }
    if (next.verdict != RPP_VERDICT_RETRY) return next;

    next.backoff_until_ns = backoff_until_ns(policy, attempt, s, next.streak, random);
    if (!rpp_may_be_its_own_fault(attempt)) return next;
    /* A flush must not use up the few tries after a 500. */
    bool waited_for = s->flushing && !rpp_attempt_is_server_error(attempt);
    next.due_ns = s->hurried ? 1 : waited_for || s->stopping ? next.backoff_until_ns : own_due_ns;
    if (next.due_ns < next.backoff_until_ns) next.due_ns = next.backoff_until_ns;
    if (!next.due_ns) next.due_ns = 1;
    return next;
}

rpp_next_try rpp_next_try_after(const rpp_retry_policy *policy, const rpp_attempt *attempt, const rpp_situation *s,
                                uint64_t *random)
{
    rpp_next_try next = follow(policy, attempt, s, random);
    if (!s->stale) return next;
    next.streak = s->streak;
    bool asks_for_more = attempt->retry_after_ns && next.backoff_until_ns > s->backoff_until_ns;
    if (!asks_for_more) next.backoff_until_ns = s->backoff_until_ns;
    if (next.due_ns && next.due_ns < next.backoff_until_ns) next.due_ns = next.backoff_until_ns;
    return next;
}
