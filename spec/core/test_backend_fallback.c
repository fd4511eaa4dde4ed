/* test_backend_fallback.c - the second address only where the first is not known, and the one that works stays. */
#include "backends/backend_kinds.h"

#include "base/alloc.h"
#include "base/log.h"
#include "fake_http_client.h"
#include "test.h"

/* A server by address: what it answers to a push and to /ingest. */
typedef struct fake_server {
    fake_http_client http; /* first */
    int push, ingest;      /* 0: no answer */
    unsigned pushes, ingests;
    rpp_status (*perform)(rpp_http_client *, const rpp_http_request *, rpp_http_response *);
} fake_server;

typedef struct scene {
    fake_server server;
    rpp_settings *settings;
    rpp_backend *backend;
    rpp_upload_result result;
    unsigned infos;
    char line[RPP_LOG_LINE_MAX];
} scene;

static rpp_status perform(rpp_http_client *client, const rpp_http_request *request, rpp_http_response *response)
{
    fake_server *self = (fake_server *)client;
    bool is_push = strstr(request->url, "/push.v1.PusherService/Push") != NULL;
    int status = is_push ? self->push : self->ingest;
    if (is_push) {
        self->pushes++;
    } else {
        CHECK(strstr(request->url, "/ingest?name="));
        self->ingests++;
    }
    fake_http_client_answer(&self->http, status, "text/plain", "told so");
    if (!status) self->http.attempt.end = RPP_END_NO_ANSWER;
    return self->perform(client, request, response);
}

static void keep_line(rpp_log_level level, const char *line, void *context)
{
    scene *s = context;
    if (level == RPP_LOG_INFO) s->infos++;
    strcpy(s->line, line);
}

static void set_up(scene *s, const char *backend)
{
    rpp_errors none = {0};
    memset(s, 0, sizeof *s);
    fake_http_client_init(&s->server.http);
    s->server.perform = s->server.http.client.perform;
    s->server.http.client.perform = perform;
    s->settings = rpp_settings_new();
    CHECK_OK(rpp_settings_set_text(s->settings, "backend", backend, NULL, &none));
    CHECK_INT(none.count, 0);
    s->backend = rpp_backend_new(s->settings, &s->server.http.client);
    CHECK(s->backend);
    rpp_log_set_sink(keep_line, s);
}

static void tear_down(scene *s)
{
    s->backend->free(s->backend);
    rpp_settings_free(s->settings);
    fake_http_client_destroy(&s->server.http);
    rpp_log_set_sink(NULL, NULL);
}

static int deliver(scene *s, int push, int ingest)
{
    static uint8_t profile[] = {0x1f, 0x8b, 9};
    rpp_payload payload = {.bytes = profile, .length = sizeof profile, .samples = 1};
    s->server.push = push;
    s->server.ingest = ingest;
    CHECK_OK(s->backend->deliver(s->backend, &payload, 1, &s->result));
    return s->result.attempt.end == RPP_END_ANSWERED ? s->result.attempt.http_status : 0;
}

TEST(one_that_knows_push_is_never_asked_otherwise)
{
    static const int answers[] = {200, 400, 401, 403, 405, 429, 500, 502, 503, 504, 0};
    scene s;
    set_up(&s, "pyroscope,pyroscope_ingest");
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) CHECK_INT(deliver(&s, answers[i], 200), answers[i]);
    CHECK_INT(s.server.ingests, 0);
    CHECK_STR(s.backend->name, "pyroscope");
    CHECK_INT(s.backend->rules.max_samples, 15000);
    tear_down(&s);
}

TEST(a_404_and_a_501_lead_to_ingest_and_there_it_stays)
{
    for (int status = 404; status <= 501; status += 97) {
        scene s;
        set_up(&s, "pyroscope, pyroscope_ingest");
        CHECK_INT(deliver(&s, status, 200), 200);
        CHECK_INT(s.server.pushes, 1);
        CHECK_INT(s.server.ingests, 1);
        CHECK_INT(s.infos, 1);
        CHECK(strstr(s.line, "to pyroscope: using pyroscope_ingest"));
        CHECK_INT(deliver(&s, 200, 503), 503);
        CHECK_INT(s.server.pushes, 1);
        CHECK_INT(deliver(&s, 200, 404), 200); /* a new server knows push only */
        CHECK_INT(deliver(&s, 200, 200), 200);
        CHECK_INT(s.server.pushes, 3);
        CHECK_INT(s.server.ingests, 3);
        tear_down(&s);
    }
}

TEST(only_success_makes_it_stay)
{
    scene s;
    set_up(&s, "pyroscope,pyroscope_ingest");
    CHECK_INT(deliver(&s, 404, 503), 503);
    CHECK_INT(deliver(&s, 404, 422), 422);
    CHECK_INT(deliver(&s, 404, 0), 0);
    CHECK_INT(s.result.attempt.end, RPP_END_NO_ANSWER);
    CHECK_INT(deliver(&s, 200, 200), 200);
    CHECK_INT(s.server.ingests, 3);
    CHECK_INT(s.infos, 0);
    tear_down(&s);
}

TEST(where_neither_is_known_the_answer_is_that_of_push)
{
    scene s;
    set_up(&s, "pyroscope,pyroscope_ingest");
    CHECK_INT(deliver(&s, 501, 404), 501);
    CHECK(strstr(s.result.message, "HTTP 501"));
    tear_down(&s);
}

TEST(unasked_nothing_falls_back)
{
    scene s;
    set_up(&s, "pyroscope");
    CHECK_INT(deliver(&s, 404, 200), 404);
    CHECK_INT(s.server.ingests, 0);
    tear_down(&s);
    set_up(&s, "pyroscope_ingest");
    CHECK_INT(deliver(&s, 200, 404), 404);
    CHECK_INT(s.server.pushes, 0);
    tear_down(&s);
}

TEST(every_allocation_may_fail)
{
    static uint8_t profile[] = {1};
    rpp_payload payload = {.bytes = profile, .length = 1};
    rpp_settings settings = {.application_name = "shop", .server_address = "http://h"};
    settings.backend = RPP_BACKEND_PYROSCOPE_OR_INGEST;
    rpp_log_set_sink(keep_line, &(scene){0});
    for (size_t nth = 1;; nth++) {
        rpp_upload_result result = {0};
        fake_server server = {.push = 404, .ingest = 200};
        fake_http_client_init(&server.http);
        server.perform = server.http.client.perform;
        server.http.client.perform = perform;
        rpp_alloc_fail_at(nth);
        rpp_backend *backend = rpp_backend_new(&settings, &server.http.client);
        rpp_status status = backend ? backend->deliver(backend, &payload, 1, &result) : RPP_NO_MEMORY;
        bool failed = rpp_alloc_count() >= nth;
        rpp_alloc_fail_at(0);
        if (backend) backend->free(backend);
        fake_http_client_destroy(&server.http);
        CHECK_INT(status, failed ? RPP_NO_MEMORY : RPP_OK);
        if (!failed) break;
    }
    rpp_log_set_sink(NULL, NULL);
}
