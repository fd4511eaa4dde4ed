/* control_server.c - the thread that serves a control socket. */
#include "control/control_server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

#define STACK_BYTES      (256u * 1024u)
#define OUTBOX_MAX_BYTES (16u * 1024u * 1024u)
#define REQUEST_WAIT_NS  (10 * RPP_NS_PER_S)
#define TAKING_WAIT_NS   (5 * RPP_NS_PER_S)
#define FINISH_WAIT_NS   (40 * RPP_NS_PER_S) /* a peer waits 30 s for a large tree of calls */
#define STREAM_LOOK_MS   30
#define NO_MORE_ROOM_MS  100 /* the pause in accepting peers after the process had no descriptor left */

typedef struct peer {
    rpp_control_descriptor socket;
    rpp_control_outbox *outbox;
    char line[RPP_CONTROL_LINE_MAX];
    size_t length;
    bool asked, deaf;   /* it sent its request; we read nothing more from it */
    void *stream;       /* NULL: it gets a document, or nothing yet */
    uint64_t act_by_ns; /* deadline of its next action; 0: none */
    uint64_t finish_ns; /* deadline of its stream's end; 0: none */
} peer;

struct rpp_control_server {
    const rpp_control_service *service;
    rpp_control_socket socket; /* the path is constant; only the thread uses the rest */
    pthread_t thread;
    _Atomic bool stopping;
    /* only the thread uses these */
    peer peers[RPP_CONTROL_PEERS_MAX];
    size_t count;
    bool crowded; /* accept failed because the process has no descriptor left */
};

/* --- one peer --- */

static void peer_free(const rpp_control_server *s, peer *p)
{
    if (p->outbox) rpp_control_outbox_close(p->outbox);
    if (p->stream) s->service->close(p->stream);
    rpp_control_outbox_release(p->outbox);
    rpp_control_descriptor_close(&p->socket);
}

static void refuse(peer *p, const char *why)
{
    (void)!rpp_control_outbox_push(p->outbox, RPP_CONTROL_REFUSAL, why, strlen(why));
    rpp_control_outbox_end(p->outbox);
}

static void send_document(peer *p, const rpp_byte_buffer *document)
{
    rpp_status status = rpp_control_outbox_push(p->outbox, RPP_CONTROL_DOCUMENT, document->bytes, document->length);
    if (status == RPP_OK) status = rpp_control_outbox_push(p->outbox, RPP_CONTROL_END, NULL, 0);
    if (status == RPP_OK) rpp_control_outbox_end(p->outbox);
}

static void answer(const rpp_control_server *s, peer *p, const rpp_control_request *request)
{
    char why[RPP_CONTROL_WHY_MAX] = "";
    rpp_byte_buffer document;
    rpp_byte_buffer_init(&document, OUTBOX_MAX_BYTES - 64);
    rpp_status status = RPP_INVALID;
    if (s->service->open) status = s->service->open(s->service->context, request, p->outbox, &p->stream, why);
    if (status == RPP_INVALID && !*why) {
        status = s->service->answer(s->service->context, request, &document.sink, why);
        if (status == RPP_OK) send_document(p, &document);
    }
    if (status != RPP_OK) refuse(p, *why ? why : rpp_status_text(status));
    rpp_byte_buffer_destroy(&document);
}

static void take_request(const rpp_control_server *s, peer *p, size_t line_length)
{
    rpp_control_request request;
    p->asked = true;
    p->act_by_ns = 0;
    if (rpp_control_request_parse(p->line, line_length, &request) == RPP_OK) {
        answer(s, p, &request);
    } else {
        refuse(p, "this is not what rperf-push asks: another version of it?");
    }
}

/* Any byte after the request asks for the end of the stream. The end of the peer's input ends the stream at once.
 * Returns false if the peer is gone. */
static bool hear_after_request(const rpp_control_server *s, peer *p, ssize_t heard)
{
    p->deaf = true;
    if (!p->stream) return true;
    if (heard == 0) return false;
    s->service->finish(p->stream);
    p->finish_ns = rpp_monotonic_ns() + FINISH_WAIT_NS;
    return true;
}

