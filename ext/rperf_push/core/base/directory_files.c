/* directory_files.c - the files of the directory backend: their names, and the limits on their number and size. */
#include "base/directory_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

#define SUFFIX ".pb.gz"

/* --- names
 * ---------------------------------------------------------------------------------------------------------- */

void rpp_file_prefix(const char *application_name, char prefix[RPP_FILE_PREFIX_MAX])
{
    snprintf(prefix, RPP_FILE_PREFIX_MAX, "%s", application_name && *application_name ? application_name : "ruby");
    for (char *at = prefix; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at)) *at = '_';
    }
    if (*prefix == '.') *prefix = '_';
}

void rpp_file_name(const char *prefix, uint64_t time_ns, long pid, uint64_t sequence, char name[RPP_FILE_NAME_MAX])
{
    time_t seconds = (time_t)(time_ns / RPP_NS_PER_S);
    unsigned milliseconds = (unsigned)(time_ns % RPP_NS_PER_S / RPP_NS_PER_MS);
    struct tm utc = {0};
    char time[32] = "00000000T000000";
    if (gmtime_r(&seconds, &utc)) strftime(time, sizeof time, "%Y%m%dT%H%M%S", &utc);
    snprintf(name, RPP_FILE_NAME_MAX, "%s-%s.%03uZ-%ld-%" PRIu64 SUFFIX, prefix, time, milliseconds, pid, sequence);
}

/* The end of a run of digits of this length (0: any length of at least 1), or NULL. */
static const char *skip_digits(const char *at, size_t length)
{
    size_t found = at ? strspn(at, "0123456789") : 0;
    return found && (!length || found == length) ? at + found : NULL;
}

static const char *skip(const char *at, char expected)
{
    return at && *at == expected ? at + 1 : NULL;
}

bool rpp_file_is_ours(const char *prefix, const char *name)
{
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0) return false;
    const char *at = skip(name + length, '-');
    at = skip(skip_digits(at, 8), 'T');
    at = skip(skip_digits(at, 6), '.');
    at = skip(skip(skip_digits(at, 3), 'Z'), '-');
    at = skip_digits(skip(skip_digits(at, 0), '-'), 0);
    return at && strcmp(at, SUFFIX) == 0;
}

/* --- the directory
 * -------------------------------------------------------------------------------------------------- */

rpp_status rpp_directory_make(const char *directory, mode_t mode)
{
    struct stat status;
    char *path = rpp_strdup(directory);
    if (!path) return RPP_NO_MEMORY;
    int failed = 0;
    for (char *at = path + 1; *path && *at && !failed; at++) {
        if (*at != '/') continue;
        *at = '\0';
        failed = mkdir(path, mode) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES;
        *at = '/'; /* a parent that cannot be created may exist: the last mkdir decides */
    }
    if (!failed) failed = mkdir(path, mode) != 0 && errno != EEXIST;
    if (!failed && stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        failed = 1;
    }
    int why = errno;
    rpp_free(path);
    errno = why;
    return failed ? RPP_IO : RPP_OK;
}

int rpp_file_write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        if (written == 0) return ENOSPC;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Gives the file its name if nothing has it: a link never replaces. Returns 0 or an errno value. */
static int name_file(const char *temporary, const char *path)
{
    struct stat status;
    if (link(temporary, path) == 0) {
        unlink(temporary); /* the file is there, whatever becomes of this */
        return 0;
    }
    if (errno == EEXIST || errno == ENOENT) return errno;
    if (lstat(path, &status) == 0) return EEXIST; /* the file system has no links */
    return rename(temporary, path) == 0 ? 0 : errno;
}

/* "DIRECTORY/.NAME.XXXXXX": readers take no name that begins with a dot. */
static char *temporary_path(const char *path)
{
    size_t size = strlen(path) + sizeof "/..XXXXXX";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *temporary = rpp_malloc(size);
    if (temporary) snprintf(temporary, size, "%.*s.%s.XXXXXX", (int)(name - path), path, name);
    return temporary;
}

rpp_status rpp_file_write_new(const char *path, const uint8_t *bytes, size_t length)
{
    char *temporary = temporary_path(path);
    if (!temporary) return RPP_NO_MEMORY;
    int fd = mkostemp(temporary, O_CLOEXEC), why = fd < 0 ? errno : 0;
    if (fd >= 0) {
        why = rpp_file_write_all(fd, bytes, length);
        if (close(fd) != 0 && !why) why = errno; /* NFS reports here what it could not store */
        if (!why) why = name_file(temporary, path);
        if (why) unlink(temporary);
    }
    rpp_free(temporary);
    errno = why;
    return why ? RPP_IO : RPP_OK;
}

typedef struct found_file {
    char name[RPP_FILE_NAME_MAX];
    uint64_t bytes;
} found_file;

typedef struct file_list {
    found_file *items;
    size_t count, capacity;
    uint64_t bytes;
} file_list;

static rpp_status collect(DIR *directory, const char *prefix, file_list *files)
{
    struct stat status;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strlen(entry->d_name) >= RPP_FILE_NAME_MAX || !rpp_file_is_ours(prefix, entry->d_name)) continue;
        if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
            continue; /* another process may have deleted it */
        }
        rpp_status grown = rpp_grow((void **)&files->items, &files->capacity, files->count + 1, sizeof *files->items);
        if (grown != RPP_OK) return grown;
        found_file *file = &files->items[files->count++];
        memcpy(file->name, entry->d_name, strlen(entry->d_name) + 1);
        file->bytes = status.st_size > 0 ? (uint64_t)status.st_size : 0;
        files->bytes += file->bytes;
    }
    return RPP_OK;
}

static uint64_t sequence_of(const found_file *file)
{
    return strtoull(strrchr(file->name, '-') + 1, NULL, 10);
}

/* Compares by time, then by number: all files have the same NAME, and the fields before the number have a fixed
 * length. */
static int compare_age(const void *a, const void *b)
{
    const found_file *left = a, *right = b;
    const char *left_rest = strrchr(left->name, 'Z'), *right_rest = strrchr(right->name, 'Z');
    size_t left_length = (size_t)(left_rest - left->name), right_length = (size_t)(right_rest - right->name);
    int order = memcmp(left->name, right->name, left_length < right_length ? left_length : right_length);
    if (order) return order;
    uint64_t left_sequence = sequence_of(left), right_sequence = sequence_of(right);
    return left_sequence < right_sequence ? -1 : left_sequence > right_sequence;
}

rpp_status rpp_directory_trim(const char *path, const char *prefix, uint64_t max_files, uint64_t max_bytes)
{
    file_list files = {0};
    if (!max_files && !max_bytes) return RPP_OK;
    DIR *directory = opendir(path);
    if (!directory) return RPP_IO;

    rpp_status status = collect(directory, prefix, &files);
    if (status != RPP_OK) goto done;
    if (files.count) qsort(files.items, files.count, sizeof *files.items, compare_age);
    uint64_t left = files.count;
    for (size_t i = 0; i + 1 < files.count; i++) {
        bool too_many = max_files && left > max_files, too_large = max_bytes && files.bytes > max_bytes;
        if (!too_many && !too_large) break;
        if (unlinkat(dirfd(directory), files.items[i].name, 0) != 0 && errno != ENOENT) {
            status = RPP_IO;
            break;
        }
        left--;
        files.bytes -= files.items[i].bytes;
    }

done:;
    int why = errno;
    closedir(directory);
    rpp_free(files.items);
    errno = why;
    return status;
}
