/* spool.h - payloads on disk: they wait for a backend that is away, and outlive the process.
 *
 * Operation
 *   put      writes a copy under a temporary name, then renames it. If the directory would exceed spool_max_bytes, the
 *            oldest files are deleted, no matter which process wrote them (payloads_dropped_spool_full).
 *   take     claims the oldest file for this destination and reads it. Any process may have written it, also one that
 *            is dead. The labels of its series are in the file.
 *   sending  notes in the file's name that the request may go out from now on.
 *   then     remove (it has ended: delivered, unconfirmed or dropped) or give_back (another try follows).
 *   A payload that comes with a due time is set aside: take skips it, take_deferred finds it (spool_deferred.h).
 *
 * Properties
 *   A claim is a lock on the open file (flock), so no two processes, and no two spools of one process, ever have the
 *   same payload. The kernel releases the claim of a process that dies. If a process died before it began to send a
 *   payload, the next process takes it. If it had begun, the payload may have been stored: it is counted as unconfirmed
 *   and not sent again, unless resend_unconfirmed is set. Files that were cut or changed are deleted and counted
 *   (payloads_dropped_damaged). Files with other names, files of other users, and anything but regular files are left
 *   alone. A payload that cannot be written stays in memory. Each failure is counted (spool_errors); one line is logged
 *   when writing begins to fail, and one when it works again. The destination consists of address, user and tenant,
 *   without application and tags. Files for another destination wait for a process that has it, or are deleted to make
 *   room. Nothing is synced: files outlive the process, and a file damaged by a power failure is recognized.
 *
 * Safety
 *   The directory is created once, for the owner only (0700); files are 0600. If it vanishes, its file system may be
 *   unmounted: put fails until the directory is back. The only open descriptors are those of claims. Files contain no
 *   credentials.
 *
 * Threads    put: any thread. All others: the uploader only, unless a line says something else.
 * Ownership  put copies, take gives a payload to the caller. Settings must outlive the spool.
 */
#ifndef RPP_SPOOL_H
#define RPP_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/payload.h"
#include "settings/settings.h"

#define RPP_SPOOL_CLAIMS_MAX 8u

typedef struct rpp_spool rpp_spool;

/* For settings with a spool_directory. Does not touch the disk. NULL if out of memory. */
rpp_spool *rpp_spool_new(const rpp_settings *settings);
/* Releases all claims; their files stay. */
void rpp_spool_free(rpp_spool *spool);

/* RPP_OK: it is on disk and counted (payloads_spooled). Any failure is counted and logged. */
RPP_NODISCARD rpp_status rpp_spool_put(rpp_spool *spool, const rpp_payload *payload);

/* When to call take. 0 means now: something was put or given back, there is more to take, or the last look was 30 s ago
 * and other processes may have put something. UINT64_MAX: there is nothing to wait for. */
uint64_t rpp_spool_due_ns(const rpp_spool *spool, uint64_t now_ns);
/* Claims the oldest payload that no process has claimed. NULL: the spool has no such payload, or reading failed for
 * now. At most RPP_SPOOL_CLAIMS_MAX are claimed at once. */
rpp_payload *rpp_spool_take(rpp_spool *spool, uint64_t now_ns);
/* Claims the first payload with a due time, if it is due. */
rpp_payload *rpp_spool_take_deferred(rpp_spool *spool, uint64_t now_ns);
/* The due time of that payload; UINT64_MAX: none is set aside. */
uint64_t rpp_spool_next_deferred_ns(rpp_spool *spool);
/* Makes all payloads with a due time due now. Any thread. */
void rpp_spool_hurry(rpp_spool *spool);

/* The following functions are about a payload that was taken, by its claim. */
void rpp_spool_sending(rpp_spool *spool, unsigned claim);
/* The payload has ended (payloads_unspooled). */
void rpp_spool_remove(rpp_spool *spool, unsigned claim);
/* Stores its tries so far and its due time. RPP_IO: it is no longer in the spool (payloads_unspooled); only the caller
 * has it. */
RPP_NODISCARD rpp_status rpp_spool_give_back(rpp_spool *spool, const rpp_payload *payload);

/* In a forked child: closes the descriptors of the parent's claims; the parent keeps them. */
void rpp_spool_discard_after_fork(rpp_spool *spool);

#endif
