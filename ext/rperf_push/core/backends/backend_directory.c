/* backend_directory.c - writes profiles as files: under a name that begins with a dot, then renamed, so that readers find
 * only whole files. It deletes the oldest to make room, and creates the directory if it is missing or has vanished.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend_kinds.h"
#include "base/alloc.h"
#include "base/directory_files.h"
#include "base/errno_text.h"
#include "base/log.h"
#include "base/utf8.h"

typedef struct directory {
    rpp_backend backend; /* first */
    const rpp_settings *settings;
    char prefix[RPP_FILE_PREFIX_MAX];
    bool told_of_room;
} directory;

static void fail(rpp_delivery *delivery, const char *what, const char *path, int why)
{
    char room[RPP_ERRNO_TEXT_MAX];
    *delivery = (rpp_delivery){.attempt.end = RPP_END_IO_ERROR};
    snprintf(delivery->message, sizeof delivery->message, "could not %s %.250s: %s", what, path,
             rpp_errno_text(why, room));
    rpp_utf8_one_line(delivery->message, strlen(delivery->message));
}

/* Returns 0 or an errno value. O_EXCL and O_NOFOLLOW, because other users may be able to write there. */
static int write_file(const char *path, const rpp_payload *payload)
{
    if (unlink(path) != 0 && errno != ENOENT) return errno; /* ours, left by a crash under the same pid */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    int why = rpp_file_write_all(fd, payload->bytes, payload->length);
    if (close(fd) != 0 && !why) why = errno; /* NFS reports here what it could not store */
    return why;
}

static char *join(const char *path, const char *dot, const char *name)
{
    size_t size = strlen(path) + strlen(dot) + strlen(name) + 2;
    char *joined = rpp_malloc(size);
    if (joined) snprintf(joined, size, "%s/%s%s", path, dot, name);
    return joined;
}

/* Returns 0 or an errno value; after a failure no file is left. */
static int store(const char *temporary, const char *path, const rpp_payload *payload)
{
    int why = write_file(temporary, payload);
    if (!why && rename(temporary, path) != 0) why = errno;
    if (why) unlink(temporary);
    return why;
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
                          rpp_delivery *delivery)
{
    directory *self = (directory *)backend;
    const rpp_settings *settings = self->settings;
    char name[RPP_FILE_NAME_MAX], *path = NULL, *temporary = NULL;
    (void)deadline_ns;

    rpp_status status = RPP_NO_MEMORY;
    rpp_file_name(self->prefix, payload->time_ns, payload->pid ? payload->pid : (long)getpid(), payload->sequence,
                  name);
    path = join(settings->directory, "", name);
    temporary = join(settings->directory, ".", name);
    if (!path || !temporary) goto done;

    int why = store(temporary, path, payload);
    if (why == ENOENT || why == ENOTDIR) {
        status = rpp_directory_make(settings->directory, 0777);
        if (status == RPP_IO) fail(delivery, "create", settings->directory, errno);
        if (status != RPP_OK) goto done;
        why = store(temporary, path, payload);
    }
    status = RPP_OK;
    if (why) {
        fail(delivery, "write", path, why);
        goto done;
    }
    *delivery = (rpp_delivery){.attempt = {.end = RPP_END_STORED, .sent_whole = true}};
    make_room(self);

done:
    rpp_free(path);
    rpp_free(temporary);
    return status == RPP_IO ? RPP_OK : status; /* the delivery reports it */
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
                                  .limits.max_age_ns = RPP_BACKEND_AGE_MAX_NS,
                                  .legal_label_names = true,
                                  .deliver = deliver,
                                  .free = free_directory};
    return &self->backend;
}
