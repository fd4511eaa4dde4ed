/* test_control_server.c - a control socket with real peers: polite ones, and those that would like to hang or grow the
 * process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "control/control_server.h"
#include "control/control_socket.h"
#include "test.h"

#define LARGE_BYTES (4u * 1024u * 1024u)

/* --- a service
 * ------------------------------------------------------------------------------------------------------ */

static _Atomic int opened, finished, closed;
static rpp_control_outbox *_Atomic streamed;

static rpp_status answer(void *context, const rpp_control_request *request, rpp_byte_sink *document,
                         char why[RPP_CONTROL_WHY_MAX])
{
    (void)context;
    if (strcmp(request->verb, "hello") == 0) return rpp_byte_sink_write(document, "{}", 2);
    if (strcmp(request->verb, "large") == 0) {
        char *bytes = rpp_calloc(1, LARGE_BYTES);
        rpp_status status = rpp_byte_sink_write(document, bytes, LARGE_BYTES);
        rpp_free(bytes);
        return status;
    }
    snprintf(why, RPP_CONTROL_WHY_MAX, "there is no %s", request->verb);
    return RPP_INVALID;
}

static rpp_status open_stream(void *context, const rpp_control_request *request, rpp_control_outbox *outbox,
                              void **stream, char why[RPP_CONTROL_WHY_MAX])
{
    (void)context, (void)why;
    if (strcmp(request->verb, "stream") != 0) return RPP_INVALID;
    *stream = rpp_control_outbox_retain(outbox);
    atomic_store(&streamed, outbox);
    atomic_fetch_add(&opened, 1);
    return RPP_OK;
}

static void finish(void *stream)
{
    atomic_fetch_add(&finished, 1);
    (void)!rpp_control_outbox_push(stream, RPP_CONTROL_END, NULL, 0);
    rpp_control_outbox_end(stream);
}

static void close_stream(void *stream)
{
    atomic_fetch_add(&closed, 1);
    rpp_control_outbox_release(stream);
}

static const rpp_control_service service = {
    .answer = answer, .open = open_stream, .finish = finish, .close = close_stream};

/* --- a server and its peers
 * ----------------------------------------------------------------------------------------- */

static char folder[64];

static rpp_control_server *start_with(const rpp_control_service *of, const char *place)
{
    rpp_control_server *server = NULL;
    char why[RPP_CONTROL_WHY_MAX] = "";
    if (rpp_control_server_start(place, of, &server, why) != RPP_OK) FAIL("not started: %s", why);
    return server;
}

static rpp_control_server *start_at(const char *place)
{
    return start_with(&service, place);
}

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/rpp-control-XXXXXX");
    CHECK(mkdtemp(folder));
    atomic_store(&opened, 0);
    atomic_store(&finished, 0);
    atomic_store(&closed, 0);
}

static rpp_control_server *start(void)
{
    begin();
    return start_at(folder);
}

static void stop(rpp_control_server *server)
{
    rpp_control_server_stop(server);
    CHECK_INT(rmdir(folder), 0); /* nothing is left in it */
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(peer, (struct sockaddr *)&address, sizeof address) == 0) return peer;
    close(peer);
    return -1;
}

static int ask(const rpp_control_server *server, const char *line)
{
    int peer = connect_to(rpp_control_server_path(server));
    CHECK(peer >= 0);
    CHECK_INT(send(peer, line, strlen(line), MSG_NOSIGNAL), strlen(line));
    return peer;
}

/* How many bytes came; false: the peer was let go before. */
static bool receive(int peer, void *into, size_t length)
{
    for (size_t got = 0; got < length;) {
        ssize_t more = recv(peer, (char *)into + got, length - got, 0);
        if (more <= 0) return false;
        got += (size_t)more;
    }
    return true;
}

/* What it is; 0: the peer was let go. */
static char receive_message(int peer, char *text, size_t size, size_t *length)
{
    unsigned char head[RPP_CONTROL_HEAD_BYTES];
    if (!receive(peer, head, sizeof head)) return 0;
    *length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    CHECK(*length < size);
    CHECK(receive(peer, text, *length));
    text[*length] = '\0';
    return (char)head[4];
}

