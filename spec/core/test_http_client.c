/* test_http_client.c - one request over loopback: every way it can end, and what must never leave this process. */
#include "http/http_client.h"
#include "http/http_url.h"

#include <curl/curl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "loopback_server.h"
#include "test.h"

/* libcurl looks names up through this: no network, and a lookup as slow as a test wants. */
static atomic_bool lookup_released;

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = NULL;
    if (node && strcmp(node, "slow.invalid") == 0) {
        while (!atomic_load(&lookup_released)) usleep(1000);
        return EAI_AGAIN;
    }
    if (node && strstr(node, ".invalid")) return EAI_NONAME;
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(node, service, hints, found);
}

/* What one test needs; whatever it does not set is the default. */
typedef struct scene {
    rpp_settings settings;
    rpp_pair headers[4];
    loopback_server *server;
    rpp_http_client *client;
    char url[128];
    rpp_http_request request;
    rpp_http_response response;
} scene;

static void set_up(scene *s, const loopback_step *steps, size_t count)
{
    CHECK_OK(rpp_curl_global_init());
    if (count) s->server = loopback_server_start(steps, count);
    CHECK(s->server || !count);
    s->settings.tls_verify = true;
    s->client = rpp_curl_client_new(&s->settings, NULL);
    CHECK(s->client);
    if (s->server) {
        snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u/push", loopback_server_port(s->server));
    }
    if (!s->request.body) {
        s->request.body = "profile";
        s->request.body_length = 7;
    }
    s->request.url = s->url;
    s->request.content_type = "application/proto";
}

static void go(scene *s, uint64_t timeout_ms)
{
    rpp_http_response_destroy(&s->response);
    s->request.deadline_ns = rpp_monotonic_ns() + timeout_ms * RPP_NS_PER_MS;
    CHECK_OK(s->client->perform(s->client, &s->request, &s->response));
}

static void tear_down(scene *s)
{
    rpp_http_response_destroy(&s->response);
    s->client->free(s->client);
    if (s->server) loopback_server_stop(s->server);
}

#define STEPS(...)                                                                                                     \
    (const loopback_step[]){__VA_ARGS__}, sizeof((const loopback_step[]){__VA_ARGS__}) / sizeof(loopback_step)

#define CHECK_CONTAINS(text, part)                                                                                     \
    do {                                                                                                               \
        if (!strstr(text, part)) FAIL("\"%s\" does not say \"%s\"", text, part);                                       \
    } while (0)

/* A body that no socket buffer holds. */
#define LARGE (64u * 1024 * 1024)

TEST(an_answer_is_taken_whole)
{
    scene s = {0};
    set_up(&s, STEPS({.status = 429, .headers = "Retry-After: 7\r\nContent-Type: application/json\r\n", .body = "{}"}));
    s.request.headers[0] = "X-One: 1";
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_ANSWERED);
    CHECK_INT(s.response.attempt.http_status, 429);
    CHECK_INT(s.response.attempt.retry_after_ns, 7 * RPP_NS_PER_S);
    CHECK(s.response.attempt.sent_whole && !s.response.attempt.permanent && !s.response.timed_out);
    CHECK_STR(s.response.body, "{}");
    CHECK_INT(s.response.body_length, 2);
    CHECK_STR(s.response.content_type, "application/json");
    CHECK_STR(s.response.error, "");

    const loopback_request *request = loopback_server_request(s.server, 0);
    CHECK(strncmp(request->head, "POST /push HTTP/1.1\r\n", 21) == 0);
    CHECK_STR(request->body, "profile");
    CHECK(loopback_request_has(request, "Content-Type: application/proto"));
    CHECK(loopback_request_has(request, "Content-Length: 7"));
    CHECK(loopback_request_has(request, "X-One: 1"));
    CHECK(loopback_request_has(request, "Expect: 100-continue"));
    CHECK(!strstr(request->head, "Accept-Encoding"));
    CHECK(!strstr(request->head, "Authorization"));
    CHECK(!strstr(request->head, "X-Scope-OrgID"));
    CHECK(strstr(request->head, "User-Agent: rperf-push/"));
    tear_down(&s);
}

TEST(the_connection_is_kept_between_requests)
{
    scene s = {0};
    set_up(&s, STEPS({.status = 200}));
    for (int i = 0; i < 3; i++) {
        go(&s, 5000);
        CHECK_INT(s.response.attempt.http_status, 200);
        CHECK(!s.response.body);
    }
    CHECK_INT(loopback_server_request(s.server, 2)->connection, 1);
    tear_down(&s);
}

TEST(a_kept_connection_that_died_is_replaced)
{
    scene s = {0};
    set_up(&s, STEPS({.status = 200, .close = LOOPBACK_AFTER_ANSWER}, {.status = 200}));
    go(&s, 5000);
    CHECK(loopback_server_wait_closed(s.server, 1));
    go(&s, 5000);
    CHECK_INT(s.response.attempt.http_status, 200);
    CHECK_INT(loopback_server_request(s.server, 1)->connection, 2);
    tear_down(&s);
}

