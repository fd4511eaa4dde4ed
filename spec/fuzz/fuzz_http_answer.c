/* fuzz_http_answer.c - a server on loopback answers with the fuzzer's bytes: whatever it says, the client comes back in
 * time, within its limits, and what it reports is fit for a log and leads to one of the verdicts.
 *
 * The client is one for all inputs, as in a process; each answer ends its connection.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/backend_kinds.h"
#include "base/clock.h"
#include "fuzz_input.h"
#include "http/http_client.h"

#define WAIT_NS (5 * RPP_NS_PER_S)

static struct {
    int listener;
    rpp_settings *settings;
    rpp_http_client *client;
    rpp_backend *backend;
    pthread_mutex_t turn; /* whose it is to use the answer: the server's, or who sets it */
    const uint8_t *answer;
    size_t length;
    char url[64];
} world;

/* All of the request: what is left unread would turn the end of the connection into a reset. */
static void read_request(int connection)
{
    static char room[16 * 1024];
    size_t length = 0, wanted = 0;
    do {
        ssize_t got = recv(connection, room + length, sizeof room - 1 - length, 0);
        if (got <= 0) return;
        room[length += (size_t)got] = '\0';
        const char *end = strstr(room, "\r\n\r\n"), *body_length = strstr(room, "Content-Length: ");
        if (end && body_length) wanted = (size_t)(end + 4 - room) + strtoul(body_length + 16, NULL, 10);
    } while (!wanted || length < wanted);
}

static void serve(int connection)
{
    read_request(connection);
    for (size_t sent = 0; sent < world.length;) {
        ssize_t more = send(connection, world.answer + sent, world.length - sent, MSG_NOSIGNAL);
        if (more <= 0) break;
        sent += (size_t)more;
    }
    close(connection);
}

static void *server(void *unused)
{
    (void)unused;
    for (;;) {
        int connection = accept(world.listener, NULL, NULL);
        if (connection < 0) continue;
        pthread_mutex_lock(&world.turn);
        serve(connection);
        pthread_mutex_unlock(&world.turn);
    }
    return NULL;
}

static void begin_once(void)
{
    static bool begun;
    if (begun) return;
    begun = true;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    pthread_t thread;
    world.listener = socket(AF_INET, SOCK_STREAM, 0);
    FUZZ_CHECK(world.listener >= 0 && bind(world.listener, (struct sockaddr *)&address, sizeof address) == 0);
    FUZZ_CHECK(listen(world.listener, 16) == 0);
    FUZZ_CHECK(getsockname(world.listener, (struct sockaddr *)&address, &size) == 0);
    snprintf(world.url, sizeof world.url, "http://127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    pthread_mutex_init(&world.turn, NULL);
    FUZZ_CHECK(pthread_create(&thread, NULL, server, NULL) == 0);

    rpp_errors errors = {0};
    FUZZ_CHECK(rpp_curl_global_init() == RPP_OK);
    world.settings = rpp_settings_new();
    FUZZ_CHECK(world.settings);
    FUZZ_CHECK(rpp_settings_set_text(world.settings, "server_address", world.url, NULL, &errors) == RPP_OK);
    FUZZ_CHECK(rpp_settings_set_text(world.settings, "proxy", "", NULL, &errors) == RPP_OK && !errors.count);
    FUZZ_CHECK(rpp_settings_check(world.settings, &errors) == RPP_OK && !errors.count);
    world.client = rpp_curl_client_new(world.settings, NULL);
    FUZZ_CHECK(world.client);
    world.backend = rpp_backend_pyroscope_new(world.settings, world.client);
    FUZZ_CHECK(world.backend);
}

/* The status of an answer that begins without any doubt; 0 when libcurl is free in how it reads it. */
static int plain_status(void)
{
    const char *at = (const char *)world.answer;
    if (world.length < 15 || memcmp(at, "HTTP/1.1 ", 9) != 0 || at[9] < '2' || at[9] > '5' ||
        memcmp(at + 12, " \r\n", 3) != 0) {
        return 0;
    }
    if (strspn(at + 9, "0123456789") < 3 || !memmem(at, world.length, "\r\n\r\n", 4)) return 0;
    return (at[9] - '0') * 100 + (at[10] - '0') * 10 + at[11] - '0';
}

static void check_verdict(const rpp_upload_result *result)
{
    rpp_retry_policy policy = {.first_ns = RPP_NS_PER_S, .max_ns = 60 * RPP_NS_PER_S};
    uint64_t random = 1, due_ns = 0;
    const rpp_attempt *attempt = &result->attempt;
    rpp_verdict verdict =
        rpp_retry_decide(&policy, attempt, (rpp_tries){.begun = 1, .server_errors = 1}, 1000, &random, &due_ns);
    FUZZ_CHECK(attempt->end == RPP_END_ANSWERED || attempt->end == RPP_END_NOT_SENT ||
               attempt->end == RPP_END_NO_ANSWER);
    FUZZ_CHECK(attempt->end != RPP_END_ANSWERED || (attempt->http_status >= 200 && attempt->http_status <= 999));
    FUZZ_CHECK((verdict == RPP_VERDICT_DELIVERED) ==
               (attempt->end == RPP_END_ANSWERED && attempt->http_status / 100 == 2));
    FUZZ_CHECK(attempt->retry_after_ns <= 3600 * RPP_NS_PER_S);
    FUZZ_CHECK(verdict != RPP_VERDICT_RETRY || due_ns > 1000);
    FUZZ_CHECK(strlen(result->message) < sizeof result->message && fuzz_is_one_line(result->message));
    FUZZ_CHECK(verdict == RPP_VERDICT_DELIVERED || *result->message);
    int status = plain_status();
    FUZZ_CHECK(!status || attempt->end != RPP_END_ANSWERED || attempt->http_status == status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin_once();
    char *copy = malloc(size + 1);
    FUZZ_CHECK(copy);
    if (size) memcpy(copy, data, size);
    copy[size] = '\0';
    pthread_mutex_lock(&world.turn);
    world.answer = (const uint8_t *)copy;
    world.length = size;
    pthread_mutex_unlock(&world.turn);

    rpp_upload_result result = {0};
    uint8_t bytes[] = "profile";
    rpp_payload payload = {.bytes = bytes, .length = sizeof bytes, .sequence = 1};
    uint64_t begun = rpp_monotonic_ns();
    FUZZ_CHECK(world.backend->deliver(world.backend, &payload, begun + WAIT_NS, &result) == RPP_OK);
    /* An answer that has ended is no reason to wait. */
    FUZZ_CHECK(!result.timed_out || rpp_monotonic_ns() - begun >= WAIT_NS);
    check_verdict(&result);
    pthread_mutex_lock(&world.turn);
    free(copy);
    world.length = 0;
    pthread_mutex_unlock(&world.turn);
    return 0;
}
