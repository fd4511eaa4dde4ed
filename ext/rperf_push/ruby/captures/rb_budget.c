/* rb_budget.c - keeps the captures of the process within its overhead limit. */
#include "captures/rb_budget.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "core/sampling/budget.h"
#include "threads/rb_subscribers.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* collectors keep the budget, and sessions begin it */
static rpp_budget budget;
static bool told; /* under lock: that hooks exceed it, once in a process */

static void use_period(uint64_t ns)
{
    atomic_store_explicit(&rb_rpp_rules.period_ns, ns, memory_order_relaxed);
    rpp_ticker_set_period(&rb_rpp_ticker, ns);
    rpp_stats_set(RPP_STAT_period_ns, ns);
}

static rpp_overhead overhead(void)
{
    uint64_t hooks = rpp_stats_get(RPP_STAT_overhead_hooks_ns), all = rpp_stats_get(RPP_STAT_overhead_ns);
    return (rpp_overhead){.captures_ns = all > hooks ? all - hooks : 0, .hooks_ns = hooks};
}

void rb_rpp_budget_begin(double limit, uint64_t period_ns)
{
    pthread_mutex_lock(&lock);
    rpp_budget_init(&budget, limit, period_ns, rpp_monotonic_ns(), overhead());
    pthread_mutex_unlock(&lock);
    use_period(period_ns);
}

void rb_rpp_budget_keep(void)
{
    pthread_mutex_lock(&lock);
    uint64_t before = budget.period_ns;
    uint64_t period = rpp_budget_update(&budget, rpp_monotonic_ns(), overhead());
    if (period != before) use_period(period);
    bool tells = !told && rpp_budget_is_exceeded_by_hooks(&budget);
    told |= tells;
    double hooks = budget.hooks_share, limit = budget.limit;
    pthread_mutex_unlock(&lock);
    if (!tells) return;
    /* Without the lock: standard error may block, and a thread with the GVL may want it. */
    rpp_log(RPP_LOG_WARN,
            "threads change so often that following them takes %.1f %% of a core, more than overhead_limit (%.1f %%); "
            "only captures are kept below it; RperfPush.stats[:overhead_hooks_ns] has the time",
            hooks * 100, limit * 100);
}

double rb_rpp_budget_share(void)
{
    pthread_mutex_lock(&lock);
    double share = budget.share;
    pthread_mutex_unlock(&lock);
    return share;
}

void rb_rpp_budget_discard_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    told = false;
}
