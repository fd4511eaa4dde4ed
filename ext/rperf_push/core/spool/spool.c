/* spool.c - payloads on disk: they wait for a backend that is away, and outlive the process. */
#include "spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/series_labels.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/directory_files.h"
#include "base/stats.h"
#include "settings/pairs.h"
#include "spool/spool_claim.h"
#include "spool/spool_deferred.h"
#include "spool/spool_destination.h"
#include "spool/spool_list.h"
#include "spool/spool_report.h"

#define LOOK_NS (30 * RPP_NS_PER_S)

struct rpp_spool {
    const rpp_settings *settings;
    uint64_t destination, writer;
    atomic_bool news; /* something was put or given back */

    struct {                                          /* the uploader's own */
        rpp_spool_claim claims[RPP_SPOOL_CLAIMS_MAX]; /* a payload's claim is its place here, from 1 */
        rpp_spool_list batch;                         /* the files of the pass through the directory */
        size_t next;                                  /* the place of the pass in the batch */
        bool passing, waits;                          /* a pass is under way; it left files for later */
        bool looked;
        uint64_t looked_ns;
    } own;

    rpp_spool_deferred deferred;
    rpp_spool_report report;
    atomic_bool made; /* the directory was created */
    _Atomic uint64_t puts;
};

/* --- start and end
 * ------------------------------------------------------------------------------------------------ */

rpp_spool *rpp_spool_new(const rpp_settings *settings)
{
    rpp_spool *self = rpp_calloc(1, sizeof *self);
    if (!self) return NULL;
    self->settings = settings;
    self->writer = rpp_random_seed();
    for (unsigned i = 0; i < RPP_SPOOL_CLAIMS_MAX; i++) self->own.claims[i] = RPP_SPOOL_NO_CLAIM;
    atomic_init(&self->news, false);
    atomic_init(&self->made, false);
    atomic_init(&self->puts, 0);
    rpp_spool_deferred_init(&self->deferred);
    rpp_spool_report_init(&self->report, settings->spool_directory);
    if (rpp_spool_destination(settings, &self->destination) == RPP_OK) return self;
    rpp_spool_free(self);
    return NULL;
}

void rpp_spool_free(rpp_spool *self)
{
    if (!self) return;
    for (unsigned i = 0; i < RPP_SPOOL_CLAIMS_MAX; i++) rpp_spool_claim_release(&self->own.claims[i]);
    rpp_spool_report_destroy(&self->report);
    rpp_spool_deferred_destroy(&self->deferred);
    rpp_free(self);
}

void rpp_spool_discard_after_fork(rpp_spool *self)
{
    for (unsigned i = 0; self && i < RPP_SPOOL_CLAIMS_MAX; i++) {
        if (self->own.claims[i].fd >= 0) close(self->own.claims[i].fd); /* the lock stays with the parent */
    }
}

/* --- the directory
 * -------------------------------------------------------------------------------------------------- */

/* NULL: errno has the reason. */
static DIR *open_directory(rpp_spool *self)
{
    const char *path = self->settings->spool_directory;
    if (!atomic_load(&self->made)) {
        rpp_status status = rpp_directory_make(path, 0700);
        if (status == RPP_NO_MEMORY) errno = ENOMEM;
        if (status != RPP_OK) return NULL;
        atomic_store(&self->made, true);
    }
    DIR *directory = opendir(path);
    if (!directory) return NULL;
    if (faccessat(dirfd(directory), ".", W_OK | X_OK, AT_EACCESS) == 0) return directory;
    int why = errno; /* a payload whose file cannot be deleted must not be sent */
    closedir(directory);
    errno = why;
    return NULL;
}

/* Deletes and counts a file that is in the way, or that a dead process left. False: it could not be deleted. */
static bool discard(rpp_spool *self, DIR *directory, rpp_spool_claim *claim, rpp_stat reason)
{
    rpp_spool_name name = claim->name;
    if (rpp_spool_claim_remove(dirfd(directory), claim) != RPP_OK) {
        rpp_spool_report_errno(&self->report, RPP_SPOOL_TAKING, "cannot delete a file");
        return false;
    }
    if (name.state == RPP_SPOOL_WRITING) return true; /* such a file was never counted as spooled */
    rpp_stats_add(name.state == RPP_SPOOL_SENDING ? RPP_STAT_payloads_unconfirmed : reason, 1);
    rpp_spool_report_gone(&self->report, name.bytes);
    return true;
}

/* --- put
 * ------------------------------------------------------------------------------------------------------------ */

static void defer(rpp_spool *self, const rpp_spool_name *name, const rpp_payload *payload)
{
    const rpp_spool_deferral deferral = {*name, payload->due_ns, payload->failed_in};
    if (payload->due_ns) rpp_spool_deferred_add(&self->deferred, &deferral);
}

