/* spool_deferred.h - the spool files that wait behind the others, because their payloads may have caused a failure.
 *
 * Only this process knows them; other processes may try them meanwhile. If there are too many, the one with the
 * earliest due time is forgotten and becomes an ordinary file again.
 *
 * Threads    any thread; the list has its own lock.
 * Ownership  the list copies its entries.
 */
#ifndef RPP_SPOOL_DEFERRED_H
#define RPP_SPOOL_DEFERRED_H

#include <pthread.h>

#include "spool/spool_file.h"

#define RPP_SPOOL_DEFERRED_MAX 64u

typedef struct rpp_spool_deferral {
    rpp_spool_name name;
    uint64_t due_ns;    /* monotonic */
    uint64_t failed_in; /* of the payload */
} rpp_spool_deferral;

typedef struct rpp_spool_deferred {
    pthread_mutex_t lock;
    struct { /* under the lock */
        rpp_spool_deferral items[RPP_SPOOL_DEFERRED_MAX];
        size_t count;
    } synced;
} rpp_spool_deferred;

void rpp_spool_deferred_init(rpp_spool_deferred *deferred);
void rpp_spool_deferred_destroy(rpp_spool_deferred *deferred);

void rpp_spool_deferred_add(rpp_spool_deferred *deferred, const rpp_spool_deferral *deferral);
bool rpp_spool_deferred_has(rpp_spool_deferred *deferred, const rpp_spool_name *name);
/* Removes the entry with the earliest due time, if it is due at `now_ns`. */
bool rpp_spool_deferred_pop(rpp_spool_deferred *deferred, uint64_t now_ns, rpp_spool_deferral *deferral);
/* The earliest due time; UINT64_MAX: there is none. */
uint64_t rpp_spool_deferred_due_ns(rpp_spool_deferred *deferred);
/* Makes all entries due now, in the order of their due times. */
void rpp_spool_deferred_hurry(rpp_spool_deferred *deferred);

#endif
