/* loopback_server.c - an HTTP server on 127.0.0.1 that does to each request what the test's script says. */
#include "loopback_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS_MAX 64
#define HEAD_MAX     65536

struct loopback_server {
    const loopback_step *steps;
    size_t step_count;
    int listener, stop_pipe[2];
    unsigned port;
    pthread_t thread;

    unsigned connections; /* the thread's own */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    loopback_request requests[REQUESTS_MAX]; /* under the lock */
    size_t begun, read, closed;
};

typedef struct connection {
    loopback_server *server;
    int socket;
    char head[HEAD_MAX + 1];
    size_t length; /* bytes read but not used */
} connection;

/* --- sockets
 * -------------------------------------------------------------------------------------------------------- */

/* False when the server is to stop. A socket of -1 only sleeps. */
static bool wait_readable(loopback_server *server, int socket, int timeout_ms)
{
    struct pollfd fds[2] = {{.fd = server->stop_pipe[0], .events = POLLIN}, {.fd = socket, .events = POLLIN}};
    while (poll(fds, socket < 0 ? 1 : 2, timeout_ms) < 0 && errno == EINTR) {
    }
    return !fds[0].revents;
}

static bool wait_writable(loopback_server *server, int socket)
{
    struct pollfd fds[2] = {{.fd = server->stop_pipe[0], .events = POLLIN}, {.fd = socket, .events = POLLOUT}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR) {
    }
    return !fds[0].revents;
}

static ssize_t receive(connection *self, void *room, size_t size)
{
    if (!wait_readable(self->server, self->socket, -1)) return -1;
    return recv(self->socket, room, size, 0);
}

