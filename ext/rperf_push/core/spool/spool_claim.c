/* spool_claim.c - a spool file that one process has locked. */
#include "spool/spool_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

#define STALE_S 60

/* RPP_BUSY: another process has it. */
static rpp_status lock(int fd, int how)
{
    while (flock(fd, LOCK_EX | how) != 0) {
        if (errno == EWOULDBLOCK) return RPP_BUSY;
        if (errno != EINTR) return RPP_IO;
    }
    return RPP_OK;
}

/* Between open and lock, the previous owner may have renamed or deleted the file. */
static bool still_has_name(int directory, const char *text, const struct stat *opened)
{
    struct stat named;
    return fstatat(directory, text, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == opened->st_ino &&
           named.st_dev == opened->st_dev;
}

static void close_quietly(int fd)
{
    int why = errno;
    close(fd);
    errno = why;
}

rpp_status rpp_spool_claim_take(int directory, const rpp_spool_name *name, rpp_spool_claim *claim)
{
    char text[RPP_SPOOL_NAME_MAX];
    struct stat opened;
    rpp_spool_name_text(name, text);
    int fd = openat(directory, text, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        bool is_foreign = errno == ENOENT || errno == ELOOP || errno == EACCES || errno == EISDIR || errno == ENXIO;
        return is_foreign ? RPP_BUSY : RPP_IO;
    }

    rpp_status status = fstat(fd, &opened) == 0 ? RPP_OK : RPP_IO;
    if (status == RPP_OK && (!S_ISREG(opened.st_mode) || opened.st_uid != geteuid())) status = RPP_BUSY;
    if (status == RPP_OK) status = lock(fd, LOCK_NB);
    if (status == RPP_OK && !still_has_name(directory, text, &opened)) status = RPP_BUSY;
    if (status != RPP_OK) {
        close_quietly(fd);
        return status;
    }
    *claim = (rpp_spool_claim){fd, *name};
    return RPP_OK;
}

rpp_status rpp_spool_claim_create(int directory, const rpp_spool_name *name, rpp_spool_claim *claim)
{
    char text[RPP_SPOOL_NAME_MAX];
    rpp_spool_claim created = {.name = *name};
    created.name.state = RPP_SPOOL_WRITING;
    created.fd = openat(directory, rpp_spool_name_text(&created.name, text),
                        O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (created.fd < 0) return RPP_IO;
    /* Another process may have it for a moment, to check for a dead owner. Without locks there is no spool. */
    if (lock(created.fd, 0) != RPP_OK) {
        int why = errno;
        unlinkat(directory, text, 0);
        close(created.fd);
        errno = why;
        return RPP_IO;
    }
    *claim = created;
    return RPP_OK;
}

bool rpp_spool_claim_is_stale(const rpp_spool_claim *claim)
{
    struct stat status;
    time_t now = (time_t)(rpp_realtime_ns() / RPP_NS_PER_S);
    return claim->name.state == RPP_SPOOL_WRITING && fstat(claim->fd, &status) == 0 &&
           (now - status.st_mtime > STALE_S || status.st_mtime - now > STALE_S);
}

rpp_status rpp_spool_claim_rename(int directory, rpp_spool_claim *claim, rpp_spool_state state)
{
    char from[RPP_SPOOL_NAME_MAX], to[RPP_SPOOL_NAME_MAX];
    rpp_spool_name name = claim->name;
    name.state = state;
    if (renameat(directory, rpp_spool_name_text(&claim->name, from), directory, rpp_spool_name_text(&name, to)) != 0) {
        return RPP_IO;
    }
    claim->name = name;
    return RPP_OK;
}

rpp_status rpp_spool_claim_read(const rpp_spool_claim *claim, uint8_t **bytes, size_t *length)
{
    struct stat status;
    if (fstat(claim->fd, &status) != 0) return RPP_IO;
    if (status.st_size <= 0 || status.st_size > RPP_SPOOL_FILE_MAX || (uint64_t)status.st_size != claim->name.bytes)
        return RPP_INVALID;
    size_t size = (size_t)status.st_size, done = 0;
    uint8_t *room = rpp_malloc(size);
    if (!room) return RPP_NO_MEMORY;
    while (done < size) {
        ssize_t got = pread(claim->fd, room + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            rpp_free(room);
            return got < 0 ? RPP_IO : RPP_INVALID;
        }
        done += (size_t)got;
    }
    *bytes = room;
    *length = size;
    return RPP_OK;
}

rpp_status rpp_spool_claim_remove(int directory, rpp_spool_claim *claim)
{
    char text[RPP_SPOOL_NAME_MAX];
    rpp_status status = RPP_OK;
    if (unlinkat(directory, rpp_spool_name_text(&claim->name, text), 0) != 0 && errno != ENOENT) {
        int why = errno;
        status = RPP_IO;
        /* The process that finds it must not send it again. */
        if (ftruncate(claim->fd, 0) != 0) why = errno;
        errno = why;
    }
    rpp_spool_claim_release(claim);
    return status;
}

void rpp_spool_claim_release(rpp_spool_claim *claim)
{
    if (claim->fd < 0) return;
    flock(claim->fd, LOCK_UN); /* a process forked in between also has the file open */
    close_quietly(claim->fd);
    *claim = RPP_SPOOL_NO_CLAIM;
}
