/* spool_deferred.c - the spool files that wait behind the others: a short list, ordered by due time. */
#include "spool/spool_deferred.h"

#include <string.h>

void rpp_spool_deferred_init(rpp_spool_deferred *deferred)
{
    memset(&deferred->synced, 0, sizeof deferred->synced);
    pthread_mutex_init(&deferred->lock, NULL);
}

void rpp_spool_deferred_destroy(rpp_spool_deferred *deferred)
{
    pthread_mutex_destroy(&deferred->lock);
}

static void remove_first(rpp_spool_deferred *deferred)
{
    rpp_spool_deferral *items = deferred->synced.items;
    memmove(items, items + 1, --deferred->synced.count * sizeof *items);
}

void rpp_spool_deferred_add(rpp_spool_deferred *deferred, const rpp_spool_deferral *deferral)
{
    rpp_spool_deferral *items = deferred->synced.items;
    pthread_mutex_lock(&deferred->lock);
    if (deferred->synced.count == RPP_SPOOL_DEFERRED_MAX) remove_first(deferred);
    size_t at = deferred->synced.count++;
    for (; at && items[at - 1].due_ns > deferral->due_ns; at--) items[at] = items[at - 1];
    items[at] = *deferral;
    pthread_mutex_unlock(&deferred->lock);
}

bool rpp_spool_deferred_has(rpp_spool_deferred *deferred, const rpp_spool_name *name)
{
    bool has = false;
    pthread_mutex_lock(&deferred->lock);
    for (size_t i = 0; i < deferred->synced.count && !has; i++) {
        const rpp_spool_name *known = &deferred->synced.items[i].name;
        has = known->writer == name->writer && known->sequence == name->sequence;
    }
    pthread_mutex_unlock(&deferred->lock);
    return has;
}

bool rpp_spool_deferred_pop(rpp_spool_deferred *deferred, uint64_t now_ns, rpp_spool_deferral *deferral)
{
    pthread_mutex_lock(&deferred->lock);
    bool due = deferred->synced.count && deferred->synced.items[0].due_ns <= now_ns;
    if (due) {
        *deferral = deferred->synced.items[0];
        remove_first(deferred);
    }
    pthread_mutex_unlock(&deferred->lock);
    return due;
}

uint64_t rpp_spool_deferred_due_ns(rpp_spool_deferred *deferred)
{
    pthread_mutex_lock(&deferred->lock);
    uint64_t due_ns = deferred->synced.count ? deferred->synced.items[0].due_ns : UINT64_MAX;
    pthread_mutex_unlock(&deferred->lock);
    return due_ns;
}

void rpp_spool_deferred_hurry(rpp_spool_deferred *deferred)
{
    pthread_mutex_lock(&deferred->lock);
    for (size_t i = 0; i < deferred->synced.count; i++) deferred->synced.items[i].due_ns = 1;
    pthread_mutex_unlock(&deferred->lock);
}