/* Returns false if the peer is gone. */
static bool hear(const rpp_control_server *s, peer *p)
{
    char unused[256];
    ssize_t heard = p->asked ? recv(p->socket.number, unused, sizeof unused, MSG_DONTWAIT)
                             : recv(p->socket.number, p->line + p->length, sizeof p->line - p->length, MSG_DONTWAIT);
    if (heard < 0) return errno == EAGAIN || errno == EINTR;
    if (p->asked) return hear_after_request(s, p, heard);
    if (heard == 0) return false;
    p->length += (size_t)heard;
    const char *end = memchr(p->line, '\n', p->length);
    if (end) {
        take_request(s, p, (size_t)(end - p->line));
    } else if (p->length == sizeof p->line) {
        p->asked = true;
        refuse(p, "the request is too long");
    }
    return true;
}

/* Returns false if the peer has received everything or is gone. */
static bool send_more(peer *p, uint64_t now)
{
    size_t sent;
    rpp_status status = rpp_control_outbox_send(p->outbox, p->socket.number, &sent);
    if (status == RPP_STOPPED || status == RPP_IO) return false;
    if (p->asked && status == RPP_OK) p->act_by_ns = 0;
    if (status == RPP_BUSY && (sent || !p->act_by_ns)) p->act_by_ns = now + TAKING_WAIT_NS;
    return true;
}

/* Returns false if the peer must be disconnected. */
static bool serve(const rpp_control_server *s, peer *p, short happened)
{
    uint64_t now = rpp_monotonic_ns();
    if (!rpp_control_descriptor_is_ours(&p->socket)) return false;
    if (happened && !p->deaf && !hear(s, p)) return false;
    if (p->stream && s->service->serve) s->service->serve(p->stream);
    if (p->asked && !send_more(p, now)) return false;
    return (!p->act_by_ns || now < p->act_by_ns) && (!p->finish_ns || now < p->finish_ns);
}

/* --- all peers --- */

static void turn_away(int number)
{
    static const char why[] = "too many peers are connected already";
    rpp_control_outbox *outbox = rpp_control_outbox_new(sizeof why + RPP_CONTROL_HEAD_BYTES);
    size_t sent;
    if (outbox && rpp_control_outbox_push(outbox, RPP_CONTROL_REFUSAL, why, sizeof why - 1) == RPP_OK) {
        (void)!rpp_control_outbox_send(outbox, number, &sent);
    }
    rpp_control_outbox_release(outbox);
    close(number);
}

static void take_peer(rpp_control_server *s)
{
    int number = rpp_control_socket_accept(&s->socket);
    s->crowded = number < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    if (number < 0) return;
    if (s->count == RPP_CONTROL_PEERS_MAX) {
        turn_away(number);
        return;
    }
    peer *p = &s->peers[s->count];
    uint64_t wait_ns = s->service->request_wait_ns ? s->service->request_wait_ns : REQUEST_WAIT_NS;
    *p = (peer){.socket = rpp_control_descriptor_of(number),
                .outbox = rpp_control_outbox_new(OUTBOX_MAX_BYTES),
                .act_by_ns = rpp_monotonic_ns() + wait_ns};
    if (p->outbox) {
        s->count++;
    } else {
        close(number);
    }
}

/* The program has closed our descriptor: listens again. */
static void listen_again(rpp_control_server *s)
{
    char why[RPP_CONTROL_WHY_MAX];
    if (rpp_control_socket_open_again(&s->socket, why) == RPP_OK) return;
    rpp_log(RPP_LOG_WARN, "the control socket is lost: %s", why);
    atomic_store(&s->stopping, true);
}

