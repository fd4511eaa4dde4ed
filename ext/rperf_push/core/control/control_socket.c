/* control_socket.c - where a process listens, and who may connect. */
#include "control/control_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/directory_files.h"
#include "base/errno_text.h"

#define BACKLOG         16
#define ENTRIES_MAX     4096 /* of a folder; more are ignored */
#define SUFFIX          ".sock"
#define FOLDER_WAIT_MS  250
/* In a folder such as /tmp, any user can hold the lock. */
#define FOREIGN_WAIT_MS 20

/* --- descriptors --- */

rpp_control_descriptor rpp_control_descriptor_of(int number)
{
    struct stat status;
    rpp_control_descriptor descriptor = {.number = number};
    if (number < 0 || fstat(number, &status) != 0) return (rpp_control_descriptor){.number = -1};
    descriptor.device = status.st_dev;
    descriptor.inode = status.st_ino;
    return descriptor;
}

bool rpp_control_descriptor_is_ours(const rpp_control_descriptor *d)
{
    struct stat status;
    return d->number >= 0 && fstat(d->number, &status) == 0 && status.st_dev == d->device && status.st_ino == d->inode;
}

void rpp_control_descriptor_close(rpp_control_descriptor *d)
{
    if (rpp_control_descriptor_is_ours(d)) close(d->number);
    d->number = -1;
}

