/* test_next_step.c - every situation of the uploader has its step: a table, tried with each of its 20736 situations. */
#include "delivery/next_step.h"

#include "test.h"

#define NOW      1000u
#define SOON     1100u
#define DEADLINE 1200u
#define LATE     1300u
#define NEVER    UINT64_MAX

/* Conditions of a row. ANY: it does not matter. */
enum { ANY = 0, NO = 1, YES = 2 };
typedef enum { ANYTIME, DUE, NOT_DUE, NONE, SOME, PAST_DEADLINE } when;

typedef struct decision {
    const char *rule;
    int stopping, is_over, backing_off, failing, disk_takes, backlog; /* is_over: the deadline of the stop has come */
    when rest, due[RPP_SOURCES];
    rpp_step_kind kind;
    rpp_source source;
    int idle;
} decision;

/* The first row that fits is what happens. Due times: disk, memory, set aside. */
static const decision rows[] = {
    {"a stop ends at its deadline", .stopping = YES, .is_over = YES, .kind = RPP_STEP_END},
    {"a stop ends when memory is empty", .stopping = YES, .due = {ANYTIME, NONE}, .kind = RPP_STEP_END},
    {"after a failure at the end memory goes to disk", .stopping = YES, .failing = YES, .disk_takes = YES,
     .kind = RPP_STEP_STORE},
    {"a stop does not wait for a rest past its deadline", .stopping = YES, .backing_off = YES, .rest = PAST_DEADLINE,
     .kind = RPP_STEP_END},
    {"a stop waits for a rest", .stopping = YES, .backing_off = YES, .kind = RPP_STEP_WAIT, .idle = NO},
    {"a stop sends what is in memory", .stopping = YES, .due = {ANYTIME, DUE}, .kind = RPP_STEP_TRY,
     .source = RPP_SOURCE_MEMORY},
    {"a stop does not wait for a payload past its deadline", .stopping = YES, .due = {ANYTIME, PAST_DEADLINE},
     .kind = RPP_STEP_END},
    {"a stop waits for a payload", .stopping = YES, .kind = RPP_STEP_WAIT, .idle = NO},

    {"while the backend carry_over memory goes to disk", .backing_off = YES, .disk_takes = YES, .due = {ANYTIME, SOME},
     .kind = RPP_STEP_STORE},
    {"behind older ones on disk memory goes there too", .backlog = YES, .disk_takes = YES, .due = {ANYTIME, SOME},
     .kind = RPP_STEP_STORE},
    {"nothing is tried during a rest", .backing_off = YES, .kind = RPP_STEP_WAIT, .idle = NO},
    {"the disk comes first", .due = {DUE}, .kind = RPP_STEP_TRY, .source = RPP_SOURCE_DISK},
    {"then memory", .due = {NOT_DUE, DUE}, .kind = RPP_STEP_TRY, .source = RPP_SOURCE_MEMORY},
    {"what was set aside comes last", .due = {NOT_DUE, NOT_DUE, DUE}, .kind = RPP_STEP_TRY,
     .source = RPP_SOURCE_SET_ASIDE},
    {"nothing is left", .due = {NOT_DUE, NONE, NONE}, .kind = RPP_STEP_WAIT, .idle = YES},
    {"something is left for later", .kind = RPP_STEP_WAIT, .idle = NO},
};
#define ROWS (sizeof rows / sizeof *rows)

static bool is_so(int wanted, bool is)
{
    return wanted == ANY || (wanted == YES) == is;
}

static bool is_then(when wanted, uint64_t at_ns)
{
    switch (wanted) {
    case ANYTIME: return true;
    case DUE: return at_ns <= NOW;
    case NOT_DUE: return at_ns > NOW;
    case NONE: return at_ns == NEVER;
    case SOME: return at_ns != NEVER;
    case PAST_DEADLINE: return at_ns > DEADLINE;
    }
    return false;
}

