/* http_client.c - sends HTTP requests with libcurl, some at once: bounded in time and memory, interruptible, no
 * redirects. */
#include "http/http_client.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/version.h"
#include "http/http_descriptors.h"
#include "http/http_headers.h"
#include "http/http_transfer.h"
#include "http/http_url.h"

#define POLL_MAX_MS           1000u
#define CONNECTION_MAX_AGE_NS (5 * 60 * RPP_NS_PER_S)
/* Wait for a 100 from a server that has not sent one yet: a proxy without its server needs some seconds to give up. */
#define EXPECT_MAX_NS         (4 * RPP_NS_PER_S)

/* What we know of the server's reaction to "Expect: 100-continue". */
typedef enum expectation { EXPECT_UNKNOWN, EXPECT_ANSWERED, EXPECT_IGNORED } expectation;

typedef struct curl_client {
    rpp_http_client client; /* first: a curl client is a client */
    const rpp_settings *settings;
    pthread_mutex_t *fork_lock; /* held around every call of libcurl except the wait and the wake-up */
    CURLM *multi;               /* keeps the connections */
    CURL *easy;                 /* never performed: each request's handle is a copy of it */
    char *user, *password;      /* for basic authentication; NULL: none */
    rpp_http_descriptors descriptors;
    uint64_t connected_ns; /* start of the latest connection; 0: none */
    expectation expectation;
    atomic_bool interrupted;
    rpp_http_exchange *exchanges; /* under way */
} curl_client;

struct rpp_http_exchange {
    curl_client *client;
    rpp_http_transfer transfer;
    rpp_http_response response;
    struct curl_slist *headers;
    CURL *easy;        /* NULL: it has ended */
    rpp_status status; /* of one that has ended */
    rpp_http_exchange *next;
};

static void lock_libcurl(curl_client *self)
{
    if (self->fork_lock) pthread_mutex_lock(self->fork_lock);
}

static void unlock_libcurl(curl_client *self)
{
    if (self->fork_lock) pthread_mutex_unlock(self->fork_lock);
}

/* --- one request
 * ---------------------------------------------------------------------------------------------------- */

static void tell_before_send(curl_client *self, const rpp_http_request *request)
{
    if (self->client.before_send) self->client.before_send(self->client.before_send_context, request->claim);
}

#if LIBCURL_VERSION_NUM >= 0x075000
#define TELLS_BEFORE_SEND 1
#define KEPT_CONNECTIONS  ((long)RPP_HTTP_EXCHANGES_MAX)
/* The connection is established. The callback may take long, so it runs without the fork lock: no fork waits for it. */
static int before_send(void *context, char *to, char *from, int to_port, int from_port)
{
    rpp_http_exchange *exchange = context;
    (void)to, (void)from, (void)to_port, (void)from_port;
    unlock_libcurl(exchange->client);
    tell_before_send(exchange->client, exchange->transfer.request);
    lock_libcurl(exchange->client);
    return CURL_PREREQFUNC_OK;
}
#else
#define TELLS_BEFORE_SEND 0
#define KEPT_CONNECTIONS  1L /* else one that was renewed would be used again: there is no CURLOPT_MAXLIFETIME_CONN */
#endif

static uint64_t expect_ns(const curl_client *self, uint64_t left_ns)
{
    if (self->expectation == EXPECT_IGNORED) return 0;
    if (self->expectation == EXPECT_ANSWERED) return left_ns + RPP_NS_PER_S; /* never unasked */
    return left_ns / 3 < EXPECT_MAX_NS ? left_ns / 3 + 1 : EXPECT_MAX_NS;
}

static void learn_expectation(curl_client *self, const rpp_http_transfer *transfer)
{
    if (!transfer->expect_ns) return;
    bool unasked = !transfer->continued && transfer->taken > 0;
    if (transfer->continued) {
        self->expectation = EXPECT_ANSWERED;
    } else if (transfer->unexpected || (unasked && transfer->status >= 200)) {
        self->expectation = EXPECT_IGNORED;
    } else if (transfer->response->timed_out) {
        self->expectation = EXPECT_UNKNOWN; /* by now it may be another server */
    }
}

/* Each request has its own handle: libcurl 7.83 to 8.1 keeps a dangling pointer into the headers of a handle's last
 * answer, and a server can reach it with a header line that begins with a space (curl #11103). */