/* Deletes the oldest files of the batch until the missing bytes are free, or none is left. */
static uint64_t evict(rpp_spool *self, DIR *directory, const rpp_spool_list *list, uint64_t missing)
{
    uint64_t freed = 0;
    for (size_t i = 0; i < list->count && freed < missing; i++) {
        rpp_spool_claim claim;
        if (rpp_spool_claim_take(dirfd(directory), &list->items[i], &claim) != RPP_OK) continue;
        if (claim.name.state == RPP_SPOOL_WRITING && !rpp_spool_claim_is_stale(&claim)) {
            rpp_spool_claim_release(&claim);
        } else if (discard(self, directory, &claim, RPP_STAT_payloads_dropped_spool_full)) {
            freed += list->items[i].bytes;
        }
    }
    return freed;
}

/* RPP_LIMIT: other processes use all files that could be deleted. */
static rpp_status make_room(rpp_spool *self, DIR *directory, uint64_t bytes)
{
    uint64_t max = self->settings->spool_max_bytes;
    rpp_spool_list list;
    rpp_spool_name last;
    if (bytes > max) return RPP_LIMIT;
    rpp_status status = rpp_spool_list_read(directory, NULL, NULL, &list);
    if (status == RPP_OK) rpp_spool_report_found(&self->report, list.files, list.bytes);
    uint64_t missing = status == RPP_OK && list.bytes > max - bytes ? list.bytes - (max - bytes) : 0;
    while (status == RPP_OK && missing) {
        uint64_t freed = evict(self, directory, &list, missing);
        missing -= freed < missing ? freed : missing;
        if (!missing) break;
        if (!list.more) return RPP_LIMIT;
        last = list.items[list.count - 1];
        status = rpp_spool_list_read(directory, NULL, &last, &list);
    }
    return status;
}

static rpp_status write_file(DIR *directory, rpp_spool_claim *claim, const uint8_t *head, size_t head_length,
                             const rpp_payload *payload)
{
    int why = rpp_file_write_all(claim->fd, head, head_length);
    if (!why) why = rpp_file_write_all(claim->fd, payload->bytes, payload->length);
    if (!why && rpp_spool_claim_rename(dirfd(directory), claim, RPP_SPOOL_READY) != RPP_OK) why = errno;
    if (!why) {
        rpp_spool_claim_release(claim);
        return RPP_OK;
    }
    if (rpp_spool_claim_remove(dirfd(directory), claim) != RPP_OK) why = errno;
    errno = why;
    return RPP_IO;
}

static rpp_status put(rpp_spool *self, DIR *directory, const rpp_payload *payload, const uint8_t *head,
                      size_t head_length)
{
    rpp_spool_claim claim;
    const rpp_spool_name name = {.time_ns = payload->time_ns,
                                 .destination = self->destination,
                                 .writer = self->writer,
                                 .sequence = atomic_fetch_add(&self->puts, 1) + 1,
                                 .bytes = head_length + payload->length,
                                 .state = RPP_SPOOL_READY};
    rpp_status status = make_room(self, directory, name.bytes);
    if (status == RPP_OK) status = rpp_spool_claim_create(dirfd(directory), &name, &claim);
    if (status == RPP_OK) status = write_file(directory, &claim, head, head_length, payload);
    if (status != RPP_OK) return status;
    rpp_spool_report_added(&self->report, name.bytes);
    defer(self, &name, payload);
    return RPP_OK;
}

rpp_status rpp_spool_put(rpp_spool *self, const rpp_payload *payload)
{
    static const char cannot[] = "cannot take a profile";
    rpp_pairs labels = {0};
    uint8_t *head = NULL;
    size_t head_length = 0;
    DIR *directory = NULL;
    long pid = payload->pid ? payload->pid : (long)getpid();

    rpp_status status = rpp_series_labels(self->settings, payload, &labels);
    if (status == RPP_OK) status = rpp_spool_file_head(payload, &labels, pid, &head, &head_length);
    if (status == RPP_OK) {
        directory = open_directory(self);
        status = directory ? put(self, directory, payload, head, head_length) : RPP_IO;
    }

    if (status == RPP_OK) {
        rpp_stats_add(RPP_STAT_payloads_spooled, 1);
        atomic_store(&self->news, true);
        rpp_spool_report_success(&self->report, RPP_SPOOL_PUTTING);
    } else if (status == RPP_IO) {
        rpp_spool_report_errno(&self->report, RPP_SPOOL_PUTTING, cannot);
    } else {
        rpp_spool_report_failure(&self->report, RPP_SPOOL_PUTTING, cannot,
                                 status == RPP_LIMIT ? "it is larger than the room there is" : rpp_status_text(status));
    }
    if (directory) closedir(directory);
    rpp_free(head);
    rpp_pairs_destroy(&labels);
    return status;
}

