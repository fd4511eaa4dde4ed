/* spool.h - payloads on disk: what waits for a backend that is away, and outlives the process.
 *
 * Operation
 *   put      writes a copy under a name that is not looked for, then renames it. When the directory would hold more than
 *            spool_max_bytes the oldest make room, whoever wrote them (payloads_dropped_spool_full).
 *   take     claims the oldest one that is for this destination and reads it. Who wrote it does not matter: another
 *            process, or one that is no more. The labels of its series are in the file.
 *   sending  notes in the file's name that the request may go out from now on.
 *   then     remove (it has ended: delivered, unconfirmed or dropped) or give_back (it is to be tried again).
 *
 * Properties
 *   A claim is a lock on the open file (flock), so that no two processes, and no two spools of one process, ever hold the
 *   same payload; the kernel takes it back from a process that dies.
 *   What a dead process had not begun to send is taken by the next one. What it had begun to send may have been stored: it
 *   is counted as unconfirmed and not sent again, unless resend_unconfirmed.
 *   Files that were cut or changed are deleted and counted (payloads_dropped_damaged). Those with other names, of other
 *   users, and what is no regular file are left alone.
 *   A payload that cannot be written stays where it was, in memory; every failure is counted (spool_errors), and one
 *   line is logged when it begins to fail and one when it works again.
 *   Destination is where payloads are for: address, user and tenant, not application and tags. Files for another one
 *   wait for a process that has it, or make room.
 *   Nothing is synced: it outlives the process, and what a power cut damages is noticed.
 *
 * Safety
 *   The directory is made once, for the owner only (0700), and files are 0600. If it vanishes, what is mounted there may
 *   be away: putting fails until it is back. No file descriptor is held but that of a claim. Files hold no credentials.
 *
 * Threads    put: any thread. All else: the uploader only.
 * Ownership  put copies, take gives away. Settings must outlive the spool.
 */
#ifndef RPP_SPOOL_H
#define RPP_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "payload.h"
#include "settings.h"

typedef struct rpp_spool rpp_spool;

/* For settings with a spool_directory. Touches no disk. NULL when out of memory. */
rpp_spool *rpp_spool_new(const rpp_settings *settings);
/* Lets go of a claim; its file stays. */
void rpp_spool_free(rpp_spool *spool);

/* RPP_OK: it is on disk, and counted (payloads_spooled). All else has been counted and told. */
RPP_NODISCARD rpp_status rpp_spool_put(rpp_spool *spool, const rpp_payload *payload);

/* Whether it is worth a look: when something was put or given back, while there is more to take, and every 30 s, as others
 * may have put something. */
bool rpp_spool_may_hold(const rpp_spool *spool, uint64_t now_ns);
/* When to look again if nothing happens; UINT64_MAX: there was nothing to wait for. */
uint64_t rpp_spool_next_look_ns(const rpp_spool *spool);
/* The oldest that nobody else has claimed, or NULL: there is none, or not now. */
rpp_payload *rpp_spool_take(rpp_spool *spool, uint64_t now_ns);

/* Of the payload that was taken last; without one they do nothing. */
bool rpp_spool_has_claim(const rpp_spool *spool);
void rpp_spool_sending(rpp_spool *spool);
/* The payload has ended (payloads_unspooled). */
void rpp_spool_remove(rpp_spool *spool);
/* With its tries so far. RPP_IO: it is no more in the spool (payloads_unspooled); only the caller has it. */
RPP_NODISCARD rpp_status rpp_spool_give_back(rpp_spool *spool, rpp_tries tries);

/* In a forked child: lets go of the parent's claim without touching it. */
void rpp_spool_forget_after_fork(rpp_spool *spool);

#endif