static rpp_status attach(curl_client *self, rpp_http_exchange *exchange)
{
    rpp_http_transfer *transfer = &exchange->transfer;
    rpp_http_response *response = &exchange->response;
    rpp_status status = rpp_http_headers_make(self->settings, transfer->request, transfer->expect_ns > 0,
                                              &exchange->headers, response->error, sizeof response->error);
    if (status != RPP_OK) return status;
    CURL *easy = exchange->easy = curl_easy_duphandle(self->easy);
    if (!easy || rpp_http_transfer_attach(transfer, easy, exchange->headers) != CURLE_OK) return RPP_NO_MEMORY;
#if TELLS_BEFORE_SEND
    long life_s = (long)(self->client.connection_max_age_ns / RPP_NS_PER_S);
    if (curl_easy_setopt(easy, CURLOPT_PREREQDATA, exchange) != CURLE_OK) return RPP_NO_MEMORY;
    if (curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, life_s) != CURLE_OK) return RPP_NO_MEMORY;
#endif
    if (self->connected_ns && transfer->begin_ns - self->connected_ns >= self->client.connection_max_age_ns) {
        if (curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L) != CURLE_OK) return RPP_NO_MEMORY;
    }
    return curl_multi_add_handle(self->multi, easy) == CURLM_OK ? RPP_OK : RPP_NO_MEMORY;
}

/* Under the fork lock. */
static void detach(curl_client *self, rpp_http_exchange *exchange)
{
    if (exchange->easy) curl_multi_remove_handle(self->multi, exchange->easy);
    curl_easy_cleanup(exchange->easy);
    curl_slist_free_all(exchange->headers);
    exchange->easy = NULL;
    exchange->headers = NULL;
}

static bool start(curl_client *self, rpp_http_exchange *exchange);

/* Under the fork lock. A 417 begins the same request anew: nothing was stored, and it may be sent without asking. */
static void conclude(curl_client *self, rpp_http_exchange *exchange, rpp_transfer_end end, CURLcode code)
{
    exchange->status = rpp_http_transfer_conclude(&exchange->transfer, exchange->easy, end, code);
    detach(self, exchange);
    learn_expectation(self, &exchange->transfer);
    if (exchange->status != RPP_OK) rpp_http_response_destroy(&exchange->response);
    if (exchange->status == RPP_OK && exchange->transfer.unexpected) start(self, exchange);
}

/* Under the fork lock. False: it has ended. */
static bool start(curl_client *self, rpp_http_exchange *exchange)
{
    const rpp_http_request *request = exchange->transfer.request;
    uint64_t now = rpp_monotonic_ns(), left = request->deadline_ns > now ? request->deadline_ns - now : 0;
    rpp_http_response_destroy(&exchange->response);
    exchange->response = (rpp_http_response){0};
    exchange->transfer = (rpp_http_transfer){
        .request = request, .response = &exchange->response, .begin_ns = now, .expect_ns = expect_ns(self, left)};
    exchange->status = attach(self, exchange);
    if (exchange->status == RPP_OK) return true;
    detach(self, exchange);
    if (exchange->status == RPP_INVALID) {
        exchange->response.attempt = (rpp_attempt){.end = RPP_END_NOT_SENT, .permanent = true};
        exchange->status = RPP_OK;
    }
    return false;
}

static rpp_status begin(rpp_http_client *client, const rpp_http_request *request, rpp_http_exchange **begun)
{
    curl_client *self = (curl_client *)client;
    rpp_http_exchange *exchange = rpp_calloc(1, sizeof *exchange);
    if (!exchange) return RPP_NO_MEMORY;
    exchange->client = self;
    exchange->transfer.request = request;
    if (!TELLS_BEFORE_SEND) tell_before_send(self, request);
    lock_libcurl(self);
    if (start(self, exchange)) {
        exchange->next = self->exchanges;
        self->exchanges = exchange;
    }
    unlock_libcurl(self);
    *begun = exchange;
    return RPP_OK;
}

static bool has_ended(const rpp_http_exchange *exchange)
{
    return !exchange->easy;
}

static rpp_status end(rpp_http_client *client, rpp_http_exchange *exchange, rpp_http_response *response)
{
    (void)client;
    rpp_status status = exchange->status;
    *response = exchange->response;
    rpp_free(exchange);
    return status;
}

static rpp_http_exchange *find_exchange(const curl_client *self, const CURL *easy)
{
    rpp_http_exchange *exchange = self->exchanges;
    while (exchange && exchange->easy != easy) exchange = exchange->next;
    return exchange;
}

/* Under the fork lock. What libcurl has ended. */
static void conclude_finished(curl_client *self, CURLMcode failed)
{
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(self->multi, &left));) {
        CURLcode code = message->data.result;
        rpp_http_exchange *exchange = find_exchange(self, message->easy_handle);
        if (exchange) conclude(self, exchange, RPP_TRANSFER_FINISHED, code);
    }
    if (failed == CURLM_OK) return;
    CURLcode code = failed == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT;
    for (rpp_http_exchange *each = self->exchanges; each; each = each->next) {
        if (each->easy) conclude(self, each, RPP_TRANSFER_FINISHED, code);
    }
}