TEST(what_went_out_whole_on_a_kept_connection_is_not_sent_again_by_itself)
{
    scene s = {0};
    set_up(&s, STEPS({.status = 200}, {.close = LOOPBACK_BEFORE_ANSWER}, {.status = 200}));
    go(&s, 5000);
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NO_ANSWER);
    CHECK(s.response.attempt.closed);
    CHECK(s.response.attempt.sent_whole && s.response.connected);
    CHECK_INT(loopback_server_count(s.server), 2);
    tear_down(&s);
}

TEST(neither_where_the_server_has_left_its_port_then)
{
    scene s = {0};
    set_up(&s, STEPS({.status = 200}, {.close = LOOPBACK_BEFORE_ANSWER, .leave = true}));
    go(&s, 5000);
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NO_ANSWER);
    CHECK(s.response.attempt.closed);
    CHECK(s.response.attempt.sent_whole && s.response.connected);
    CHECK_CONTAINS(s.response.error, "closed the connection without an answer");
    CHECK_INT(s.response.failure, RPP_FAILURE_BROKEN_OFF);
    CHECK_INT(loopback_server_count(s.server), 2);
    go(&s, 5000); /* the next one is refused from the start */
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    tear_down(&s);
}

/* libcurl 7.83 to 8.1 kept a pointer into the last answer's headers, which it had freed: the sanitizers see it. */
TEST(a_header_line_that_continues_nothing_does_no_harm)
{
    scene s = {0};
    set_up(&s, STEPS({.headers = "X-First: one\r\n"},
                     {.status = 503, .http10 = true, .headers = " and on: two\r\nRetry-After: 3\r\n"}));
    for (int i = 0; i < 3; i++) go(&s, 5000);
    CHECK_INT(loopback_server_count(s.server), 3);
    tear_down(&s);
}

TEST(only_the_status_line_says_the_status)
{
    scene s = {0};
    set_up(&s, STEPS({.status = 503, .headers = "HTTP/1.1 200 OK: x\r\nRetry-After: 3\r\nHTTP/1.1 200: y\r\n"}));
    go(&s, 5000);
    CHECK_INT(s.response.attempt.http_status, 503);
    CHECK_INT(s.response.attempt.retry_after_ns, 3 * RPP_NS_PER_S);
    tear_down(&s);
}

TEST(chunked_and_http_1_0_answers)
{
    scene s = {0};
    set_up(&s, STEPS({.chunked = true, .body = "in two pieces"}, {.http10 = true, .body = "until the end"}));
    go(&s, 5000);
    CHECK_STR(s.response.body, "in two pieces");
    go(&s, 5000);
    CHECK_INT(s.response.attempt.http_status, 200);
    CHECK_STR(s.response.body, "until the end");
    tear_down(&s);
}

TEST(gzip_that_nobody_asked_for_is_decoded)
{
    static const char gzip[] =
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00";
    scene s = {0};
    set_up(&s, STEPS({.headers = "Content-Encoding: gzip\r\n", .body = gzip, .body_length = sizeof gzip}));
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_ANSWERED);
    CHECK_STR(s.response.body, "hello");
    tear_down(&s);
}

TEST(refused)
{
    scene s = {0};
    set_up(&s, NULL, 0);
    snprintf(s.url, sizeof s.url, "http://127.0.0.1:%u/push", loopback_closed_port());
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK(!s.response.timed_out && !s.response.attempt.permanent && !s.response.connected);
    CHECK_CONTAINS(s.response.error, "could not connect to 127.0.0.1:");
    CHECK_CONTAINS(s.response.error, "refused");
    CHECK_INT(s.response.failure, RPP_FAILURE_CONNECTION_REFUSED);
    tear_down(&s);
}

TEST(refused_after_a_success_is_not_taken_for_sent)
{
    scene s = {0};
    set_up(&s, STEPS({.status = 200, .close = LOOPBACK_AFTER_ANSWER}));
    go(&s, 5000);
    loopback_server_stop(s.server);
    s.server = NULL;
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK(!s.response.attempt.sent_whole);
    tear_down(&s);
}

TEST(unknown_host)
{
    scene s = {0};
    set_up(&s, NULL, 0);
    strcpy(s.url, "http://nowhere.invalid:4040/push");
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK_STR(s.response.error, "could not resolve host nowhere.invalid");
    CHECK_INT(s.response.failure, RPP_FAILURE_HOST_UNKNOWN);
    tear_down(&s);
}

TEST(a_name_lookup_without_end_holds_nobody_up)
{
    scene s = {0};
    set_up(&s, NULL, 0);
    strcpy(s.url, "http://slow.invalid/push");
    uint64_t begin = rpp_monotonic_ns();
    go(&s, 50);
    CHECK(rpp_monotonic_ns() - begin < 15 * RPP_NS_PER_S); /* the lookup would end when it is released: never */
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK(s.response.timed_out);
    tear_down(&s);
    atomic_store(&lookup_released, true);
    usleep(20000); /* its thread outlives the request */
}

