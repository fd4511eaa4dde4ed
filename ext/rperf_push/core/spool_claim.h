/* spool_claim.h - a file of the spool in the hands of one process: a lock on the open file, gone with whoever holds it.
 *
 * Threads    a claim belongs to one thread.
 */
#ifndef RPP_SPOOL_CLAIM_H
#define RPP_SPOOL_CLAIM_H

#include "spool_file.h"

typedef struct rpp_spool_claim {
    int fd; /* -1: none */
    rpp_spool_name name;
} rpp_spool_claim;

#define RPP_SPOOL_NO_CLAIM ((rpp_spool_claim){.fd = -1})

/* RPP_BUSY: somebody else has it, it is gone, or it is not ours. RPP_IO: errno says why, as everywhere here. */
RPP_NODISCARD rpp_status rpp_spool_claim_take(int directory, const rpp_spool_name *name, rpp_spool_claim *claim);
/* A new, empty file in the state "writing". */
RPP_NODISCARD rpp_status rpp_spool_claim_create(int directory, const rpp_spool_name *name, rpp_spool_claim *claim);
/* Whether it was left in the middle of writing, and not just now. */
bool rpp_spool_claim_is_stale(const rpp_spool_claim *claim);
/* A new state, which is part of the name. */
RPP_NODISCARD rpp_status rpp_spool_claim_rename(int directory, rpp_spool_claim *claim, rpp_spool_state state);
/* All its bytes, rpp_free them. RPP_INVALID: more or fewer than its name says. */
RPP_NODISCARD rpp_status rpp_spool_claim_read(const rpp_spool_claim *claim, uint8_t **bytes, size_t *length);
/* Deletes the file and ends the claim, in any case. */
RPP_NODISCARD rpp_status rpp_spool_claim_remove(int directory, rpp_spool_claim *claim);
/* Ends the claim; the file stays. */
void rpp_spool_claim_release(rpp_spool_claim *claim);

#endif
