/* spool_claim.h - a spool file that one process has locked. The lock is on the open file and ends with the process.
 *
 * Threads    a claim belongs to one thread.
 * Ownership  a claim owns its descriptor until remove or release.
 */
#ifndef RPP_SPOOL_CLAIM_H
#define RPP_SPOOL_CLAIM_H

#include "spool/spool_file.h"

typedef struct rpp_spool_claim {
    int fd; /* -1: none */
    rpp_spool_name name;
} rpp_spool_claim;

#define RPP_SPOOL_NO_CLAIM ((rpp_spool_claim){.fd = -1})

/* RPP_BUSY: another process has it, it is gone, or it is not ours. RPP_IO, here and below: errno has the reason. */
RPP_NODISCARD rpp_status rpp_spool_claim_take(int directory, const rpp_spool_name *name, rpp_spool_claim *claim);
/* Creates an empty file in the state "writing" and claims it. */
RPP_NODISCARD rpp_status rpp_spool_claim_create(int directory, const rpp_spool_name *name, rpp_spool_claim *claim);
/* True if a writer left the file unfinished, some time ago. */
bool rpp_spool_claim_is_stale(const rpp_spool_claim *claim);
/* Changes the state, which is part of the name. */
RPP_NODISCARD rpp_status rpp_spool_claim_rename(int directory, rpp_spool_claim *claim, rpp_spool_state state);
/* Reads all its bytes; free them with rpp_free. RPP_INVALID: its length is not the one in its name. */
RPP_NODISCARD rpp_status rpp_spool_claim_read(const rpp_spool_claim *claim, uint8_t **bytes, size_t *length);
/* Deletes the file and ends the claim. A failure also ends the claim. */
RPP_NODISCARD rpp_status rpp_spool_claim_remove(int directory, rpp_spool_claim *claim);
/* Ends the claim and keeps the file. */
void rpp_spool_claim_release(rpp_spool_claim *claim);

#endif