/* Creates a socket that does not block. Programs that we start do not inherit it. */
#ifdef SOCK_CLOEXEC

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int accept_one(int listening)
{
    return accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

#else

static int prepared(int number)
{
    if (number < 0) return -1;
    fcntl(number, F_SETFD, FD_CLOEXEC);
    fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK);
#ifdef SO_NOSIGPIPE
    setsockopt(number, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    return number;
}

static int new_socket(void)
{
    return prepared(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int accept_one(int listening)
{
    return prepared(accept(listening, NULL, NULL));
}

#endif

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

/* --- places --- */

static rpp_status refuse(char why[RPP_CONTROL_WHY_MAX], const char *path, const char *reason)
{
    snprintf(why, RPP_CONTROL_WHY_MAX, "%s: %s", path, reason);
    return RPP_IO;
}

static rpp_status refuse_with_errno(char why[RPP_CONTROL_WHY_MAX], const char *path)
{
    char text[RPP_ERRNO_TEXT_MAX];
    return refuse(why, path, rpp_errno_text(errno, text));
}

static bool is_set(const char *text)
{
    return text && *text;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), of_end = strlen(end);
    return length > of_end && strcmp(text + length - of_end, end) == 0;
}

/* Returns false if it does not fit. */
static bool auto_folder(char *folder, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    int length = is_set(runtime) ? snprintf(folder, size, "%s/rperf-push", runtime)
                                 : snprintf(folder, size, "%s/rperf-push-%u", is_set(temporary) ? temporary : "/tmp",
                                            (unsigned)geteuid());
    return length > 0 && (size_t)length < size;
}

/* In a folder that other users may write into, a socket may be anyone's. A folder of "auto" is found by its name in a
 * folder that all users write into, so it must not be a link, and no other user may look into it. */
static rpp_status make_folder(const char *folder, bool is_auto, char why[RPP_CONTROL_WHY_MAX])
{
    struct stat status;
    if (rpp_directory_make(folder, 0700) != RPP_OK || (is_auto ? lstat : stat)(folder, &status) != 0)
        return refuse_with_errno(why, folder);
    bool is_ours = S_ISDIR(status.st_mode) && status.st_uid == geteuid();
    if (is_auto && (!is_ours || status.st_mode & 077)) return refuse(why, folder, "is not a folder of this user alone");
    if (!is_ours || status.st_mode & 022)
        return refuse(why, folder, "other users may write into it: use a folder in it, or chown and chmod go-w");
    return RPP_OK;
}

static void folder_of(const char *path, char folder[RPP_CONTROL_PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    if (slash && slash != path) {
        snprintf(folder, RPP_CONTROL_PATH_MAX, "%.*s", (int)(slash - path), path);
    } else {
        snprintf(folder, RPP_CONTROL_PATH_MAX, "%s", slash ? "/" : ".");
    }
}

/* True if no other user can lock the folder. */
static bool is_own(int folder)
{
    struct stat seen;
    return fstat(folder, &seen) == 0 && seen.st_uid == geteuid() && !(seen.st_mode & (S_IRWXG | S_IRWXO));
}

/* A process locks the folder before it removes a socket: after its check that the socket is dead, another process
 * could put its own there. Returns false if another process holds the lock, and true if the file system cannot lock
 * folders. */
static bool lock_folder(const char *folder, int *lock)
{
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0) return true;
    int wait_ms = is_own(*lock) ? FOLDER_WAIT_MS : FOREIGN_WAIT_MS;
    for (int waited_ms = 0; flock(*lock, LOCK_EX | LOCK_NB) != 0; waited_ms++) {
        if (errno != EWOULDBLOCK && errno != EINTR) return true;
        if (waited_ms == wait_ms) {
            close(*lock);
            return false;
        }
        usleep(1000);
    }
    return true;
}

static void unlock_folder(int lock)
{
    if (lock < 0) return;
    flock(lock, LOCK_UN); /* a child forked meanwhile has the same open file */
    close(lock);
}

/* True if a process listens there, even if its backlog is full. */
static bool is_listened_to(const char *path)
{
    struct sockaddr_un address = address_of(path);
    int probe = new_socket();
    if (probe < 0) return true; /* we cannot know: keep the file */
    bool listened =
        connect(probe, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN || errno == EINPROGRESS;
    close(probe);
    return listened;
}

static bool is_socket(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

static bool is_another_file(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode);
}

/* A socket is stale if its process is dead: then nothing listens there. Lock the folder first. */
static void remove_if_stale(const char *path)
{
    if (is_socket(path) && !is_listened_to(path)) unlink(path);
}

/* "4711.sock" */
static bool is_named_after_pid(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits && strcmp(name + digits, SUFFIX) == 0;
}

static void sweep_locked(const char *folder)
{
    DIR *directory = opendir(folder);
    if (!directory) return;
    const struct dirent *entry;
    for (int looked = 0; looked < ENTRIES_MAX && (entry = readdir(directory)); looked++) {
        char path[RPP_CONTROL_PATH_MAX];
        if (!is_named_after_pid(entry->d_name)) continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < sizeof path) remove_if_stale(path);
    }
    closedir(directory);
}

static void sweep(const char *folder)
{
    int lock;
    if (!lock_folder(folder, &lock)) return;
    sweep_locked(folder);
    unlock_folder(lock);
}

static rpp_status path_in(const char *folder, bool is_auto, char *path, char why[RPP_CONTROL_WHY_MAX])
{
    int length = snprintf(path, RPP_CONTROL_PATH_MAX, "%s/%ld" SUFFIX, folder, (long)getpid());
    if (length < 0 || length >= RPP_CONTROL_PATH_MAX) return refuse(why, folder, "is too long a path for a socket");
    rpp_status status = make_folder(folder, is_auto, why);
    if (status == RPP_OK) sweep(folder);
    return status;
}

static rpp_status path_of_name(const char *place, char *path, char why[RPP_CONTROL_WHY_MAX])
{
    char folder[RPP_CONTROL_PATH_MAX];
    int length = snprintf(path, RPP_CONTROL_PATH_MAX, "%s", place);
    if (length >= RPP_CONTROL_PATH_MAX) return refuse(why, place, "is too long a path for a socket");
    folder_of(path, folder);
    return make_folder(folder, false, why);
}

/* NAME-PID.sock, because another process listens at NAME.sock. */
static rpp_status path_beside(const char *place, char *path, char why[RPP_CONTROL_WHY_MAX])
{
    int stem = (int)(strlen(place) - strlen(SUFFIX));
    int length = snprintf(path, RPP_CONTROL_PATH_MAX, "%.*s-%ld" SUFFIX, stem, place, (long)getpid());
    return length < RPP_CONTROL_PATH_MAX ? RPP_OK : refuse(why, place, "is too long a path for a socket");
}

static rpp_status choose_path(const char *place, char *path, char why[RPP_CONTROL_WHY_MAX])
{
    char folder[RPP_CONTROL_PATH_MAX];
    if (ends_with(place, SUFFIX)) return path_of_name(place, path, why);
    if (strcmp(place, "auto") != 0) return path_in(place, false, path, why);
    if (!auto_folder(folder, sizeof folder))
        return refuse(why, "XDG_RUNTIME_DIR or TMPDIR", "is too long a path for a socket");
    return path_in(folder, true, path, why);
}

/* --- listening --- */

/* Makes a name that `sweep` ignores. Until our socket listens, it looks like the socket of a dead process. */
static bool name_before_it_listens(const char *path, char name[RPP_CONTROL_PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    int length = snprintf(name, RPP_CONTROL_PATH_MAX, "%.*s.%ld~", folder, path, (long)getpid());
    return length > 0 && length < RPP_CONTROL_PATH_MAX;
}

/* Never replaces another process's socket: link fails if the path exists. */
static bool move_to(const char *born, const char *path)
{
    if (link(born, path) == 0) return unlink(born) == 0;
    if (errno != EEXIST && access(path, F_OK) != 0) return rename(born, path) == 0; /* this file system has no links */
    errno = EADDRINUSE;
    return false;
}

/* Moves the socket to its path, if the path is free or its socket is dead. */
static bool take_path(const char *born, const char *path)
{
    char folder[RPP_CONTROL_PATH_MAX];
    int lock;
    folder_of(path, folder);
    bool alone = lock_folder(folder, &lock);
    if (alone) remove_if_stale(path);
    bool taken = move_to(born, path);
    int why_not = errno;
    if (alone) unlock_folder(lock);
    errno = why_not;
    return taken;
}

/* Takes the path last, so that a path always leads to a socket that listens. */
static bool put_at(int number, const char *born, const char *path, struct stat *status)
{
    struct sockaddr_un address = address_of(born);
    fchmod(number, 0600); /* on some systems the path gets this mode */
    unlink(born);         /* left by an earlier process with this pid */
    if (bind(number, (struct sockaddr *)&address, sizeof address) != 0) return false;
    bool done =
        chmod(born, 0600) == 0 && lstat(born, status) == 0 && listen(number, BACKLOG) == 0 && take_path(born, path);
    int why_not = errno;
    if (!done) unlink(born);
    errno = why_not;
    return done;
}

/* Returns RPP_BUSY if another process listens there. */
static rpp_status listen_at(rpp_control_socket *s, char why[RPP_CONTROL_WHY_MAX])
{
    char born[RPP_CONTROL_PATH_MAX];
    struct stat status;
    if (!name_before_it_listens(s->path, born)) return refuse(why, s->path, "is too long a path for a socket");
    int number = new_socket();
    if (number < 0) return refuse_with_errno(why, s->path);
    if (!put_at(number, born, s->path, &status)) {
        bool taken = errno == EADDRINUSE;
        rpp_status refused = refuse_with_errno(why, s->path);
        close(number);
        return taken && !is_another_file(s->path) ? RPP_BUSY : refused;
    }
    s->listening = rpp_control_descriptor_of(number);
    s->device = status.st_dev;
    s->inode = status.st_ino;
    return RPP_OK;
}

rpp_status rpp_control_socket_open(rpp_control_socket *s, const char *place, char why[RPP_CONTROL_WHY_MAX])
{
    rpp_control_socket opened = {.listening.number = -1};
    rpp_status status = choose_path(place, opened.path, why);
    if (status == RPP_OK) status = listen_at(&opened, why);
    if (status == RPP_BUSY && ends_with(place, SUFFIX)) {
        status = path_beside(place, opened.path, why);
        if (status == RPP_OK) status = listen_at(&opened, why);
    }
    if (status != RPP_OK) return RPP_IO;
    *s = opened;
    return RPP_OK;
}

void rpp_control_socket_close(rpp_control_socket *s)
{
    char folder[RPP_CONTROL_PATH_MAX];
    struct stat status;
    int lock;
    folder_of(s->path, folder);
    /* If the socket looks dead already, another process may be about to replace it. */
    bool alone = lock_folder(folder, &lock);
    if (lstat(s->path, &status) == 0 && status.st_dev == s->device && status.st_ino == s->inode) unlink(s->path);
    if (alone) unlock_folder(lock);
    rpp_control_descriptor_close(&s->listening);
}

rpp_status rpp_control_socket_open_again(rpp_control_socket *s, char why[RPP_CONTROL_WHY_MAX])
{
    rpp_control_socket_close(s);
    return listen_at(s, why) == RPP_OK ? RPP_OK : RPP_IO;
}

void rpp_control_socket_discard_after_fork(rpp_control_socket *s)
{
    rpp_control_descriptor_close(&s->listening);
}

void rpp_control_socket_knock(const rpp_control_socket *s)
{
    /* On Linux, shutdown wakes the thread, even if the path is gone. On other systems a connection wakes it. */
    if (rpp_control_descriptor_is_ours(&s->listening)) shutdown(s->listening.number, SHUT_RDWR);
    struct sockaddr_un address = address_of(s->path);
    int number = new_socket();
    if (number < 0) return;
    (void)!connect(number, (struct sockaddr *)&address, sizeof address);
    close(number);
}

/* --- peers --- */

static bool uid_of_peer(int peer, uid_t *uid)
{
#ifdef SO_PEERCRED
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return false;
    *uid = credentials.uid;
    return true;
#else
    gid_t gid;
    return getpeereid(peer, uid, &gid) == 0;
#endif
}

int rpp_control_socket_accept(const rpp_control_socket *s)
{
    uid_t uid;
    int peer = accept_one(s->listening.number);
    if (peer < 0) return -1;
    if (uid_of_peer(peer, &uid) && (uid == geteuid() || uid == 0)) return peer;
    close(peer);
    return -1;
}
