/* backend_directory.c - writes profiles as files, whole or not at all, and never over another one. It deletes the
 * oldest to make room, and creates the directory if it is missing or has vanished.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend_kinds.h"
#include "base/alloc.h"
#include "base/directory_files.h"
#include "base/errno_text.h"
#include "base/log.h"
#include "base/utf8.h"
#include "encoding/pprof_encoder.h"

typedef struct directory {
    rpp_backend backend; /* first */
    const rpp_settings *settings;
    char prefix[RPP_FILE_PREFIX_MAX];
    bool told_of_room;
} directory;

static void fail(rpp_upload_result *result, const char *what, const char *path, int why)
{
    char room[RPP_ERRNO_TEXT_MAX];
    *result = (rpp_upload_result){.attempt.end = RPP_END_IO_ERROR};
    snprintf(result->message, sizeof result->message, "could not %s %.250s: %s", what, path, rpp_errno_text(why, room));
    rpp_utf8_one_line(result->message, strlen(result->message));
}

/* Where another process with this pid has written a file of that millisecond and number, the name has the next one. */
static rpp_status store(const directory *self, const rpp_payload *payload, char *path, size_t size)
{
    char name[RPP_FILE_NAME_MAX];
    uint64_t time_ns = payload->time_ns;
    rpp_status status;
    do {
        rpp_file_name(self->prefix, time_ns, payload->pid ? payload->pid : (long)getpid(), payload->sequence, name);
        snprintf(path, size, "%s/%s", self->settings->directory, name);
        status = rpp_file_write_new(path, payload->bytes, payload->length);
        time_ns += RPP_NS_PER_MS;
    } while (status == RPP_IO && errno == EEXIST);
    return status;
}

/* The profile is stored. If older ones cannot be deleted, this is no failure; the next profile tries again. */
static void make_room(directory *self)
{
    const rpp_settings *settings = self->settings;
    char room[RPP_ERRNO_TEXT_MAX];
    rpp_status status = rpp_directory_trim(settings->directory, self->prefix, settings->directory_max_files,
                                           settings->directory_max_bytes);
    if (status == RPP_IO && !self->told_of_room) {
        rpp_log(RPP_LOG_WARN, "could not delete old profiles in %s: %s", settings->directory,
                rpp_errno_text(errno, room));
    }
    self->told_of_room = status == RPP_IO;
}

static rpp_status deliver(rpp_backend *backend, const rpp_payload *payload, uint64_t deadline_ns,
                          rpp_upload_result *result)
{
    directory *self = (directory *)backend;
    const char *folder = self->settings->directory;
    size_t size = strlen(folder) + 1 + RPP_FILE_NAME_MAX;
    bool made = true;
    (void)deadline_ns;

    char *path = rpp_malloc(size);
    if (!path) return RPP_NO_MEMORY;
    rpp_status status = store(self, payload, path, size);
    if (status == RPP_IO && (errno == ENOENT || errno == ENOTDIR)) {
        status = rpp_directory_make(folder, 0777);
        made = status == RPP_OK;
        if (made) status = store(self, payload, path, size);
    }
    if (status == RPP_IO) fail(result, made ? "write" : "create", made ? path : folder, errno);
    rpp_free(path);
    if (status == RPP_OK) {
        *result = (rpp_upload_result){.attempt = {.end = RPP_END_STORED, .sent_whole = true}};
        make_room(self);
    }
    return status == RPP_IO ? RPP_OK : status; /* the result reports it */
}

static void free_directory(rpp_backend *backend)
{
    rpp_free(backend);
}

rpp_backend *rpp_backend_directory_new(const rpp_settings *settings)
{
    directory *self = rpp_calloc(1, sizeof *self);
    if (!self) return NULL;
    self->settings = settings;
    rpp_file_prefix(settings->application_name, self->prefix);
    self->backend = (rpp_backend){.name = "directory",
                                  .rules = {.encode = rpp_pprof_encode, .max_age_ns = RPP_BACKEND_AGE_MAX_NS},
                                  .deliver = deliver,
                                  .free = free_directory};
    return &self->backend;
}
