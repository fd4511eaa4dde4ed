/* stats.c - every number that `RperfPush.stats` shows. */
#include "base/stats.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"

static _Atomic uint64_t numbers[RPP_STAT_COUNT];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char message[RPP_LAST_ERROR_MAX];
    uint64_t at_ns;
} last_error; /* under lock */

static const struct {
    const char *name, *text;
} list[RPP_STAT_COUNT] = {
#define X(name, text) {#name, text},
    RPP_STATS_LIST(X)
#undef X
};

void rpp_stats_add(rpp_stat stat, uint64_t amount)
{
    atomic_fetch_add_explicit(&numbers[stat], amount, memory_order_relaxed);
}

void rpp_stats_set(rpp_stat stat, uint64_t value)
{
    atomic_store_explicit(&numbers[stat], value, memory_order_relaxed);
}

uint64_t rpp_stats_get(rpp_stat stat)
{
    return atomic_load_explicit(&numbers[stat], memory_order_relaxed);
}

const char *rpp_stats_name(rpp_stat stat)
{
    return list[stat].name;
}

const char *rpp_stats_text(rpp_stat stat)
{
    return list[stat].text;
}

double rpp_stats_effective_frequency(void)
{
    uint64_t period = rpp_stats_get(RPP_STAT_period_ns), least = rpp_stats_get(RPP_STAT_least_period_ns);
    return period ? 1e9 / (double)(period > least ? period : least) : 0;
}

void rpp_stats_set_last_error(const char *message)
{
    char line[RPP_LAST_ERROR_MAX];
    size_t length = rpp_utf8_copy(line, sizeof line - 1, message, strlen(message));
    rpp_utf8_one_line(line, length);
    line[length] = '\0';
    uint64_t now = rpp_realtime_ns();

    pthread_mutex_lock(&lock);
    memcpy(last_error.message, line, length + 1);
    last_error.at_ns = now;
    pthread_mutex_unlock(&lock);
}

uint64_t rpp_stats_last_error(char *message, size_t size)
{
    pthread_mutex_lock(&lock);
    if (size) message[rpp_utf8_copy(message, size - 1, last_error.message, strlen(last_error.message))] = '\0';
    uint64_t at_ns = last_error.at_ns;
    pthread_mutex_unlock(&lock);
    return at_ns;
}

void rpp_stats_reset(void)
{
    /* The lock first: in a forked child its owner may not exist. */
    pthread_mutex_init(&lock, NULL);
    last_error.at_ns = 0;
    last_error.message[0] = '\0';
    for (int stat = 0; stat < RPP_STAT_COUNT; stat++) rpp_stats_set((rpp_stat)stat, 0);
}
