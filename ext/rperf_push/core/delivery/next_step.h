/* next_step.h - what the uploader does next: try a payload, store one, wait, or end.
 *
 * Payloads wait in three sources, which are asked in this order: on disk, in memory, and on disk but set aside, because
 * they may be the reason why a try failed. During a backoff, and while older payloads are on disk, payloads in
 * memory go to disk as well. At the end, only payloads in memory are sent, until the deadline; after a failure the rest
 * goes to disk.
 *
 * Several tries are under way at once, but only one while the backend fails: an outage costs one try at a time.
 *
 * All functions are pure. next_try.h decides what follows a try.
 *
 * Threads    any thread.
 * Ownership  values are copied.
 */
#ifndef RPP_NEXT_STEP_H
#define RPP_NEXT_STEP_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rpp_source { RPP_SOURCE_DISK, RPP_SOURCE_MEMORY, RPP_SOURCE_SET_ASIDE, RPP_SOURCES } rpp_source;

typedef struct rpp_prospect {
    uint64_t now_ns;
    uint64_t backoff_until_ns; /* no try before */
    uint64_t stop_deadline_ns; /* for stopping */
    bool stopping;
    bool failing;                 /* the last try failed */
    bool under_way;               /* there are tries that have not ended */
    bool full;                    /* no more may begin beside them */
    bool disk_takes;              /* there is a spool, and it has refused nothing since the last try */
    bool backlog;                 /* the disk gave a payload when it was last asked */
    uint64_t due_ns[RPP_SOURCES]; /* of the first payload; UINT64_MAX: there is none */
} rpp_prospect;

typedef enum rpp_step_kind {
    RPP_STEP_TRY,   /* send a payload of `source` */
    RPP_STEP_STORE, /* move a payload from memory to disk */
    RPP_STEP_WAIT,  /* wait until `wait_ns`, for news, or for the end of a try */
    RPP_STEP_END
} rpp_step_kind;

typedef struct rpp_step {
    rpp_step_kind kind;
    rpp_source source;
    uint64_t wait_ns;
    bool idle; /* it waits because nothing is left */
} rpp_step;

rpp_step rpp_next_step(const rpp_prospect *prospect);

/* The deadline of a try that begins now. `stop_deadline_ns`: UINT64_MAX: no stop. */
uint64_t rpp_try_deadline_ns(uint64_t now_ns, uint64_t timeout_ns, uint64_t stop_deadline_ns, bool others_wait);

#endif