/* --- take
 * ----------------------------------------------------------------------------------------------------------- */

uint64_t rpp_spool_due_ns(const rpp_spool *self, uint64_t now_ns)
{
    bool may_hold = self->own.passing || !self->own.looked || atomic_load(&self->news);
    if (may_hold || now_ns - self->own.looked_ns >= LOOK_NS) return 0;
    return self->own.waits ? self->own.looked_ns + LOOK_NS : UINT64_MAX;
}

uint64_t rpp_spool_next_deferred_ns(rpp_spool *self)
{
    return rpp_spool_deferred_due_ns(&self->deferred);
}

void rpp_spool_hurry(rpp_spool *self)
{
    rpp_spool_deferred_hurry(&self->deferred);
}

static rpp_payload *end_pass(rpp_spool *self, uint64_t now_ns)
{
    self->own.passing = false;
    self->own.looked = true;
    self->own.looked_ns = now_ns;
    self->own.next = self->own.batch.count = 0;
    return NULL;
}

/* Reads the next batch; a new pass begins with the oldest file. */
static bool read_batch(rpp_spool *self, DIR *directory)
{
    rpp_spool_list *batch = &self->own.batch;
    bool begins = !self->own.passing;
    if (begins) {
        atomic_store(&self->news, false);
        self->own.passing = true;
        self->own.waits = false;
    }
    const rpp_spool_name *after = begins || !batch->count ? NULL : &batch->items[batch->count - 1];
    self->own.next = 0;
    if (rpp_spool_list_read(directory, &self->destination, after, batch) != RPP_OK) {
        rpp_spool_report_errno(&self->report, RPP_SPOOL_TAKING, "cannot be read");
        return false;
    }
    rpp_spool_report_found(&self->report, batch->files, batch->bytes);
    return true;
}

/* A dead process left the file while it was sending. True: the payload is to be sent again. */
static bool finish_sending(rpp_spool *self, DIR *directory, rpp_spool_claim *claim)
{
    if (!self->settings->resend_unconfirmed) {
        discard(self, directory, claim, RPP_STAT_payloads_unconfirmed);
        return false;
    }
    if (rpp_spool_claim_rename(dirfd(directory), claim, RPP_SPOOL_READY) == RPP_OK) return true;
    rpp_spool_claim_release(claim);
    return false;
}

/* There is a place: who takes has looked. */
static unsigned keep(rpp_spool *self, rpp_spool_claim claim)
{
    unsigned place = 0;
    while (self->own.claims[place].fd >= 0) place++;
    self->own.claims[place] = claim;
    return place + 1;
}

static bool has_place(const rpp_spool *self)
{
    unsigned place = 0;
    while (place < RPP_SPOOL_CLAIMS_MAX && self->own.claims[place].fd >= 0) place++;
    return place < RPP_SPOOL_CLAIMS_MAX;
}

/* RPP_INVALID: the file is dealt with, and there is nothing to send. Only RPP_OK leaves a claim. */
static rpp_status claim_next(rpp_spool *self, DIR *directory, const rpp_spool_name *name, rpp_payload **payload)
{
    rpp_spool_claim claim;
    uint8_t *bytes = NULL;
    size_t length = 0;
    rpp_status status = rpp_spool_claim_take(dirfd(directory), name, &claim);
    if (status != RPP_OK) return status;
    if (claim.name.state == RPP_SPOOL_WRITING) {
        bool stale = rpp_spool_claim_is_stale(&claim);
        if (stale) discard(self, directory, &claim, RPP_STAT_payloads_dropped_damaged);
        if (!stale) rpp_spool_claim_release(&claim);
        return RPP_INVALID;
    }
    if (claim.name.state == RPP_SPOOL_SENDING && !finish_sending(self, directory, &claim)) return RPP_INVALID;

    status = rpp_spool_claim_read(&claim, &bytes, &length);
    if (status == RPP_OK) status = rpp_spool_file_read(bytes, length, payload);
    if (status == RPP_OK) {
        (*payload)->claim = keep(self, claim);
    } else if (status == RPP_INVALID) {
        discard(self, directory, &claim, RPP_STAT_payloads_dropped_damaged);
    } else {
        rpp_spool_claim_release(&claim);
    }
    return status;
}

/* Takes the next payload of the pass. False: the disk failed. */
static bool take_oldest(rpp_spool *self, DIR *directory, rpp_payload **payload)
{
    bool good = true;
    while (!*payload) {
        rpp_spool_list *batch = &self->own.batch;
        if (self->own.next < batch->count) {
            const rpp_spool_name *name = &batch->items[self->own.next++];
            if (rpp_spool_deferred_has(&self->deferred, name)) continue;
            rpp_status status = claim_next(self, directory, name, payload);
            if (status == RPP_IO) rpp_spool_report_errno(&self->report, RPP_SPOOL_TAKING, "cannot be read");
            if (status == RPP_IO) good = false;
            if (status != RPP_OK && status != RPP_INVALID) self->own.waits = true;
            if (status == RPP_NO_MEMORY) break;
        } else if (self->own.passing && !batch->more) {
            if (!atomic_load(&self->news)) break;
            self->own.passing = false; /* a new pass: files have come since this one began */
        } else if (!read_batch(self, directory)) {
            self->own.waits = true;
            good = false;
            break;
        }
    }
    return good;
}