TEST(a_server_that_hangs_before_the_answer)
{
    scene s = {0};
    set_up(&s, STEPS({.hang = LOOPBACK_BEFORE_ANSWER}));
    uint64_t begin = rpp_monotonic_ns();
    go(&s, 1000);
    CHECK(rpp_monotonic_ns() - begin >= 1000 * RPP_NS_PER_MS);
    CHECK(rpp_monotonic_ns() - begin < 10 * RPP_NS_PER_S);
    CHECK_INT(s.response.attempt.end, RPP_END_NO_ANSWER);
    CHECK(!s.response.attempt.closed);
    CHECK(s.response.timed_out && s.response.attempt.sent_whole);
    CHECK_CONTAINS(s.response.error, "no answer from 127.0.0.1:");
    CHECK_INT(s.response.failure, RPP_FAILURE_TOO_SLOW);
    tear_down(&s);
}

TEST(a_status_that_came_counts_although_the_rest_hangs)
{
    scene s = {0};
    set_up(&s, STEPS({.status = 503, .body = "half of this", .hang = LOOPBACK_IN_ANSWER}));
    go(&s, 1000);
    CHECK_INT(s.response.attempt.end, RPP_END_ANSWERED);
    CHECK_INT(s.response.attempt.http_status, 503);
    CHECK_STR(s.response.body, "half o");
    tear_down(&s);
}

TEST(a_server_that_hangs_after_the_answer_is_done)
{
    scene s = {0};
    set_up(&s, STEPS({.body = "ok", .hang = LOOPBACK_AFTER_ANSWER}));
    go(&s, 5000);
    CHECK_INT(s.response.attempt.http_status, 200);
    CHECK_STR(s.response.body, "ok");
    tear_down(&s);
}

TEST(half_a_status_line_is_no_answer)
{
    scene s = {0};
    set_up(&s, STEPS({.close = LOOPBACK_IN_STATUS}));
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NO_ANSWER);
    CHECK(!s.response.timed_out);
    tear_down(&s);
}

TEST(half_an_answer_is_an_answer)
{
    scene s = {0};
    set_up(&s, STEPS({.body = "half of this", .reset = LOOPBACK_IN_ANSWER}));
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_ANSWERED);
    CHECK_INT(s.response.attempt.http_status, 200);
    tear_down(&s);
}

TEST(reset_before_the_body_was_read)
{
    scene s = {.request = {.body = calloc(1, LARGE), .body_length = LARGE}};
    set_up(&s, STEPS({.reset = LOOPBACK_BEFORE_BODY}));
    go(&s, 10000);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK(!s.response.attempt.sent_whole && s.response.connected);
    CHECK_CONTAINS(s.response.error, "closed the connection before it had read the request");
    CHECK_INT(s.response.failure, RPP_FAILURE_BROKEN_OFF);
    tear_down(&s);
    free((void *)s.request.body);
}

TEST(reset_after_the_body_was_read)
{
    scene s = {0};
    set_up(&s, STEPS({.reset = LOOPBACK_BEFORE_ANSWER}));
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NO_ANSWER);
    CHECK(s.response.attempt.closed);
    CHECK(s.response.attempt.sent_whole && s.response.connected && !s.response.timed_out);
    CHECK_CONTAINS(s.response.error, "closed the connection without an answer");
    CHECK_INT(s.response.failure, RPP_FAILURE_BROKEN_OFF);
    tear_down(&s);
}

TEST(a_server_that_does_not_read_has_not_got_it)
{
    scene s = {.request = {.body = calloc(1, LARGE), .body_length = LARGE}};
    set_up(&s, STEPS({.hang = LOOPBACK_BEFORE_BODY}));
    go(&s, 2000);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK(s.response.timed_out && !s.response.attempt.sent_whole);
    CHECK_CONTAINS(s.response.error, "had not read the request");
    CHECK_INT(s.response.failure, RPP_FAILURE_TOO_SLOW);
    tear_down(&s);
    free((void *)s.request.body);
}

TEST(a_slow_reader_gets_it_all)
{
    enum { SIZE = 4 * 1024 * 1024 };
    char *body = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) body[i] = (char)(i * 31 + i / 977);
    scene s = {.request = {.body = body, .body_length = SIZE}};
    set_up(&s, STEPS({.read_pause_ms = 2, .write_pause_ms = 1}));
    go(&s, 20000);
    CHECK_INT(s.response.attempt.http_status, 200);
    const loopback_request *request = loopback_server_request(s.server, 0);
    CHECK_INT(request->body_length, SIZE);
    CHECK(memcmp(request->body, body, SIZE) == 0);
    tear_down(&s);
    free(body);
}

TEST(a_gigabyte_of_answer_is_cut_at_64_kib)
{
    for (int chunked = 0; chunked < 2; chunked++) {
        scene s = {0};
        set_up(&s, STEPS({.status = 400, .huge = UINT64_C(1) << 30, .chunked = chunked == 1}));
        uint64_t begin = rpp_monotonic_ns();
        go(&s, 20000);
        CHECK(rpp_monotonic_ns() - begin < 15 * RPP_NS_PER_S);
        CHECK_INT(s.response.attempt.end, RPP_END_ANSWERED);
        CHECK_INT(s.response.attempt.http_status, 400);
        CHECK_INT(s.response.body_length, RPP_HTTP_BODY_MAX);
        CHECK_INT(s.response.body[RPP_HTTP_BODY_MAX], 0);
        tear_down(&s);
    }
}