/* Under the fork lock. What we end. */
static void conclude_late(curl_client *self, uint64_t now)
{
    bool interrupted = atomic_load(&self->interrupted);
    for (rpp_http_exchange *each = self->exchanges; each; each = each->next) {
        bool late = now >= each->transfer.request->deadline_ns;
        if (!each->easy || (!interrupted && !late)) continue;
        conclude(self, each, interrupted ? RPP_TRANSFER_INTERRUPTED : RPP_TRANSFER_OUT_OF_TIME, CURLE_OK);
    }
}

/* Takes those that have ended out of the list. Returns whether there were any. */
static bool unlink_ended(curl_client *self)
{
    bool any = false;
    for (rpp_http_exchange **link = &self->exchanges; *link;) {
        bool ended = has_ended(*link);
        any |= ended;
        if (ended) {
            *link = (*link)->next;
        } else {
            link = &(*link)->next;
        }
    }
    return any;
}

static uint64_t next_deadline_ns(const curl_client *self, uint64_t until_ns)
{
    for (const rpp_http_exchange *each = self->exchanges; each; each = each->next) {
        if (each->transfer.request->deadline_ns < until_ns) until_ns = each->transfer.request->deadline_ns;
    }
    return until_ns;
}

/* Drives the exchanges without waiting. Returns whether one has ended. */
static bool drive(curl_client *self)
{
    int running;
    conclude_late(self, rpp_monotonic_ns());
    conclude_finished(self, curl_multi_perform(self->multi, &running));
    return unlink_ended(self);
}

/* The only place where this thread waits. It holds no lock here. */
static void wait_for_network(curl_client *self, uint64_t left_ns)
{
    uint64_t left_ms = (left_ns + RPP_NS_PER_MS - 1) / RPP_NS_PER_MS;
    curl_multi_poll(self->multi, NULL, 0, (int)(left_ms < POLL_MAX_MS ? left_ms : POLL_MAX_MS), NULL);
}

static void wait_for_end(rpp_http_client *client, uint64_t until_ns)
{
    curl_client *self = (curl_client *)client;
    lock_libcurl(self);
    bool ended = drive(self);
    unlock_libcurl(self);
    uint64_t now = rpp_monotonic_ns();
    until_ns = next_deadline_ns(self, until_ns);
    if (ended || now >= until_ns) return;
    wait_for_network(self, until_ns - now);
    lock_libcurl(self);
    drive(self);
    unlock_libcurl(self);
}

static rpp_status perform(rpp_http_client *client, const rpp_http_request *request, rpp_http_response *response)
{
    rpp_http_exchange *exchange;
    rpp_status status = begin(client, request, &exchange);
    if (status != RPP_OK) return status;
    while (!has_ended(exchange)) wait_for_end(client, UINT64_MAX);
    return end(client, exchange, response);
}

static void wake(rpp_http_client *client)
{
    curl_multi_wakeup(((curl_client *)client)->multi);
}

static void interrupt(rpp_http_client *client)
{
    atomic_store(&((curl_client *)client)->interrupted, true);
    wake(client);
}

/* --- new and free
 * --------------------------------------------------------------------------------------------------- */

static const char *environment(const char *name, const char *other_name)
{
    const char *value = getenv(name);
    if ((!value || !*value) && other_name) value = getenv(other_name);
    return value && *value ? value : NULL;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    curl_client *self = context;
    self->connected_ns = rpp_monotonic_ns();
    return rpp_http_open_socket(&self->descriptors, purpose, address);
}

static int close_socket(void *context, curl_socket_t socket)
{
    curl_client *self = context;
    return rpp_http_close_socket(&self->descriptors, socket);
}

#define SET(option, value) (code = code != CURLE_OK ? code : curl_easy_setopt(easy, option, value))

/* libcurl would read the environment in our thread while Ruby may change it in another, so it is read once, here. */
static CURLcode set_proxy(CURL *easy, const rpp_settings *settings)
{
    const char *proxy = settings->proxy, *excluded = NULL;
    CURLcode code = CURLE_OK;
    if (!proxy) {
        bool tls = settings->server_address && strncasecmp(settings->server_address, "https:", 6) == 0;
        /* Not HTTP_PROXY: in a CGI program, the sender of a request sets it. */
        proxy = tls ? environment("https_proxy", "HTTPS_PROXY") : environment("http_proxy", NULL);
        if (!proxy) proxy = environment("all_proxy", "ALL_PROXY");
        excluded = environment("no_proxy", "NO_PROXY");
    }
    SET(CURLOPT_PROXY, proxy ? proxy : "");
    SET(CURLOPT_NOPROXY, excluded ? excluded : "");
    return code;
}