static void expect(int peer, char kind, const char *text)
{
    char got[512] = "";
    size_t length = 0;
    char came = receive_message(peer, got, sizeof got, &length);
    if (came != kind || strcmp(got, text) != 0)
        FAIL("'%c' \"%s\", not '%c' \"%s\"", came ? came : '-', got, kind, text);
}

static void expect_let_go(int peer)
{
    char byte;
    ssize_t came = recv(peer, &byte, 1, 0);
    CHECK(came == 0 || (came < 0 && errno == ECONNRESET));
    close(peer);
}

static void expect_hello(const rpp_control_server *server)
{
    int peer = ask(server, "rperf-push/1 hello\n");
    expect(peer, RPP_CONTROL_DOCUMENT, "{}");
    expect(peer, RPP_CONTROL_END, "");
    expect_let_go(peer);
}

static void wait_for(_Atomic int *count, int wanted)
{
    while (atomic_load(count) != wanted) usleep(1000);
}

static int descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory) return 0;
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

/* --- what it does
 * --------------------------------------------------------------------------------------------------- */

TEST(answers_with_a_document_and_lets_the_peer_go)
{
    rpp_control_server *server = start();
    for (int i = 0; i < 20; i++) expect_hello(server);
    stop(server);
}

TEST(the_socket_is_for_its_owner_alone)
{
    struct stat status;
    rpp_control_server *server = start();
    CHECK_INT(stat(rpp_control_server_path(server), &status), 0);
    CHECK_INT(status.st_mode & 0777, 0600);
    stop(server);
}

TEST(makes_its_folder_for_its_owner_alone)
{
    struct stat status;
    char parent[] = "/tmp/rpp-control-XXXXXX";
    CHECK(mkdtemp(parent));
    setenv("XDG_RUNTIME_DIR", parent, 1);
    rpp_control_server *server = start_at("auto");
    snprintf(folder, sizeof folder, "%s/rperf-push", parent);
    CHECK_INT(stat(folder, &status), 0);
    CHECK_INT(status.st_mode & 0777, 0700);
    rpp_control_server_stop(server);

    char why[RPP_CONTROL_WHY_MAX] = "";
    CHECK_INT(chmod(folder, 0755), 0);
    CHECK_INT(rpp_control_server_start("auto", &service, &server, why), RPP_IO);
    CHECK(strstr(why, "is not a folder of this user alone"));
    unsetenv("XDG_RUNTIME_DIR");
    CHECK(rmdir(folder) == 0 && rmdir(parent) == 0);
}

