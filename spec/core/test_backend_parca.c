/* test_backend_parca.c - the JSON that Parca takes, and what must never reach it. */
#include "backends/backend_kinds.h"
#include "backends/series_list.h"
#include "base/json_text.h"
#include "failing_allocations.h"
#include "fake_http_client.h"
#include "test.h"

static uint8_t profile[] = {0x1f, 0x8b, 0xff, 0x00, 0x3e};
static const rpp_settings settings = {.application_name = "shop", .server_address = "http://parca:7070"};

typedef struct scene {
    fake_http_client http;
    rpp_backend *backend;
    rpp_payload payload;
    rpp_upload_result result;
} scene;

static void set_up(scene *s, const rpp_settings *with)
{
    memset(s, 0, sizeof *s);
    fake_http_client_init(&s->http);
    s->backend = rpp_backend_parca_new(with, &s->http.client);
    CHECK(s->backend);
    s->payload = (rpp_payload){.bytes = profile, .length = sizeof profile, .samples = 1, .sequence = 1};
}

static void deliver(scene *s)
{
    CHECK_OK(s->backend->deliver(s->backend, &s->payload, 99, &s->result));
}

static void tear_down(scene *s)
{
    s->backend->free(s->backend);
    fake_http_client_destroy(&s->http);
}

TEST(one_series_in_json)
{
    rpp_pair tags[] = {{"env", "a\"b\\c\n\xc3\xa4"}};
    rpp_settings with = settings;
    scene s;
    with.tags = (rpp_pairs){tags, 1, 1};
    set_up(&s, &with);
    deliver(&s);
    CHECK_STR(s.http.url, "http://parca:7070/api/profiles/writeraw");
    CHECK_STR(s.http.sent_type, "application/json");
    CHECK_STR(s.http.sent, "{\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":\"process_cpu\"},"
                           "{\"name\":\"service_name\",\"value\":\"shop\"},"
                           "{\"name\":\"env\",\"value\":\"a\\\"b\\\\c\\u000a\xc3\xa4\"}]},"
                           "\"samples\":[{\"rawProfile\":\"H4v/AD4=\"}]}],\"normalized\":true}");
    CHECK_INT(s.http.deadline_ns, 99);
    CHECK_STR(s.backend->name, "parca");
    CHECK(s.backend->rules.max_raw_bytes && s.backend->rules.max_raw_bytes <= 64 * 1024 * 1024);
    CHECK_INT(s.backend->rules.max_samples, 0);
    CHECK_INT(s.backend->rules.max_age_ns, 7 * 86400 * RPP_NS_PER_S);
    tear_down(&s);
}

TEST(several_series_in_one_request)
{
    rpp_pair endpoint[] = {{"endpoint", "GET /"}};
    const rpp_pairs labels[] = {{0}, {endpoint, 1, 1}};
    rpp_byte_buffer list;
    rpp_byte_buffer_init(&list, 1000);
    for (size_t i = 0; i < 2; i++) {
        size_t series;
        CHECK_OK(rpp_series_list_begin(&list, &labels[i], &series));
        CHECK_OK(rpp_byte_sink_write(&list.sink, i ? "two" : "one", 3));
        rpp_series_list_end(&list, series);
    }
    scene s;
    set_up(&s, &settings);
    s.payload.bytes = list.bytes;
    s.payload.length = list.length;
    s.payload.group = RPP_GROUP_MEMORY;
    deliver(&s);
    CHECK_STR(s.http.sent, "{\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":\"memory\"},"
                           "{\"name\":\"service_name\",\"value\":\"shop\"}]},\"samples\":[{\"rawProfile\":\"b25l\"}]},"
                           "{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":\"memory\"},"
                           "{\"name\":\"service_name\",\"value\":\"shop\"},"
                           "{\"name\":\"endpoint\",\"value\":\"GET /\"}]},\"samples\":[{\"rawProfile\":\"dHdv\"}]}],"
                           "\"normalized\":true}");
    CHECK_INT(s.backend->rules.max_series, 1000);
    CHECK_INT(s.backend->rules.max_series_raw_bytes, 8 << 20);

    for (s.payload.length = 8; s.payload.length < list.length; s.payload.length++) {
        if (s.payload.length == 8 + 8 + 3) continue; /* whole, with one series */
        s.http.count = 0;
        deliver(&s);
        CHECK_INT(s.http.count, 0);
        CHECK(s.result.attempt.permanent && strstr(s.result.message, "damaged"));
    }
    rpp_byte_buffer_destroy(&list);
    tear_down(&s);
}