static int timeout_ms(const rpp_control_server *s)
{
    uint64_t now = rpp_monotonic_ns();
    int least = s->crowded ? NO_MORE_ROOM_MS : -1;
    for (size_t i = 0; i < s->count; i++) {
        const peer *p = &s->peers[i];
        int own = p->stream ? STREAM_LOOK_MS : -1;
        if (p->act_by_ns) {
            uint64_t left_ms = p->act_by_ns > now ? (p->act_by_ns - now) / RPP_NS_PER_MS + 1 : 0;
            if (own < 0 || left_ms < (uint64_t)own) own = (int)left_ms;
        }
        if (own >= 0 && (least < 0 || own < least)) least = own;
    }
    return least;
}

/* Named so that a backtrace of an idle process explains itself. */
static int control_waits_for_peers(struct pollfd *waited, nfds_t count, int timeout)
{
    return poll(waited, count, timeout);
}

static void serve_all(rpp_control_server *s)
{
    struct pollfd waited[RPP_CONTROL_PEERS_MAX + 1];
    size_t count = s->count, kept = 0;
    waited[count] = (struct pollfd){.fd = s->crowded ? -1 : s->socket.listening.number, .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        peer *p = &s->peers[i];
        bool sends = p->asked && rpp_control_outbox_has_more(p->outbox);
        short events = (short)((p->deaf ? 0 : POLLIN) | (sends ? POLLOUT : 0));
        waited[i] = (struct pollfd){.fd = p->socket.number, .events = events};
    }
    control_waits_for_peers(waited, count + 1, timeout_ms(s));
    if (atomic_load(&s->stopping)) return;
    s->crowded = false;
    for (size_t i = 0; i < count; i++) {
        if (serve(s, &s->peers[i], waited[i].revents)) {
            if (kept != i) s->peers[kept] = s->peers[i];
            kept++;
        } else {
            peer_free(s, &s->peers[i]);
        }
    }
    s->count = kept;
    if (!rpp_control_descriptor_is_ours(&s->socket.listening)) {
        listen_again(s);
    } else if (waited[count].revents) {
        take_peer(s);
    }
}

static void *server_main(void *context)
{
    rpp_control_server *s = context;
    while (!atomic_load(&s->stopping)) serve_all(s);
    for (size_t i = 0; i < s->count; i++) peer_free(s, &s->peers[i]);
    s->count = 0;
    return NULL;
}

/* --- life --- */

rpp_status rpp_control_server_start(const char *place, const rpp_control_service *service, rpp_control_server **server,
                                    char why[RPP_CONTROL_WHY_MAX])
{
    rpp_control_server *s = rpp_calloc(1, sizeof *s);
    if (!s) {
        snprintf(why, RPP_CONTROL_WHY_MAX, "%s", rpp_status_text(RPP_NO_MEMORY));
        return RPP_NO_MEMORY;
    }
    s->service = service;
    rpp_status status = rpp_control_socket_open(&s->socket, place, why);
    if (status == RPP_OK) {
        status = rpp_thread_start(&s->thread, "rpp-control", STACK_BYTES, server_main, s);
        if (status != RPP_OK) {
            snprintf(why, RPP_CONTROL_WHY_MAX, "the system gave no thread");
            rpp_control_socket_close(&s->socket);
        }
    }
    if (status != RPP_OK) {
        rpp_free(s);
        return status;
    }
    *server = s;
    return RPP_OK;
}

void rpp_control_server_stop(rpp_control_server *s)
{
    atomic_store(&s->stopping, true);
    rpp_control_socket_knock(&s->socket);
    pthread_join(s->thread, NULL);
    rpp_control_socket_close(&s->socket);
    rpp_free(s);
}

const char *rpp_control_server_path(const rpp_control_server *s)
{
    return s->socket.path;
}

void rpp_control_server_discard_after_fork(rpp_control_server *s)
{
    rpp_control_socket_discard_after_fork(&s->socket);
    for (size_t i = 0; i < RPP_CONTROL_PEERS_MAX; i++) {
        if (s->peers[i].outbox) rpp_control_descriptor_close(&s->peers[i].socket);
    }
}