/* Deep in a hostile answer there is an end: its size, or the time. */
TEST(an_answer_without_end_ends_all_the_same)
{
    static const struct {
        loopback_step step;
        rpp_attempt_end end;
    } cases[] = {
        {{.raw = "HTTP/1.1 200 OK\r\n", .endless = "X-More: and more\r\n"}, RPP_END_ANSWERED},
        {{.raw = "HTTP/1.1 200 OK\r\nX-More: ", .endless = "x"}, RPP_END_ANSWERED},
        {{.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4", .endless = ";more=more"}, RPP_END_ANSWERED},
        {{.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .endless = "1\r\nx\r\n"}, RPP_END_ANSWERED},
        {{.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", .endless = "X-Trailer: 1\r\n"},
         RPP_END_ANSWERED},
        {{.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .endless = "ffffffffffffffff"},
         RPP_END_ANSWERED},
        {{.raw = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", .endless = "no gzip"}, RPP_END_ANSWERED},
        {{.raw = "", .endless = "HTTP/1.1 100 Continue\r\n\r\n"}, RPP_END_NO_ANSWER},
        {{.raw = "", .endless = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"}, RPP_END_NO_ANSWER},
        {{.raw = "HTTP/1.1 ", .endless = "1"}, RPP_END_NO_ANSWER},
        {{.raw = "", .endless = "\x01\x02\xff no HTTP"}, RPP_END_NO_ANSWER},
        {{.raw = "", .endless = "\n"}, RPP_END_NO_ANSWER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s = {0};
        set_up(&s, &cases[i].step, 1);
        uint64_t begin = rpp_monotonic_ns();
        go(&s, 3000);
        if (rpp_monotonic_ns() - begin > 15 * RPP_NS_PER_S) FAIL("case %zu took its time", i);
        if (s.response.attempt.end != cases[i].end) FAIL("case %zu ended as %d", i, (int)s.response.attempt.end);
        CHECK(s.response.attempt.sent_whole && s.response.body_length <= RPP_HTTP_BODY_MAX);
        tear_down(&s);
    }
}

TEST(a_gzip_bomb_fills_no_more_than_64_kib)
{
    enum { RAW = 16 * 1024 * 1024 };
    static uint8_t bomb[RAW / 512];
    uint8_t *zeros = calloc(1, RAW);
    z_stream stream = {.next_in = zeros, .avail_in = RAW, .next_out = bomb, .avail_out = sizeof bomb};
    CHECK_INT(deflateInit2(&stream, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
    CHECK_INT(deflate(&stream, Z_FINISH), Z_STREAM_END);
    scene s = {0};
    const loopback_step step = {
        .status = 400, .headers = "Content-Encoding: gzip\r\n", .body = (char *)bomb, .body_length = stream.total_out};
    set_up(&s, &step, 1);
    go(&s, 20000);
    CHECK_INT(s.response.attempt.http_status, 400);
    CHECK_INT(s.response.body_length, RPP_HTTP_BODY_MAX);
    CHECK(!s.response.timed_out);
    tear_down(&s);
    deflateEnd(&stream);
    free(zeros);
}

TEST(a_redirect_is_an_answer_and_credentials_stay_here)
{
    static const int statuses[] = {301, 302, 303, 307, 308};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char headers[128];
        scene s = {.settings = {.auth_token = "geheim"}};
        loopback_server *other = loopback_server_start(STEPS({.status = 200}));
        CHECK(other);
        snprintf(headers, sizeof headers, "Location: http://127.0.0.1:%u/elsewhere\r\n", loopback_server_port(other));
        const loopback_step step = {.status = statuses[i], .headers = headers};
        set_up(&s, &step, 1);
        go(&s, 5000);
        CHECK_INT(s.response.attempt.end, RPP_END_ANSWERED);
        CHECK_INT(s.response.attempt.http_status, statuses[i]);
        CHECK(loopback_request_has(loopback_server_request(s.server, 0), "Authorization: Bearer geheim"));
        CHECK_INT(loopback_server_count(other), 0);
        tear_down(&s);
        loopback_server_stop(other);
    }
}

TEST(settings_become_headers)
{
    scene s = {.settings = {.tenant_id = "team", .auth_token = "t0ken"}};
    s.headers[0] = (rpp_pair){"X-Extra", "a: b"};
    s.headers[1] = (rpp_pair){"Content-Type", "text/evil"};
    s.headers[2] = (rpp_pair){"User-Agent", "mine"};
    s.headers[3] = (rpp_pair){"X-Empty", ""};
    s.settings.http_headers = (rpp_pairs){s.headers, 4, 4};
    set_up(&s, STEPS({.status = 200}));
    go(&s, 5000);
    const loopback_request *request = loopback_server_request(s.server, 0);
    CHECK(loopback_request_has(request, "X-Scope-OrgID: team"));
    CHECK(loopback_request_has(request, "Authorization: Bearer t0ken"));
    CHECK(loopback_request_has(request, "X-Extra: a: b"));
    CHECK(loopback_request_has(request, "X-Empty:"));
    CHECK(loopback_request_has(request, "User-Agent: mine"));
    CHECK(loopback_request_has(request, "Content-Type: application/proto"));
    CHECK(!strstr(request->head, "evil"));
    tear_down(&s);
}

TEST(headers_of_the_settings_replace_ours)
{
    scene s = {.settings = {.tenant_id = "team", .auth_token = "t0ken", .http_headers = {0}}};
    s.headers[0] = (rpp_pair){"x-scope-orgid", "other"};
    s.headers[1] = (rpp_pair){"authorization", "Custom 1"};
    s.settings.http_headers = (rpp_pairs){s.headers, 2, 4};
    set_up(&s, STEPS({.status = 200}));
    go(&s, 5000);
    const loopback_request *request = loopback_server_request(s.server, 0);
    CHECK(loopback_request_has(request, "X-Scope-OrgID: other"));
    CHECK(loopback_request_has(request, "Authorization: Custom 1"));
    CHECK(!strstr(request->head, "team"));
    CHECK(!strstr(request->head, "t0ken"));
    tear_down(&s);
}

TEST(userinfo_of_the_address_is_basic_authentication)
{
    scene s = {.settings = {.server_address = "http://me%40home:p%3Aw@localhost"}};
    set_up(&s, STEPS({.status = 200}));
    go(&s, 5000);
    /* me@home:p:w */
    CHECK(loopback_request_has(loopback_server_request(s.server, 0), "Authorization: Basic bWVAaG9tZTpwOnc="));
    tear_down(&s);
}

TEST(settings_win_over_userinfo)
{
    scene s = {.settings = {.server_address = "http://me:pw@localhost",
                            .basic_auth_username = "user",
                            .basic_auth_password = "pass"}};
    set_up(&s, STEPS({.status = 200}));
    go(&s, 5000);
    CHECK(loopback_request_has(loopback_server_request(s.server, 0), "Authorization: Basic dXNlcjpwYXNz"));
    tear_down(&s);
}

TEST(line_breaks_in_headers_are_refused)
{
    static const char *const bad[] = {"X-Bad: a\r\nX-Smuggled: 1", "X-Bad: a\nb", "X\r: a", "X-Bad", ": a", "X Y: a"};
    scene s = {0};
    set_up(&s, STEPS({.status = 200}));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s.request.headers[0] = bad[i];
        go(&s, 5000);
        CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
        CHECK(s.response.attempt.permanent);
        CHECK_CONTAINS(s.response.error, "the header \"");
        CHECK(!strpbrk(s.response.error, "\r\n"));
    }
    CHECK_INT(loopback_server_count(s.server), 0);
    tear_down(&s);
}

TEST(line_breaks_in_settings_are_refused_and_the_secret_not_shown)
{
    scene s = {.settings = {.auth_token = "geheim\r\nX-Smuggled: 1"}};
    set_up(&s, STEPS({.status = 200}));
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK_CONTAINS(s.response.error, "Authorization");
    CHECK(!strstr(s.response.error, "geheim"));
    CHECK_INT(loopback_server_count(s.server), 0);
    tear_down(&s);
}

TEST(overlong_headers_are_refused)
{
    char *token = calloc(1, 20000);
    memset(token, 'x', 19999);
    scene s = {.settings = {.tenant_id = token}};
    set_up(&s, STEPS({.status = 200}));
    go(&s, 5000);
    CHECK(s.response.attempt.permanent);
    CHECK_STR(s.response.error, "the header \"X-Scope-OrgID\" is too long");
    tear_down(&s);
    free(token);
}

TEST(other_protocols_are_refused)
{
    scene s = {0};
    set_up(&s, NULL, 0);
    strcpy(s.url, "file:///etc/passwd");
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK(s.response.attempt.permanent && !s.response.body);
    tear_down(&s);
}

TEST(a_proxy_gets_the_request_and_no_exclusion_of_the_environment_counts)
{
    char proxy[64];
    scene s = {.settings = {.proxy = proxy}};
    loopback_server *other = loopback_server_start(STEPS({.status = 202}));
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%u", loopback_server_port(other));
    setenv("no_proxy", "*", 1);
    set_up(&s, NULL, 0);
    strcpy(s.url, "http://pyroscope.invalid/push");
    go(&s, 5000);
    unsetenv("no_proxy");
    CHECK_INT(s.response.attempt.http_status, 202);
    CHECK(strncmp(loopback_server_request(other, 0)->head, "POST http://pyroscope.invalid/push ", 35) == 0);
    tear_down(&s);
    loopback_server_stop(other);
}

TEST(the_environment_names_a_proxy)
{
    char proxy[64];
    scene s = {0};
    loopback_server *other = loopback_server_start(STEPS({.status = 202}));
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%u", loopback_server_port(other));
    setenv("http_proxy", proxy, 1);
    setenv("no_proxy", "excluded.invalid", 1);
    set_up(&s, NULL, 0);
    unsetenv("http_proxy");
    unsetenv("no_proxy");
    strcpy(s.url, "http://pyroscope.invalid/push");
    go(&s, 5000);
    CHECK_INT(s.response.attempt.http_status, 202);
    strcpy(s.url, "http://excluded.invalid/push");
    go(&s, 5000);
    CHECK_STR(s.response.error, "could not resolve host excluded.invalid");
    tear_down(&s);
    loopback_server_stop(other);
}

TEST(a_proxy_that_refuses_the_way_to_the_server_is_told_from_the_server)
{
    static const struct {
        int status;
        bool permanent;
    } cases[] = {{403, true}, {407, true}, {408, false}, {429, false}, {502, false}, {504, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char proxy[64], expected[64];
        const loopback_step step = {.status = cases[i].status, .headers = "Retry-After: 9\r\n", .body = "no"};
        loopback_server *other = loopback_server_start(&step, 1);
        snprintf(proxy, sizeof proxy, "http://me:geheim@127.0.0.1:%u", loopback_server_port(other));
        snprintf(expected, sizeof expected, "the proxy answered HTTP %d to CONNECT for pyroscope.invalid",
                 cases[i].status);
        scene s = {.settings = {.proxy = proxy, .auth_token = "t0ken"}};
        set_up(&s, NULL, 0);
        strcpy(s.url, "https://pyroscope.invalid/push");
        go(&s, 5000);
        CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
        CHECK_INT(s.response.attempt.permanent, cases[i].permanent);
        CHECK(!s.response.attempt.sent_whole && !s.response.body);
        CHECK_CONTAINS(s.response.error, expected);
        CHECK(!strstr(s.response.error, "geheim"));
        CHECK_INT(loopback_server_count(other), 1);
        const loopback_request *request = loopback_server_request(other, 0);
        CHECK(strncmp(request->head, "CONNECT pyroscope.invalid:443 ", 30) == 0);
        CHECK(loopback_request_has(request, "Proxy-Authorization: Basic bWU6Z2VoZWlt"));
        CHECK(!strstr(request->head, "t0ken")); /* what the server may see is none of the proxy's business */
        tear_down(&s);
        loopback_server_stop(other);
    }
}

TEST(a_bad_proxy_does_not_show_its_password)
{
    scene s = {.settings = {.proxy = "http://me:geheim@proxy.invalid:1"}};
    set_up(&s, NULL, 0);
    strcpy(s.url, "http://pyroscope.invalid/push");
    go(&s, 5000);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK(!strstr(s.response.error, "geheim"));
    tear_down(&s);
}

/* --- interruption
 * --------------------------------------------------------------------------------------------------- */

typedef struct interrupter {
    scene *watched;
    uint64_t at_ns;
} interrupter;

static void *interrupt_when_read(void *context)
{
    interrupter *self = context;
    loopback_server_wait(self->watched->server, 1);
    usleep(300000); /* past the timers that libcurl sets for the begin of a connection */
    self->at_ns = rpp_monotonic_ns();
    self->watched->client->interrupt(self->watched->client);
    return NULL;
}

static uint64_t time_an_interruption(void)
{
    scene s = {0};
    interrupter other = {.watched = &s};
    pthread_t thread;
    set_up(&s, STEPS({.hang = LOOPBACK_BEFORE_ANSWER}));
    CHECK_INT(pthread_create(&thread, NULL, interrupt_when_read, &other), 0);
    go(&s, 20000);
    uint64_t end = rpp_monotonic_ns();
    pthread_join(thread, NULL);
    CHECK_INT(s.response.attempt.end, RPP_END_ABORTED);
    CHECK(s.response.attempt.sent_whole);

    go(&s, 20000);
    CHECK_INT(s.response.attempt.end, RPP_END_ABORTED);
    CHECK(!s.response.attempt.sent_whole);
    CHECK_INT(loopback_server_count(s.server), 1);
    tear_down(&s);
    return end - other.at_ns;
}

/* libcurl by itself looks up once a second: 0.7 s after the interruption. A busy machine may take so long, but not each
 * time. */
TEST(interrupt_ends_a_running_request_within_milliseconds)
{
    int tries = 1;
    while (time_an_interruption() >= 500 * RPP_NS_PER_MS) CHECK(++tries <= 10);
}

/* --- the fork lock
 * ------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;

static void *take_the_fork_lock(void *context)
{
    interrupter *self = context;
    loopback_server_wait(self->watched->server, 1);
    usleep(300000); /* as above */
    uint64_t begin = rpp_monotonic_ns();
    pthread_mutex_lock(&fork_lock);
    self->at_ns = rpp_monotonic_ns() - begin;
    self->watched->client->interrupt(self->watched->client);
    pthread_mutex_unlock(&fork_lock);
    return NULL;
}

static uint64_t time_the_fork_lock(void)
{
    scene s = {0};
    interrupter other = {.watched = &s};
    pthread_t thread;
    set_up(&s, STEPS({.hang = LOOPBACK_BEFORE_ANSWER}));
    s.client->free(s.client);
    s.client = rpp_curl_client_new(&s.settings, &fork_lock);
    CHECK_INT(pthread_create(&thread, NULL, take_the_fork_lock, &other), 0);
    go(&s, 20000);
    CHECK_INT(s.response.attempt.end, RPP_END_ABORTED);
    pthread_join(thread, NULL);
    tear_down(&s);
    return other.at_ns;
}

/* A fork_lock that is held meanwhile would open once a second. */
TEST(the_fork_lock_is_free_while_waiting)
{
    int tries = 1;
    while (time_the_fork_lock() >= 500 * RPP_NS_PER_MS) CHECK(++tries <= 10);
}

typedef struct fork_lock_holder {
    atomic_bool taken, let_go;
} fork_lock_holder;

static void *hold_the_fork_lock(void *context)
{
    fork_lock_holder *self = context;
    pthread_mutex_lock(&fork_lock);
    atomic_store(&self->taken, true);
    usleep(50000);
    atomic_store(&self->let_go, true);
    pthread_mutex_unlock(&fork_lock);
    return NULL;
}

TEST(no_request_begins_while_the_fork_lock_is_held)
{
    scene s = {0};
    fork_lock_holder holder = {false, false};
    pthread_t thread;
    set_up(&s, STEPS({.status = 200}));
    s.client->free(s.client);
    s.client = rpp_curl_client_new(&s.settings, &fork_lock);
    CHECK_INT(pthread_create(&thread, NULL, hold_the_fork_lock, &holder), 0);
    while (!atomic_load(&holder.taken)) usleep(100);
    go(&s, 20000);
    CHECK(atomic_load(&holder.let_go));
    pthread_join(thread, NULL);
    tear_down(&s);
}

/* --- addresses
 * ------------------------------------------------------------------------------------------------------ */

TEST(addresses_join_cleanly)
{
    static const struct {
        const char *base, *path, *joined;
    } cases[] = {
        {"http://h:4040", "/p", "http://h:4040/p"},
        {"http://h:4040/", "/p", "http://h:4040/p"},
        {"http://h:4040///", "//p", "http://h:4040/p"},
        {"http://h/prefix", "p/q", "http://h/prefix/p/q"},
        {"http://h//a//b//", "/p?x=1", "http://h/a/b/p?x=1"},
        {"https://user:pass@h/a", "/p", "https://h/a/p"},
        {"https://user:p@ss@h/a?q=1#f", "/p", "https://h/a/p"},
        {"https://h?q=http://x/", "/p", "https://h/p"},
        {"http://[::1]:4040/a@b", "/p", "http://[::1]:4040/a@b/p"},
        {"", "", "/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *joined = rpp_url_join(cases[i].base, cases[i].path);
        CHECK_STR(joined, cases[i].joined);
        rpp_free(joined);
    }
}

/* --- who wants to know that a request goes out
 * ---------------------------------------------------------------------- */

typedef struct watcher {
    pthread_mutex_t *fork_lock;
    loopback_server *server;
    unsigned calls, fork_lock_free;
    size_t requests; /* that the server had read by then */
} watcher;

static void watch(void *context, unsigned claim)
{
    (void)claim;
    watcher *self = context;
    self->calls++;
    self->requests = self->server ? loopback_server_count(self->server) : 0;
    if (pthread_mutex_trylock(self->fork_lock) != 0) return;
    self->fork_lock_free++;
    pthread_mutex_unlock(self->fork_lock);
}

TEST(before_a_request_goes_out_it_is_told_without_the_fork_lock)
{
    pthread_mutex_t own_fork_lock = PTHREAD_MUTEX_INITIALIZER;
    scene s = {0};
    set_up(&s, STEPS({.status = 200}));
    s.client->free(s.client);
    s.client = rpp_curl_client_new(&s.settings, &own_fork_lock);
    watcher seen = {.fork_lock = &own_fork_lock, .server = s.server};
    s.client->before_send = watch;
    s.client->before_send_context = &seen;
    for (unsigned i = 1; i <= 3; i++) { /* the later ones over a kept connection */
        go(&s, 5000);
        CHECK_INT(s.response.attempt.http_status, 200);
        CHECK_INT(seen.calls, i);
        CHECK_INT(seen.fork_lock_free, i);
        CHECK_INT(seen.requests, i - 1);
    }
    CHECK_INT(pthread_mutex_trylock(&own_fork_lock), 0);
    pthread_mutex_unlock(&own_fork_lock);
    tear_down(&s);
}

TEST(without_a_connection_nothing_goes_out)
{
#if LIBCURL_VERSION_NUM >= 0x075000
    pthread_mutex_t own_fork_lock = PTHREAD_MUTEX_INITIALIZER;
    scene s = {0};
    set_up(&s, NULL, 0);
    watcher seen = {.fork_lock = &own_fork_lock};
    s.client->before_send = watch;
    s.client->before_send_context = &seen;
    snprintf(s.url, sizeof s.url, "http://127.0.0.1:%u/", loopback_closed_port());
    go(&s, 2000);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK_INT(seen.calls, 0);
    tear_down(&s);
#endif
}

/* --- Expect: 100-continue
 * ------------------------------------------------------------------------------------------- */

/* With a minute's time, the pause for the answer to the question takes 4 s (EXPECT_MAX_NS). */
#define WITHOUT_PAUSE_MS 3500

static uint64_t timed_go(scene *s, uint64_t timeout_ms)
{
    uint64_t start = rpp_monotonic_ns();
    go(s, timeout_ms);
    return (rpp_monotonic_ns() - start) / RPP_NS_PER_MS;
}

/* As a balancer does whose server is away. */
TEST(what_is_closed_before_the_body_was_asked_for_was_not_sent)
{
    scene s = {0};
    set_up(&s, STEPS({.close = LOOPBACK_BEFORE_BODY}, {.reset = LOOPBACK_BEFORE_BODY}, {0}));
    for (int i = 0; i < 2; i++) {
        CHECK(timed_go(&s, 60000) < WITHOUT_PAUSE_MS);
        CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
        CHECK(!s.response.attempt.sent_whole && !s.response.attempt.reached);
    }
    go(&s, 9000);
    CHECK_INT(s.response.attempt.http_status, 200);
    tear_down(&s);
}

TEST(a_server_that_ignores_the_question_costs_one_pause)
{
    scene s = {0};
    set_up(&s, STEPS({.ignores_expect = true}));
    CHECK(timed_go(&s, 6000) >= 1950); /* a third of the time there is */
    CHECK_INT(s.response.attempt.http_status, 200);
    for (size_t i = 1; i <= 3; i++) {
        CHECK(timed_go(&s, 60000) < WITHOUT_PAUSE_MS);
        CHECK_INT(s.response.attempt.http_status, 200);
        CHECK(!strstr(loopback_server_request(s.server, i)->head, "Expect"));
    }
    tear_down(&s);
}

TEST(a_server_that_refuses_the_question_gets_the_request_without_it)
{
    scene s = {0};
    set_up(&s, STEPS({.refuses_expect = true}));
    CHECK(timed_go(&s, 60000) < WITHOUT_PAUSE_MS);
    CHECK_INT(s.response.attempt.http_status, 200);
    CHECK_INT(loopback_server_count(s.server), 2);
    CHECK_STR(loopback_server_request(s.server, 0)->body, "");
    CHECK_STR(loopback_server_request(s.server, 1)->body, "profile");
    go(&s, 5000);
    CHECK_INT(loopback_server_count(s.server), 3);
    tear_down(&s);
}

TEST(once_it_has_answered_the_question_its_silence_is_not_sent)
{
    scene s = {0};
    set_up(&s, STEPS({0}, {.hang = LOOPBACK_BEFORE_BODY}));
    go(&s, 5000);
    CHECK_INT(s.response.attempt.http_status, 200);
    CHECK(timed_go(&s, 900) >= 850);
    CHECK_INT(s.response.attempt.end, RPP_END_NOT_SENT);
    CHECK(s.response.timed_out && !s.response.attempt.reached);
    tear_down(&s);
}

TEST(an_old_connection_is_renewed)
{
    scene s = {0};
    set_up(&s, STEPS({0}));
    go(&s, 5000);
    go(&s, 5000);
    CHECK_INT(loopback_server_request(s.server, 1)->connection, 1);
    s.client->connection_max_age_ns = 1;
    go(&s, 5000);
    go(&s, 5000);
    CHECK_INT(loopback_server_request(s.server, 2)->connection, 2);
    CHECK_INT(loopback_server_request(s.server, 3)->connection, 3);
    tear_down(&s);
}

/* --- descriptors
 * ---------------------------------------------------------------------------------------------------- */

typedef struct descriptors {
    unsigned local, to_server; /* unnamed local sockets and pipes; connections to the server */
    unsigned inherited;        /* of these, not closed on exec */
} descriptors;

static descriptors look_at_descriptors(const scene *s)
{
    descriptors seen = {0};
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        int fd = atoi(entry->d_name);
        struct sockaddr_in peer = {0};
        socklen_t length = sizeof peer;
        struct stat status;
        /* By its name, as the server may just close it. */
        if (fstatat(dirfd(folder), entry->d_name, &status, 0) != 0 || !S_ISSOCK(status.st_mode)) continue;
        if (getpeername(fd, (struct sockaddr *)&peer, &length) != 0) continue;
        bool to_server =
            peer.sin_family == AF_INET && s->server && ntohs(peer.sin_port) == loopback_server_port(s->server);
        bool local = peer.sin_family == AF_UNIX;
        seen.to_server += to_server;
        seen.local += local;
        if ((to_server || local) && !(fcntl(fd, F_GETFD) & FD_CLOEXEC)) seen.inherited++;
    }
    closedir(folder);
    return seen;
}

TEST(no_descriptor_is_inherited_by_programs)
{
    scene s = {0};
    int others[2]; /* somebody else's, who wants it so */
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, others), 0);
    descriptors before = look_at_descriptors(&s);
    set_up(&s, STEPS({0}));
    go(&s, 5000);
    descriptors after = look_at_descriptors(&s);
    CHECK_INT(after.to_server, 1);
    CHECK_INT(after.local, before.local + 2); /* where this changes, so may what has to be closed on exec */
    CHECK_INT(after.inherited, before.inherited);
    close(others[0]);
    close(others[1]);
    tear_down(&s);
}

TEST(a_forked_child_closes_them_and_the_parent_goes_on)
{
    scene s = {0};
    int status = -1;
    set_up(&s, STEPS({0}));
    go(&s, 5000);
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        descriptors before = look_at_descriptors(&s);
        s.client->discard_after_fork(s.client);
        descriptors after = look_at_descriptors(&s);
        bool closed = after.to_server == 0 && before.to_server == 1 && before.local - after.local == 2;
        execlp(closed ? "true" : "false", "child",
               (char *)NULL); /* without valgrind's look for what the threads that are gone had */
        _exit(1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    go(&s, 5000);
    CHECK_INT(s.response.attempt.http_status, 200);
    CHECK_INT(loopback_server_request(s.server, 1)->connection, 1);
    tear_down(&s);
}