static const char *encoded(scene *s, size_t length)
{
    s->payload.length = length;
    deliver(s);
    return strstr(s->http.sent, "\"rawProfile\":") + strlen("\"rawProfile\":");
}

TEST(base64_of_every_remainder_and_across_blocks)
{
    scene s;
    set_up(&s, &settings);
    CHECK(strncmp(encoded(&s, 1), "\"Hw==\"", 6) == 0);
    CHECK(strncmp(encoded(&s, 2), "\"H4s=\"", 6) == 0);
    CHECK(strncmp(encoded(&s, 3), "\"H4v/\"", 6) == 0);
    CHECK(strncmp(encoded(&s, 4), "\"H4v/AA==\"", 10) == 0);
    static uint8_t zeros[3 * 1024 * 2 + 1];
    for (size_t length = sizeof zeros - 4; length <= sizeof zeros; length++) {
        s.payload.bytes = zeros;
        const char *text = encoded(&s, length);
        size_t expected = (length + 2) / 3 * 4;
        CHECK_INT(strcspn(text + 1, "\""), expected);
        CHECK_INT(strspn(text + 1, "A"), (length * 8 + 5) / 6);
    }
    tear_down(&s);
}

TEST(an_empty_profile_is_never_sent)
{
    scene s;
    set_up(&s, &settings);
    s.payload.samples = 0;
    deliver(&s);
    CHECK_INT(s.http.count, 0);
    CHECK_INT(s.result.attempt.end, RPP_END_NOT_SENT);
    CHECK(s.result.attempt.permanent);
    s.payload.samples = 1;
    s.payload.length = 0;
    deliver(&s);
    CHECK_INT(s.http.count, 0);
    CHECK(s.result.attempt.permanent);
    tear_down(&s);
}

TEST(labels_are_never_missing)
{
    rpp_settings bare = {.server_address = "http://h"};
    scene s;
    set_up(&s, &bare);
    deliver(&s);
    CHECK(strstr(s.http.sent, "{\"name\":\"service_name\",\"value\":\"unknown_service\"}"));
    tear_down(&s);
}

TEST(a_closed_connection_is_retried_twice_at_most)
{
    static const rpp_attempt_end ends[] = {RPP_END_NOT_SENT, RPP_END_NO_ANSWER};
    for (size_t i = 0; i < 2; i++) {
        scene s;
        set_up(&s, &settings);
        s.http.attempt = (rpp_attempt){.end = ends[i]};
        s.http.connected = true;
        s.http.error = "closed";
        for (int attempt = 1; attempt <= 3; attempt++) {
            deliver(&s);
            CHECK_INT(s.result.attempt.permanent, attempt == 3);
        }
        CHECK(strstr(s.result.message, "third time"));
        s.payload.sequence = 2; /* another one starts anew */
        deliver(&s);
        CHECK(!s.result.attempt.permanent);
        tear_down(&s);
    }
}

TEST(refused_connections_and_timeouts_are_no_crashes)
{
    scene s;
    set_up(&s, &settings);
    s.http.attempt = (rpp_attempt){.end = RPP_END_NOT_SENT};
    for (int attempt = 1; attempt <= 9; attempt++) {
        s.http.connected = s.http.timed_out = attempt % 2 == 0;
        deliver(&s);
        CHECK(!s.result.attempt.permanent);
    }
    tear_down(&s);
}

TEST(grpc_messages_are_shown)
{
    scene s;
    set_up(&s, &settings);
    fake_http_client_answer(&s.http, 400, "application/json",
                            "{\"code\":3,\"message\":\"function id is 0\",\"details\":[]}");
    deliver(&s);
    CHECK_STR(s.result.message, "HTTP 400: function id is 0");
    fake_http_client_answer(&s.http, 429, "application/json",
                            "{\"code\":8,\"message\":\"grpc: received message larger than max\"}");
    deliver(&s);
    CHECK(s.result.attempt.permanent);
    tear_down(&s);
}

TEST(every_allocation_may_fail)
{
    rpp_payload payload = {.bytes = profile, .length = sizeof profile, .samples = 1};
    check_each_allocation(rpp_backend_parca_new, &settings, &payload, 200, NULL);
}
