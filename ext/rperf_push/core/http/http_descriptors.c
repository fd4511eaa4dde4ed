/* http_descriptors.c - the file descriptors that libcurl opens: they close on exec, and they are recorded. */
#include "http/http_descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/sockios.h>
#define FOLDER "/proc/self/fd"
#else
#define FOLDER "/dev/fd"
#endif

#define CANDIDATES_MAX 256u
#define ROUNDS         2 /* a chance match with another thread's descriptors does not happen again */

/* --- sockets
 * -------------------------------------------------------------------------------------------------------- */

static void close_on_exec(int fd)
{
    int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC)) fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

static void add(rpp_http_descriptors *self, int fd)
{
    if (self->count < RPP_DESCRIPTORS_MAX) self->open[self->count++] = fd;
}

curl_socket_t rpp_http_open_socket(void *descriptors, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
#ifdef SOCK_CLOEXEC
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
    int fd = socket(address->family, address->socktype, address->protocol);
    close_on_exec(fd);
#endif
    if (fd < 0) return CURL_SOCKET_BAD;
    add(descriptors, fd);
    return fd;
}

int rpp_http_close_socket(void *descriptors, curl_socket_t socket)
{
    rpp_http_descriptors *self = descriptors;
    for (size_t i = 0; i < self->count; i++) {
        if (self->open[i] != socket) continue;
        self->open[i] = self->open[--self->count];
        break;
    }
    return close(socket);
}

void rpp_http_descriptors_close_all(rpp_http_descriptors *self)
{
    while (self->count) close(self->open[--self->count]);
}

/* --- the wake-up pair
 * ----------------------------------------------------------------------------------------------- */

/* True if a pipe or a local socket contains bytes, or has bytes on the way out. */
static bool holds_bytes(int fd)
{
    int in = 0, out = 0;
    if (ioctl(fd, FIONREAD, &in) != 0) in = 0;
#ifdef SIOCOUTQ
    if (ioctl(fd, SIOCOUTQ, &out) != 0) out = 0;
#endif
    return in > 0 || out > 0;
}

/* Looks it up by name in the folder: other threads may close theirs at the same time. */
static bool may_be_of_a_pair(DIR *folder, const char *entry, int fd)
{
    struct stat status;
    struct sockaddr name = {0};
    socklen_t length = sizeof name;
    if (fstatat(dirfd(folder), entry, &status, 0) != 0) return false;
    if (S_ISFIFO(status.st_mode)) return true;
    return S_ISSOCK(status.st_mode) && getsockname(fd, &name, &length) == 0 && name.sa_family == AF_UNIX;
}

static size_t list_candidates(int candidates[CANDIDATES_MAX])
{
    size_t count = 0;
    DIR *folder = opendir(FOLDER);
    for (struct dirent *entry; folder && count < CANDIDATES_MAX && (entry = readdir(folder));) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && may_be_of_a_pair(folder, entry->d_name, fd)) candidates[count++] = fd;
    }
    if (folder) closedir(folder);
    return count;
}

static size_t keep_those(int *candidates, size_t count, bool with_bytes)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (holds_bytes(candidates[i]) == with_bytes) candidates[kept++] = candidates[i];
    }
    return kept;
}

static size_t keep_new(int *candidates, size_t count, const int *before, size_t count_before)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new = true;
        for (size_t j = 0; j < count_before && is_new; j++) is_new = before[j] != candidates[i];
        if (is_new) candidates[kept++] = candidates[i];
    }
    return kept;
}

/* Finds the pair of an unused handle among the candidates. */
static size_t keep_wakeup(CURLM *multi, int *candidates, size_t count)
{
    count = keep_those(candidates, count, false);
    for (int round = 0; round < ROUNDS && count; round++) {
        if (curl_multi_wakeup(multi) != CURLM_OK) return 0;
        count = keep_those(candidates, count, true);
        curl_multi_poll(multi, NULL, 0, 0, NULL); /* notices */
        count = keep_those(candidates, count, false);
    }
    return count;
}

CURLM *rpp_http_new_multi(rpp_http_descriptors *self)
{
    int before[CANDIDATES_MAX], candidates[CANDIDATES_MAX];
    size_t count_before = list_candidates(before);
    CURLM *multi = curl_multi_init();
    if (!multi || count_before == CANDIDATES_MAX) return multi;
    size_t count = keep_new(candidates, list_candidates(candidates), before, count_before);
    count = keep_wakeup(multi, candidates, count);
    for (size_t i = 0; i < count && count == 2; i++) {
        close_on_exec(candidates[i]);
        add(self, candidates[i]);
    }
    return multi;
}
