/* loopback_server.h - an HTTP server on 127.0.0.1 that does to each request what the test's script says.
 *
 * One thread, one connection at a time, kept alive unless a step says otherwise. The n-th request gets the n-th step,
 * and every one after the last gets the last.
 *
 * Threads    requests may be looked at while the server runs only after they were counted.
 */
#ifndef RPP_LOOPBACK_SERVER_H
#define RPP_LOOPBACK_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum loopback_moment {
    LOOPBACK_NEVER,
    LOOPBACK_BEFORE_BODY,   /* the request's headers were read */
    LOOPBACK_BEFORE_ANSWER, /* the request was read whole */
    LOOPBACK_IN_STATUS,     /* "HTTP/1." was sent */
    LOOPBACK_IN_ANSWER,     /* headers and half of the body were sent */
    LOOPBACK_AFTER_ANSWER
} loopback_moment;

typedef struct loopback_step {
    int status;              /* 0: 200 */
    const char *headers;     /* further ones, each with CR LF */
    const char *body;        /* NULL: none */
    size_t body_length;      /* 0: strlen(body) */
    loopback_moment hang;    /* does nothing more until the client goes away or the server stops */
    loopback_moment reset;   /* RST */
    loopback_moment close;   /* FIN */
    bool leave;              /* the port, once the request was read: new connections are refused */
    unsigned delay_ms;       /* before the answer */
    unsigned read_pause_ms;  /* after each 64 KiB of the request */
    unsigned write_pause_ms; /* after each byte of the answer's head */
    uint64_t huge;           /* a body of so many zeros instead */
    const char *raw;         /* all of the answer, instead */
    const char *endless;     /* behind it, again and again until the client goes away */
    bool chunked, http10;
    bool ignores_expect; /* reads the body without asking for it */
    bool refuses_expect; /* 417 */
} loopback_step;

typedef struct loopback_request {
    char *head; /* request line and headers, NUL-terminated */
    char *body; /* NUL-terminated */
    size_t body_length;
    unsigned connection; /* counted from 1 */
} loopback_request;

typedef struct loopback_server loopback_server;

/* NULL when there is no socket or memory. The steps must outlive the server. */
loopback_server *loopback_server_start(const loopback_step *steps, size_t count);
void loopback_server_stop(loopback_server *server);
unsigned loopback_server_port(const loopback_server *server);
/* Requests of which the head was read. */
size_t loopback_server_count(loopback_server *server);
/* Waits up to 60 s until that many requests were read as far as their step goes. */
bool loopback_server_wait(loopback_server *server, size_t count);
/* Waits up to 60 s until it has closed that many connections. */
bool loopback_server_wait_closed(loopback_server *server, size_t count);
/* NULL when it has not come. Lives as long as the server. */
const loopback_request *loopback_server_request(loopback_server *server, size_t index);
/* Whether the request has that header line, the name's case apart. */
bool loopback_request_has(const loopback_request *request, const char *line);

/* A port of 127.0.0.1 on which nobody listens. */
unsigned loopback_closed_port(void);

#endif