/* As root only: another user's process must be had. The path lets it in, the kernel's word does not. */
TEST(sends_other_users_away)
{
    if (geteuid() != 0) return;
    rpp_control_server *server = start();
    CHECK(chmod(folder, 0755) == 0 && chmod(rpp_control_server_path(server), 0666) == 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        if (setuid(65534) != 0) _exit(3);
        int peer = connect_to(rpp_control_server_path(server));
        if (peer < 0) _exit(4);
        (void)!send(peer, "rperf-push/1 hello\n", 19, MSG_NOSIGNAL);
        _exit(recv(peer, &byte, 1, 0) > 0 ? 1 : 0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    expect_hello(server);
    stop(server);
}

TEST(says_why_it_refuses)
{
    rpp_control_server *server = start();
    int peer = ask(server, "rperf-push/1 dance\n");
    expect(peer, RPP_CONTROL_REFUSAL, "there is no dance");
    expect_let_go(peer);
    peer = ask(server, "GET / HTTP/1.1\r\n");
    expect(peer, RPP_CONTROL_REFUSAL, "this is not what rperf-push asks: another version of it?");
    expect_let_go(peer);
    stop(server);
}

TEST(streams_until_the_peer_has_seen_enough)
{
    rpp_control_server *server = start();
    int peer = ask(server, "rperf-push/1 stream\n");
    wait_for(&opened, 1);
    CHECK_OK(rpp_control_outbox_push(atomic_load(&streamed), RPP_CONTROL_PROFILE, "one", 3));
    expect(peer, RPP_CONTROL_PROFILE, "one");
    CHECK_OK(rpp_control_outbox_push(atomic_load(&streamed), RPP_CONTROL_PROFILE, "two", 3));
    expect(peer, RPP_CONTROL_PROFILE, "two");
    CHECK_INT(send(peer, "\n", 1, MSG_NOSIGNAL), 1);
    expect(peer, RPP_CONTROL_END, "");
    expect_let_go(peer);
    wait_for(&closed, 1);
    CHECK_INT(atomic_load(&finished), 1);
    stop(server);
}

TEST(a_stream_ends_when_its_peer_goes)
{
    rpp_control_server *server = start();
    int peer = ask(server, "rperf-push/1 stream\n");
    wait_for(&opened, 1);
    close(peer);
    wait_for(&closed, 1);
    CHECK_INT(atomic_load(&finished), 0);
    stop(server);
}

TEST(a_stream_ends_when_the_server_stops)
{
    rpp_control_server *server = start();
    int peer = ask(server, "rperf-push/1 stream\n");
    wait_for(&opened, 1);
    stop(server);
    CHECK_INT(atomic_load(&closed), 1);
    expect_let_go(peer);
}

/* --- peers that are no good
 * ----------------------------------------------------------------------------------------- */

TEST(a_peer_that_says_nothing_hinders_nobody)
{
    rpp_control_server *server = start();
    int silent = connect_to(rpp_control_server_path(server)), halfway = ask(server, "rperf-push/1 hel");
    expect_hello(server);
    close(silent);
    close(halfway);
    stop(server);
}

TEST(a_peer_that_says_nothing_is_let_go)
{
    rpp_control_service impatient = service;
    impatient.request_wait_ns = 20 * RPP_NS_PER_MS;
    begin();
    rpp_control_server *server = start_with(&impatient, folder);
    int silent = connect_to(rpp_control_server_path(server)), halfway = ask(server, "rperf-push/1 hel");
    expect_let_go(silent);
    expect_let_go(halfway);
    stop(server);
}

TEST(a_request_without_end_is_refused)
{
    rpp_control_server *server = start();
    char line[RPP_CONTROL_LINE_MAX + 1];
    memset(line, 'a', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    int peer = ask(server, line);
    expect(peer, RPP_CONTROL_REFUSAL, "the request is too long");
    expect_let_go(peer);
    stop(server);
}

TEST(a_peer_that_has_no_more_to_say_gets_its_answer_all_the_same)
{
    rpp_control_server *server = start();
    int peer = ask(server, "rperf-push/1 large\n");
    shutdown(peer, SHUT_WR);
    char *got = malloc(LARGE_BYTES + 1);
    size_t length = 0;
    CHECK_INT(receive_message(peer, got, LARGE_BYTES + 1, &length), RPP_CONTROL_DOCUMENT);
    CHECK_INT(length, LARGE_BYTES);
    free(got);
    expect(peer, RPP_CONTROL_END, "");
    expect_let_go(peer);
    stop(server);
}

TEST(what_a_peer_does_not_take_is_kept_up_to_a_limit)
{
    rpp_control_server *server = start();
    int peer = ask(server, "rperf-push/1 stream\n");
    wait_for(&opened, 1);
    static const char megabyte[1024 * 1024];
    int taken = 0;
    while (rpp_control_outbox_push(atomic_load(&streamed), RPP_CONTROL_PROFILE, megabyte, sizeof megabyte) == RPP_OK)
        taken++;
    CHECK(taken < 32);
    wait_for(&closed, 1);
    expect_hello(server);
    close(peer);
    stop(server);
}

TEST(there_are_eight_peers_at_a_time)
{
    rpp_control_server *server = start();
    int peers[RPP_CONTROL_PEERS_MAX];
    for (int i = 0; i < RPP_CONTROL_PEERS_MAX; i++) {
        peers[i] = ask(server, "rperf-push/1 stream\n");
        wait_for(&opened, i + 1);
    }
    int one_more = connect_to(rpp_control_server_path(server));
    expect(one_more, RPP_CONTROL_REFUSAL, "too many peers are connected already");
    expect_let_go(one_more);
    for (int i = 0; i < RPP_CONTROL_PEERS_MAX; i++) close(peers[i]);
    wait_for(&closed, RPP_CONTROL_PEERS_MAX);
    expect_hello(server);
    stop(server);
}

/* Requests cut anywhere, with bytes changed, in pieces, by peers that go at any time; always the same ones. */
TEST(nothing_that_peers_do_hangs_or_grows_it)
{
    static const char *const lines[] = {"rperf-push/1 hello\n", "rperf-push/1 large\n", "rperf-push/1 stream a=1\n",
                                        "rperf-push/1 nothing with=it\n\n\n"};
    rpp_control_server *server = start();
    expect_hello(server);
    int before = descriptors();
    uint64_t random = 20;
    for (int round = 0; round < 400; round++) {
        char bytes[64];
        int peer = connect_to(rpp_control_server_path(server));
        CHECK(peer >= 0);
        const char *line = lines[rpp_random_next(&random) % 4];
        size_t length = strlen(line), sent = 0;
        memcpy(bytes, line, length);
        if (rpp_random_next(&random) % 2) bytes[rpp_random_next(&random) % length] = (char)rpp_random_next(&random);
        if (rpp_random_next(&random) % 2) length = rpp_random_next(&random) % (length + 1);
        while (sent < length) {
            size_t piece = 1 + rpp_random_next(&random) % (length - sent);
            if (send(peer, bytes + sent, piece, MSG_NOSIGNAL) < 0) break;
            sent += piece;
        }
        if (rpp_random_next(&random) % 4 == 0) shutdown(peer, SHUT_WR);
        if (rpp_random_next(&random) % 4 == 0) (void)!recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);
        close(peer);
    }
    expect_hello(server); /* all others were accepted before it */
    while (atomic_load(&closed) != atomic_load(&opened)) usleep(1000);
    while (descriptors() != before) usleep(1000);
    stop(server);
}

/* --- what the world does
 * -------------------------------------------------------------------------------------------- */

static void leave_dead_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_INT(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    close(listener);
}

TEST(listens_in_no_folder_that_other_users_may_write_into)
{
    char shared[] = "/tmp/rpp-control-XXXXXX", why[RPP_CONTROL_WHY_MAX], place[128];
    CHECK(mkdtemp(shared));
    snprintf(place, sizeof place, "%s/app.sock", shared);
    const char *const places[] = {shared, place};
    const mode_t modes[] = {0777, 01777, 0770, 0702};
    rpp_control_socket own;
    for (int i = 0; i < 8; i++) {
        CHECK_INT(chmod(shared, modes[i / 2]), 0);
        CHECK_INT(rpp_control_socket_open(&own, places[i % 2], why), RPP_IO);
        CHECK(strstr(why, "other users may write into it"));
    }
    CHECK_INT(chmod(shared, 0755), 0);
    CHECK_OK(rpp_control_socket_open(&own, place, why));
    rpp_control_socket_close(&own);
    CHECK_INT(rmdir(shared), 0); /* no refusal has left a socket */
}

TEST(takes_away_what_dead_processes_left)
{
    char dead[128], other[128], live[128];
    rpp_control_server *server = start();
    snprintf(live, sizeof live, "%s", rpp_control_server_path(server));
    snprintf(dead, sizeof dead, "%s/999999.sock", folder);
    snprintf(other, sizeof other, "%s/notes.sock", folder);
    const char *const left[] = {dead, other};
    for (int i = 0; i < 2; i++) leave_dead_socket(left[i]);
    rpp_control_socket own;
    char why[RPP_CONTROL_WHY_MAX];
    pid_t child = fork(); /* has a name of its own in the folder, and sweeps */
    if (child == 0)
        _exit(rpp_control_socket_open(&own, folder, why) == RPP_OK ? (rpp_control_socket_close(&own), 0) : 1);
    int status;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(access(dead, F_OK) != 0);
    CHECK(access(other, F_OK) == 0 && access(live, F_OK) == 0);
    expect_hello(server);
    unlink(other);
    stop(server);
}

static int open_often(void)
{
    rpp_control_socket own;
    char why[RPP_CONTROL_WHY_MAX];
    for (int i = 0; i < 200; i++) {
        if (rpp_control_socket_open(&own, folder, why) != RPP_OK) return fprintf(stderr, "%s\n", why), 1;
        rpp_control_socket_close(&own);
    }
    return 0;
}

/* Each sweeps while others are about to listen. */
TEST(many_processes_begin_in_one_folder_at_once)
{
    begin();
    enum { PROCESSES = 8 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(open_often());
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        CHECK_INT(waitpid(children[i], &status, 0), children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK_INT(rmdir(folder), 0);
}

TEST(a_name_that_is_taken_gets_the_pid_behind_it)
{
    char place[128], second[128];
    begin();
    snprintf(place, sizeof place, "%s/app.sock", folder);
    snprintf(second, sizeof second, "%s/app-%ld.sock", folder, (long)getpid());
    rpp_control_server *one = start_at(place), *two = start_at(place);
    CHECK_STR(rpp_control_server_path(one), place);
    CHECK_STR(rpp_control_server_path(two), second);
    expect_hello(one);
    expect_hello(two);
    rpp_control_server_stop(one);
    stop(two);
}

/* It may be about to put its own there. */
TEST(leaves_a_dead_socket_to_the_process_that_has_the_folder)
{
    char place[128], beside[128], why[RPP_CONTROL_WHY_MAX] = "";
    rpp_control_socket first, second;
    begin();
    snprintf(place, sizeof place, "%s/app.sock", folder);
    snprintf(beside, sizeof beside, "%s/app-%ld.sock", folder, (long)getpid());
    leave_dead_socket(place);
    int lock = open(folder, O_RDONLY | O_CLOEXEC);
    CHECK_INT(flock(lock, LOCK_EX), 0);
    CHECK_OK(rpp_control_socket_open(&first, place, why));
    CHECK_STR(first.path, beside);
    CHECK_INT(flock(lock, LOCK_UN), 0);
    CHECK_OK(rpp_control_socket_open(&second, place, why));
    CHECK_STR(second.path, place);
    const rpp_control_socket *const both[] = {&first, &second};
    for (int i = 0; i < 2; i++) {
        int peer = connect_to(both[i]->path);
        CHECK(peer >= 0);
        close(peer);
    }
    close(lock);
    rpp_control_socket_close(&first);
    rpp_control_socket_close(&second);
    CHECK_INT(rmdir(folder), 0);
}

static pid_t pid_of(int peer)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    return getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 ? credentials.pid : -1;
}

/* Others look whether it is alive, and so fill its backlog. */
static bool hears_itself(const rpp_control_socket *own)
{
    bool heard = false;
    for (int peer; (peer = rpp_control_socket_accept(own)) >= 0; close(peer)) heard |= pid_of(peer) == getpid();
    return heard;
}

static bool reaches_itself(const rpp_control_socket *own)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", own->path);
    int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool heard = false;
    while (!heard && connect(peer, (struct sockaddr *)&address, sizeof address) != 0) {
        if (errno != EAGAIN) break;
        heard = hears_itself(own);
    }
    heard |= hears_itself(own);
    close(peer);
    return heard;
}

/* Each second time it dies, and leaves its path to the others. */
static int take_one_name_often(const char *place)
{
    rpp_control_socket own;
    char why[RPP_CONTROL_WHY_MAX];
    for (int i = 0; i < 200; i++) {
        if (rpp_control_socket_open(&own, place, why) != RPP_OK) return fprintf(stderr, "%s\n", why), 1;
        for (int look = 0; look < 3; look++) {
            if (!reaches_itself(&own)) return fprintf(stderr, "%s leads to another process\n", own.path), 1;
        }
        if (i % 2) rpp_control_socket_close(&own);
        rpp_control_descriptor_close(&own.listening);
    }
    return 0;
}

TEST(many_processes_want_one_name_at_once)
{
    char place[128], path[128];
    begin();
    snprintf(place, sizeof place, "%s/app.sock", folder);
    enum { PROCESSES = 8 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(take_one_name_often(place));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        CHECK_INT(waitpid(children[i], &status, 0), children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        snprintf(path, sizeof path, "%s/app-%ld.sock", folder, (long)children[i]);
        unlink(path);
    }
    unlink(place);
    CHECK_INT(rmdir(folder), 0);
}

/* As daemons do. The number now belongs to another file, which must be left alone. */
TEST(listens_again_when_the_program_has_closed_its_descriptor)
{
    rpp_control_server *server = start();
    expect_hello(server);
    int theirs = -1;
    for (int number = 3; number < 256; number++) {
        int listens = 0;
        socklen_t size = sizeof listens;
        if (getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens) continue;
        int null = open("/dev/null", O_RDONLY);
        CHECK_INT(dup2(null, number), number);
        close(null);
        theirs = number;
    }
    CHECK(theirs >= 0);
    int lost = connect_to(rpp_control_server_path(server)); /* the socket lives until poll returns */
    for (;;) {
        int peer = connect_to(rpp_control_server_path(server));
        char got[8];
        size_t length;
        bool answered = peer >= 0 && send(peer, "rperf-push/1 hello\n", 19, MSG_NOSIGNAL) == 19 &&
                        receive_message(peer, got, sizeof got, &length) == RPP_CONTROL_DOCUMENT;
        if (peer >= 0) close(peer);
        if (answered) break;
        usleep(1000);
    }
    CHECK(fcntl(theirs, F_GETFD) >= 0);
    if (lost >= 0) close(lost);
    stop(server);
    CHECK(fcntl(theirs, F_GETFD) >= 0);
    close(theirs);
}

TEST(stops_though_somebody_has_taken_its_path_away)
{
    rpp_control_server *server = start();
    CHECK_INT(unlink(rpp_control_server_path(server)), 0);
    stop(server);
}

/* ThreadSanitizer ends a child that starts a thread after a fork of several. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

TEST(a_child_lets_go_of_the_parents_socket_and_listens_on_its_own)
{
    if (UNDER_TSAN) return;
    rpp_control_server *server = start();
    int gate[2], status;
    CHECK_INT(pipe(gate), 0);
    static rpp_control_server *parents; /* in the child's memory for good: no leak */
    parents = server;
    pid_t child = fork();
    if (child == 0) {
        char byte;
        char why[RPP_CONTROL_WHY_MAX];
        rpp_control_server *own;
        rpp_control_server_discard_after_fork(parents);
        if (rpp_control_server_start(folder, &service, &own, why) != RPP_OK) _exit(1);
        close(gate[1]);
        (void)!read(gate[0], &byte, 1); /* until the parent has looked */
        rpp_control_server_stop(own);
        _exit(0);
    }
    char path[128], of_parent[128];
    snprintf(path, sizeof path, "%s/%ld.sock", folder, (long)child);
    snprintf(of_parent, sizeof of_parent, "%s", rpp_control_server_path(server));
    int peer;
    while ((peer = connect_to(path)) < 0) {
        CHECK_INT(waitpid(child, &status, WNOHANG), 0); /* it lives */
        usleep(1000);
    }
    CHECK_INT(send(peer, "rperf-push/1 hello\n", 19, MSG_NOSIGNAL), 19);
    expect(peer, RPP_CONTROL_DOCUMENT, "{}");
    close(peer);
    int of_server = ask(server, "rperf-push/1 stream\n");
    wait_for(&opened, 1);
    rpp_control_server_stop(server); /* though the child lives, nobody holds on to what the parent had */
    CHECK(access(of_parent, F_OK) != 0 && access(path, F_OK) == 0);
    expect_let_go(of_server);
    CHECK_INT(write(gate[1], "x", 1), 1);
    close(gate[1]);
    close(gate[0]);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_INT(rmdir(folder), 0);
}