static CURLcode set_tls(CURL *easy, const rpp_settings *settings)
{
    const char *ca_file = settings->tls_ca_file ? settings->tls_ca_file : environment("SSL_CERT_FILE", NULL);
    const char *ca_dir = settings->tls_ca_file ? NULL : environment("SSL_CERT_DIR", NULL);
    CURLcode code = CURLE_OK;
    SET(CURLOPT_SSL_VERIFYPEER, settings->tls_verify ? 1L : 0L);
    SET(CURLOPT_SSL_VERIFYHOST, settings->tls_verify ? 2L : 0L);
    if (ca_file) SET(CURLOPT_CAINFO, ca_file);
    if (ca_dir) SET(CURLOPT_CAPATH, ca_dir);
    if (settings->tls_client_cert) SET(CURLOPT_SSLCERT, settings->tls_client_cert);
    if (settings->tls_client_key) SET(CURLOPT_SSLKEY, settings->tls_client_key);
    return code;
}

static CURLcode set_constants(CURL *easy)
{
    CURLcode code = CURLE_OK;
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    SET(CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    SET(CURLOPT_QUICK_EXIT, 1L); /* otherwise, to give up a slow name lookup would wait for it, inside the fork lock */
#endif
    /* A single request gains nothing from HTTP/2, and HTTP/2 hides how much of a body has gone out. */
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_ACCEPT_ENCODING,
        "gzip"); /* decodes an answer that a server compresses unasked; the header asks for none */
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
    SET(CURLOPT_USERAGENT, "rperf-push/" RPP_VERSION);
    SET(CURLOPT_POST, 1L);
    return code;
}

static CURLcode set_settings(curl_client *self)
{
    CURL *easy = self->easy;
    CURLcode code = set_constants(easy);
    if (code == CURLE_OK) code = set_proxy(easy, self->settings);
    if (code == CURLE_OK) code = set_tls(easy, self->settings);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, self);
    SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    SET(CURLOPT_CLOSESOCKETDATA, self);
#if TELLS_BEFORE_SEND
    SET(CURLOPT_PREREQFUNCTION, before_send);
#endif
    if (self->user) SET(CURLOPT_USERNAME, self->user);
    if (self->user) SET(CURLOPT_PASSWORD, self->password);
    return code;
}

/* A token overrides a user; a user in the settings overrides one in the URL. */
static rpp_status choose_user(curl_client *self)
{
    const rpp_settings *settings = self->settings;
    if (settings->auth_token && *settings->auth_token) return RPP_OK;
    if (!settings->basic_auth_username && !settings->basic_auth_password) {
        return settings->server_address ? rpp_url_userinfo(settings->server_address, &self->user, &self->password)
                                        : RPP_OK;
    }
    self->user = rpp_strdup(settings->basic_auth_username ? settings->basic_auth_username : "");
    self->password = rpp_strdup(settings->basic_auth_password ? settings->basic_auth_password : "");
    return self->user && self->password ? RPP_OK : RPP_NO_MEMORY;
}

static void client_free(rpp_http_client *client)
{
    curl_client *self = (curl_client *)client;
    if (!self) return;
    lock_libcurl(self);
    curl_easy_cleanup(self->easy);
    curl_multi_cleanup(self->multi);
    unlock_libcurl(self);
    rpp_free(self->user);
    rpp_free(self->password);
    rpp_free(self);
}

static void discard_after_fork(rpp_http_client *client)
{
    rpp_http_descriptors_close_all(&((curl_client *)client)->descriptors);
}

rpp_http_client *rpp_curl_client_new(const rpp_settings *settings, pthread_mutex_t *fork_lock)
{
    curl_client *self = rpp_calloc(1, sizeof *self);
    if (!self) return NULL;
    self->client = (rpp_http_client){.connection_max_age_ns = CONNECTION_MAX_AGE_NS,
                                     .perform = perform,
                                     .begin = begin,
                                     .wait = wait_for_end,
                                     .has_ended = has_ended,
                                     .end = end,
                                     .wake = wake,
                                     .interrupt = interrupt,
                                     .discard_after_fork = discard_after_fork,
                                     .free = client_free};
    self->settings = settings;
    self->fork_lock = fork_lock;
    atomic_init(&self->interrupted, false);

    lock_libcurl(self);
    self->multi = rpp_http_new_multi(&self->descriptors);
    self->easy = curl_easy_init();
    if (self->multi) curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    bool good = self->multi && self->easy && choose_user(self) == RPP_OK && set_settings(self) == CURLE_OK;
    unlock_libcurl(self);
    if (good) return &self->client;
    client_free(&self->client);
    return NULL;
}

static CURLcode global_result;

static void init_globally(void)
{
    global_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

rpp_status rpp_curl_global_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_globally);
    return global_result == CURLE_OK ? RPP_OK : RPP_IO;
}