static bool transmit(connection *self, const char *bytes, size_t length)
{
    while (length) {
        if (!wait_writable(self->server, self->socket)) return false;
        ssize_t sent = send(self->socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (sent <= 0) return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static void hang(connection *self)
{
    char byte[4096];
    while (receive(self, byte, sizeof byte) > 0) {
    }
}

/* Whether the step ends here. */
static bool ends(connection *self, const loopback_step *step, loopback_moment moment)
{
    if (step->hang == moment) {
        /* What is not read must keep the client waiting. */
        if (moment == LOOPBACK_BEFORE_BODY) {
            wait_readable(self->server, -1, -1);
        } else {
            hang(self);
        }
        return true;
    }
    if (step->reset == moment) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(self->socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        return true;
    }
    return step->close == moment;
}

/* --- requests
 * ------------------------------------------------------------------------------------------------------- */

static const char *find_header(const char *head, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') return line + 3 + length;
    }
    return NULL;
}

static bool read_head(connection *self, size_t *head_length)
{
    for (;;) {
        self->head[self->length] = '\0';
        char *end = strstr(self->head, "\r\n\r\n");
        if (end) {
            *head_length = (size_t)(end + 4 - self->head);
            return true;
        }
        if (self->length == HEAD_MAX) return false;
        ssize_t got = receive(self, self->head + self->length, HEAD_MAX - self->length);
        if (got <= 0) return false;
        self->length += (size_t)got;
    }
}

static bool read_body(connection *self, const loopback_step *step, char *body, size_t length, size_t have)
{
    for (size_t pause = 0; have < length;) {
        ssize_t got = receive(self, body + have, length - have < 65536 ? length - have : 65536);
        if (got <= 0) return false;
        have += (size_t)got;
        pause += (size_t)got;
        if (step->read_pause_ms && pause >= 65536) {
            if (!wait_readable(self->server, -1, (int)step->read_pause_ms)) return false;
            pause = 0;
        }
    }
    return true;
}

static loopback_request *note_begin(loopback_server *server, const char *head, size_t head_length, size_t body_length)
{
    loopback_request *request = NULL;
    pthread_mutex_lock(&server->lock);
    if (server->begun < REQUESTS_MAX) {
        request = &server->requests[server->begun++];
        request->head = strndup(head, head_length);
        request->body = calloc(1, body_length + 1);
        request->body_length = body_length;
        request->connection = server->connections;
    }
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    return request;
}

static void note_read(loopback_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->read = server->begun;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void note_closed(loopback_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->closed++;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* --- answers
 * -------------------------------------------------------------------------------------------------------- */

static bool send_head(connection *self, const loopback_step *step, uint64_t length)
{
    char head[4096], framing[64] = "";
    if (step->chunked) {
        strcpy(framing, "Transfer-Encoding: chunked\r\n");
    } else if (!step->http10) {
        snprintf(framing, sizeof framing, "Content-Length: %llu\r\n", (unsigned long long)length);
    }
    int size = snprintf(head, sizeof head, "HTTP/1.%d %d Whatever\r\n%s%s\r\n", step->http10 ? 0 : 1,
                        step->status ? step->status : 200, framing, step->headers ? step->headers : "");
    if (!step->write_pause_ms) return transmit(self, head, (size_t)size);
    for (int i = 0; i < size; i++) {
        if (!transmit(self, head + i, 1) || !wait_readable(self->server, -1, (int)step->write_pause_ms)) return false;
    }
    return true;
}

static bool send_piece(connection *self, const loopback_step *step, const char *bytes, size_t length)
{
    char size[32];
    if (!length) return true;
    if (!step->chunked) return transmit(self, bytes, length);
    int size_length = snprintf(size, sizeof size, "%zx\r\n", length);
    return transmit(self, size, (size_t)size_length) && transmit(self, bytes, length) && transmit(self, "\r\n", 2);
}

static bool send_zeros(connection *self, const loopback_step *step)
{
    static const char zeros[65536];
    for (uint64_t left = step->huge; left;) {
        size_t piece = left < sizeof zeros ? (size_t)left : sizeof zeros;
        if (!send_piece(self, step, zeros, piece)) return false;
        left -= piece;
    }
    return true;
}

/* The connection is done then. */
static bool send_raw(connection *self, const loopback_step *step)
{
    char block[65536];
    size_t length = step->endless ? strlen(step->endless) : 0, filled = 0;
    for (; length && filled + length <= sizeof block; filled += length) memcpy(block + filled, step->endless, length);
    bool taken = transmit(self, step->raw, strlen(step->raw));
    while (taken && filled) taken = transmit(self, block, filled);
    return false;
}

/* False when the connection is done. */
static bool answer(connection *self, const loopback_step *step)
{
    size_t length = !step->body ? 0 : step->body_length ? step->body_length : strlen(step->body);
    if (step->raw) return send_raw(self, step);
    if (step->delay_ms && !wait_readable(self->server, -1, (int)step->delay_ms)) return false;
    if (step->hang == LOOPBACK_IN_STATUS || step->reset == LOOPBACK_IN_STATUS || step->close == LOOPBACK_IN_STATUS) {
        if (transmit(self, "HTTP/1.", 7)) ends(self, step, LOOPBACK_IN_STATUS);
        return false;
    }
    if (!send_head(self, step, step->huge ? step->huge : length)) return false;
    if (step->huge) return send_zeros(self, step);
    if (!send_piece(self, step, step->body, length / 2)) return false;
    if (ends(self, step, LOOPBACK_IN_ANSWER)) return false;
    if (!send_piece(self, step, step->body ? step->body + length / 2 : NULL, length - length / 2)) return false;
    if (step->chunked && !transmit(self, "0\r\n\r\n", 5)) return false;
    return !ends(self, step, LOOPBACK_AFTER_ANSWER) && !step->http10;
}

static bool serve_request(connection *self)
{
    loopback_server *server = self->server;
    size_t head_length = 0;
    if (!read_head(self, &head_length)) return false;

    const loopback_step *step =
        &server->steps[server->begun < server->step_count ? server->begun : server->step_count - 1];
    char *after = self->head + head_length, kept = *after;
    *after = '\0';
    const char *length_text = find_header(self->head, "Content-Length");
    size_t body_length = length_text ? strtoul(length_text, NULL, 10) : 0, have = self->length - head_length;
    loopback_request *request = note_begin(server, self->head, head_length, body_length);
    *after = kept;
    if (!request || have > body_length) return false; /* no pipelining */
    self->length = 0;

    if (ends(self, step, LOOPBACK_BEFORE_BODY)) return false;
    bool asks = loopback_request_has(request, "Expect: 100-continue");
    if (asks && step->refuses_expect) {
        static const char refusal[] = "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n";
        note_read(server);
        transmit(self, refusal, sizeof refusal - 1);
        return false;
    }
    if (asks && !step->ignores_expect && !transmit(self, "HTTP/1.1 100 Continue\r\n\r\n", 25)) return false;
    memcpy(request->body, after, have);
    if (!read_body(self, step, request->body, body_length, have)) return false;
    note_read(server);
    if (step->leave) {
        close(server->listener);
        server->listener = -1;
    }
    if (ends(self, step, LOOPBACK_BEFORE_ANSWER)) return false;
    return answer(self, step);
}

/* A kept connection that idles gives way to a new one. */
static bool wait_for_next_request(connection *self)
{
    struct pollfd fds[3] = {{.fd = self->server->stop_pipe[0], .events = POLLIN},
                            {.fd = self->socket, .events = POLLIN},
                            {.fd = self->server->listener, .events = POLLIN}};
    while (poll(fds, 3, -1) < 0 && errno == EINTR) {
    }
    return !fds[0].revents && fds[1].revents;
}

static void *serve(void *context)
{
    loopback_server *server = context;
    connection *current = calloc(1, sizeof *current);
    while (current && server->listener >= 0 && wait_readable(server, server->listener, -1)) {
        int one = 1;
        *current = (connection){.server = server, .socket = accept(server->listener, NULL, NULL)};
        if (current->socket < 0) continue;
        setsockopt(current->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        server->connections++;
        while (wait_for_next_request(current) && serve_request(current)) {
        }
        close(current->socket);
        note_closed(server);
    }
    free(current);
    return NULL;
}

/* --- what tests call
 * ------------------------------------------------------------------------------------------------ */

static int listen_on_loopback(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) return -1;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        close(fd);
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}

loopback_server *loopback_server_start(const loopback_step *steps, size_t count)
{
    loopback_server *server = calloc(1, sizeof *server);
    if (!server) return NULL;
    server->steps = steps;
    server->step_count = count;
    server->listener = listen_on_loopback(&server->port);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    if (server->listener < 0 || pipe(server->stop_pipe) != 0 ||
        pthread_create(&server->thread, NULL, serve, server) != 0) {
        free(server);
        return NULL;
    }
    return server;
}

void loopback_server_stop(loopback_server *server)
{
    if (write(server->stop_pipe[1], "", 1) != 1) abort();
    pthread_join(server->thread, NULL);
    close(server->stop_pipe[0]);
    close(server->stop_pipe[1]);
    if (server->listener >= 0) close(server->listener);
    for (size_t i = 0; i < server->begun; i++) {
        free(server->requests[i].head);
        free(server->requests[i].body);
    }
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

unsigned loopback_server_port(const loopback_server *server)
{
    return server->port;
}

size_t loopback_server_count(loopback_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->begun;
    pthread_mutex_unlock(&server->lock);
    return count;
}

/* `reached` is under the lock. */
static bool wait_for(loopback_server *server, const size_t *reached, size_t count)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 60;
    int failed = 0;
    pthread_mutex_lock(&server->lock);
    while (*reached < count && !failed) {
        failed = pthread_cond_timedwait(&server->changed, &server->lock, &deadline);
    }
    pthread_mutex_unlock(&server->lock);
    return !failed;
}

bool loopback_server_wait(loopback_server *server, size_t count)
{
    return wait_for(server, &server->read, count);
}

bool loopback_server_wait_closed(loopback_server *server, size_t count)
{
    return wait_for(server, &server->closed, count);
}

const loopback_request *loopback_server_request(loopback_server *server, size_t index)
{
    return index < loopback_server_count(server) ? &server->requests[index] : NULL;
}

bool loopback_request_has(const loopback_request *request, const char *line)
{
    size_t name = strcspn(line, ":"), length = strlen(line);
    for (const char *at = strstr(request->head, "\r\n"); at; at = strstr(at + 2, "\r\n")) {
        if (strncasecmp(at + 2, line, name) == 0 && strncmp(at + 2 + name, line + name, length - name) == 0 &&
            strncmp(at + 2 + length, "\r\n", 2) == 0) {
            return true;
        }
    }
    return false;
}

unsigned loopback_closed_port(void)
{
    unsigned port = 0;
    int fd = listen_on_loopback(&port);
    if (fd >= 0) close(fd);
    return port;
}
