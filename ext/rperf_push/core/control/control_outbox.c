/* control_outbox.c - messages to one peer. */
#include "control/control_outbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SO_NOSIGPIPE does it there */
#endif

struct rpp_control_outbox {
    size_t max_bytes;
    _Atomic unsigned references;
    pthread_mutex_t lock;
    /* under lock */
    uint8_t *bytes;
    size_t capacity, length, sent;
    bool ended, closed;
};

rpp_control_outbox *rpp_control_outbox_new(size_t max_bytes)
{
    rpp_control_outbox *outbox = rpp_calloc(1, sizeof *outbox);
    if (!outbox) return NULL;
    outbox->max_bytes = max_bytes;
    outbox->references = 1;
    pthread_mutex_init(&outbox->lock, NULL);
    return outbox;
}

rpp_control_outbox *rpp_control_outbox_retain(rpp_control_outbox *outbox)
{
    atomic_fetch_add(&outbox->references, 1);
    return outbox;
}

void rpp_control_outbox_release(rpp_control_outbox *outbox)
{
    if (!outbox || atomic_fetch_sub(&outbox->references, 1) != 1) return;
    pthread_mutex_destroy(&outbox->lock);
    rpp_free(outbox->bytes);
    rpp_free(outbox);
}

/* Call it under the lock, like all functions named *_locked. */
static void close_locked(rpp_control_outbox *outbox)
{
    outbox->closed = true;
    rpp_free(outbox->bytes);
    outbox->bytes = NULL;
    outbox->capacity = outbox->length = outbox->sent = 0;
}

static rpp_status make_room_locked(rpp_control_outbox *outbox, size_t more)
{
    if (outbox->sent) {
        memmove(outbox->bytes, outbox->bytes + outbox->sent, outbox->length - outbox->sent);
        outbox->length -= outbox->sent;
        outbox->sent = 0;
    }
    if (more > outbox->max_bytes || outbox->length > outbox->max_bytes - more) return RPP_LIMIT;
    return rpp_grow((void **)&outbox->bytes, &outbox->capacity, outbox->length + more, 1);
}

static void append_locked(rpp_control_outbox *outbox, const void *bytes, size_t length)
{
    if (length) memcpy(outbox->bytes + outbox->length, bytes, length);
    outbox->length += length;
}

rpp_status rpp_control_outbox_push(rpp_control_outbox *outbox, char kind, const void *bytes, size_t length)
{
    uint8_t head[RPP_CONTROL_HEAD_BYTES] = {(uint8_t)(length >> 24), (uint8_t)(length >> 16), (uint8_t)(length >> 8),
                                            (uint8_t)length, (uint8_t)kind};
    pthread_mutex_lock(&outbox->lock);
    rpp_status status = outbox->closed || outbox->ended ? RPP_STOPPED : RPP_OK;
    if (status == RPP_OK) {
        status = length > UINT32_MAX ? RPP_LIMIT : make_room_locked(outbox, sizeof head + length);
        if (status != RPP_OK) close_locked(outbox);
    }
    if (status == RPP_OK) {
        append_locked(outbox, head, sizeof head);
        append_locked(outbox, bytes, length);
    }
    pthread_mutex_unlock(&outbox->lock);
    return status;
}

void rpp_control_outbox_end(rpp_control_outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    outbox->ended = true;
    pthread_mutex_unlock(&outbox->lock);
}

void rpp_control_outbox_close(rpp_control_outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    close_locked(outbox);
    pthread_mutex_unlock(&outbox->lock);
}

/* Tries once. The server calls it again when the socket takes more. */
static rpp_status send_locked(rpp_control_outbox *outbox, int socket, size_t *sent)
{
    if (outbox->closed) return RPP_IO;
    size_t left = outbox->length - outbox->sent;
    if (left) {
        ssize_t taken = send(socket, outbox->bytes + outbox->sent, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (taken < 0) return errno == EAGAIN || errno == EINTR ? RPP_BUSY : RPP_IO;
        outbox->sent += (size_t)taken;
        *sent = (size_t)taken;
        left -= (size_t)taken;
    }
    if (left) return RPP_BUSY;
    return outbox->ended ? RPP_STOPPED : RPP_OK;
}

rpp_status rpp_control_outbox_send(rpp_control_outbox *outbox, int socket, size_t *sent)
{
    *sent = 0;
    pthread_mutex_lock(&outbox->lock);
    rpp_status status = send_locked(outbox, socket, sent);
    pthread_mutex_unlock(&outbox->lock);
    return status;
}

bool rpp_control_outbox_has_more(rpp_control_outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    bool more = outbox->closed || outbox->ended || outbox->sent < outbox->length;
    pthread_mutex_unlock(&outbox->lock);
    return more;
}