static bool fits(const decision *row, const rpp_prospect *p)
{
    bool good = is_so(row->stopping, p->stopping) && is_so(row->is_over, p->now_ns >= p->stop_deadline_ns) &&
                is_so(row->backing_off, p->backoff_until_ns > p->now_ns) && is_so(row->failing, p->failing) &&
                is_so(row->disk_takes, p->disk_takes) && is_so(row->backlog, p->backlog) &&
                is_then(row->rest, p->backoff_until_ns);
    for (int i = 0; i < RPP_SOURCES; i++) good = good && is_then(row->due[i], p->due_ns[i]);
    return good;
}

static const decision *row_for(const rpp_prospect *p)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (fits(&rows[i], p)) return &rows[i];
    }
    FAIL("no row fits");
}

/* The first thing that ends the wait: the rest, or a payload that may be sent. */
static uint64_t wait_of(const rpp_prospect *p)
{
    if (p->backoff_until_ns > p->now_ns) return p->backoff_until_ns;
    uint64_t least = p->due_ns[RPP_SOURCE_MEMORY];
    for (int i = 0; i < RPP_SOURCES && !p->stopping; i++) least = p->due_ns[i] < least ? p->due_ns[i] : least;
    return least;
}

static void check(const rpp_prospect *p, unsigned *uses)
{
    const decision *row = row_for(p);
    rpp_step step = rpp_next_step(p);
    uses[row - rows]++;
    if (step.kind != row->kind) FAIL("%s: step %d", row->rule, (int)step.kind);
    if (row->kind == RPP_STEP_TRY && step.source != row->source) FAIL("%s: source %d", row->rule, (int)step.source);
    if (row->kind == RPP_STEP_WAIT) CHECK_INT(step.wait_ns, wait_of(p));
    if (row->kind == RPP_STEP_WAIT) CHECK_INT(step.idle, row->idle == YES);
}

TEST(every_situation_has_its_step)
{
    static const uint64_t carry_over[] = {0, NOW, SOON, LATE}, deadlines[] = {NEVER, NOW, DEADLINE};
    static const uint64_t dues[] = {0, NOW, SOON, DEADLINE, LATE, NEVER};
    enum { RESTS = 4, DEADLINES = 3, FLAGS = 8, DUES = 6 };
    unsigned uses[ROWS] = {0}, tried = 0;
    for (unsigned i = 0; i < RESTS * DEADLINES * FLAGS * DUES * DUES * DUES; i++, tried++) {
        unsigned rest = i, flags = rest / (RESTS * DEADLINES), due = flags / FLAGS;
        rpp_prospect p = {.now_ns = NOW,
                          .backoff_until_ns = carry_over[rest % RESTS],
                          .stop_deadline_ns = deadlines[rest / RESTS % DEADLINES],
                          .failing = flags & 1,
                          .disk_takes = flags & 2,
                          .backlog = flags & 4,
                          .due_ns = {dues[due % DUES], dues[due / DUES % DUES], dues[due / DUES / DUES]}};
        p.stopping = p.stop_deadline_ns != NEVER;
        check(&p, uses);
    }
    CHECK_INT(tried, 20736);
    for (size_t i = 0; i < ROWS; i++) {
        if (!uses[i]) FAIL("never used: %s", rows[i].rule);
    }
}

TEST(a_try_ends_by_its_timeout_or_the_stop)
{
    CHECK_INT(rpp_try_deadline_ns(1000, 50, UINT64_MAX, true), 1050);
    CHECK_INT(rpp_try_deadline_ns(1000, 50, 1020, false), 1020);
    CHECK_INT(rpp_try_deadline_ns(1000, 50, 1020, true),
              1010); /* no more than half of what is left while others wait */
    CHECK_INT(rpp_try_deadline_ns(1000, 50, 1200, true), 1050);
    CHECK_INT(rpp_try_deadline_ns(1000, 50, 990, true), 990); /* it is over already */
}