rpp_payload *rpp_spool_take(rpp_spool *self, uint64_t now_ns)
{
    if (!has_place(self)) return NULL;
    DIR *directory = open_directory(self);
    if (!directory) {
        rpp_spool_report_errno(&self->report, RPP_SPOOL_TAKING, "cannot be used");
        atomic_store(&self->news, false);
        self->own.waits = true;
        return end_pass(self, now_ns);
    }
    rpp_payload *payload = NULL;
    bool good = take_oldest(self, directory, &payload);
    closedir(directory);
    if (good) rpp_spool_report_success(&self->report, RPP_SPOOL_TAKING);
    return payload ? payload : end_pass(self, now_ns);
}

/* A file that cannot be claimed now is no longer set aside. */
rpp_payload *rpp_spool_take_deferred(rpp_spool *self, uint64_t now_ns)
{
    rpp_spool_deferral deferral;
    rpp_payload *payload = NULL;
    DIR *directory = NULL;
    while (!payload && has_place(self) && rpp_spool_deferred_pop(&self->deferred, now_ns, &deferral)) {
        if (!directory) directory = open_directory(self);
        rpp_status status = directory ? claim_next(self, directory, &deferral.name, &payload) : RPP_IO;
        if (status == RPP_OK) payload->failed_in = deferral.failed_in;
        if (status != RPP_OK && status != RPP_INVALID) self->own.waits = true;
    }
    if (directory) closedir(directory);
    return payload;
}

/* --- a payload that was taken
 * --------------------------------------------------------------------------------------- */

static int open_again(const rpp_spool *self)
{
    return open(self->settings->spool_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void rpp_spool_sending(rpp_spool *self, unsigned number)
{
    rpp_spool_claim *claim = &self->own.claims[number - 1];
    if (claim->name.state == RPP_SPOOL_SENDING) return;
    int directory = open_again(self);
    if (directory < 0 || rpp_spool_claim_rename(directory, claim, RPP_SPOOL_SENDING) != RPP_OK) {
        rpp_spool_report_errno(&self->report, RPP_SPOOL_TAKING, "cannot note what is sent");
    }
    if (directory >= 0) close(directory);
}

/* Deletes the file and ends the claim. If the directory cannot be reached, the file is at least emptied, because no
 * process may send it again. */
static void end_claim(rpp_spool *self, rpp_spool_claim *claim, int directory)
{
    int why = directory < 0 ? errno : 0;
    if (rpp_spool_claim_remove(directory, claim) != RPP_OK && !why) why = errno;
    if (directory >= 0) close(directory);
    if (!why) return;
    errno = why;
    rpp_spool_report_errno(&self->report, RPP_SPOOL_TAKING, "cannot delete a file");
}

void rpp_spool_remove(rpp_spool *self, unsigned number)
{
    rpp_spool_claim *claim = &self->own.claims[number - 1];
    rpp_spool_name name = claim->name;
    end_claim(self, claim, open_again(self));
    rpp_spool_report_gone(&self->report, name.bytes);
}

rpp_status rpp_spool_give_back(rpp_spool *self, const rpp_payload *payload)
{
    uint8_t bytes[RPP_SPOOL_TRIES_BYTES];
    rpp_spool_claim *claim = &self->own.claims[payload->claim - 1];
    rpp_spool_name name = claim->name;
    struct stat status;
    int directory = open_again(self);
    rpp_spool_file_put_tries(payload->tries, bytes);
    bool good = directory >= 0 && fstat(claim->fd, &status) == 0 && status.st_nlink > 0 &&
                pwrite(claim->fd, bytes, sizeof bytes, RPP_SPOOL_TRIES_OFFSET) == (ssize_t)sizeof bytes;
    if (good && name.state == RPP_SPOOL_SENDING) {
        good = rpp_spool_claim_rename(directory, claim, RPP_SPOOL_READY) == RPP_OK;
    }
    if (good) {
        name.state = RPP_SPOOL_READY;
        defer(self, &name, payload);
        close(directory);
        rpp_spool_claim_release(claim);
        atomic_store(&self->news, true);
    } else {
        end_claim(self, claim, directory);
        rpp_spool_report_gone(&self->report, name.bytes);
    }
    end_pass(self, self->own.looked_ns);
    return good ? RPP_OK : RPP_IO;
}
