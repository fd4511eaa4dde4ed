/* test_backend_ingest.c - the address that /ingest takes, and names that it would cut or refuse. */
#include "backends/backend_kinds.h"
#include "base/clock.h"
#include "failing_allocations.h"
#include "fake_http_client.h"
#include "test.h"

static uint8_t profile[] = {0x1f, 0x8b, 9};

static void check_url(const rpp_settings *settings, uint64_t time_ns, uint64_t duration_ns, const char *expected)
{
    rpp_payload payload = {.bytes = profile, .length = sizeof profile, .time_ns = time_ns, .duration_ns = duration_ns};
    rpp_upload_result result = {0};
    fake_http_client http;
    fake_http_client_init(&http);
    rpp_backend *backend = rpp_backend_ingest_new(settings, &http.client);
    CHECK_OK(backend->deliver(backend, &payload, 77, &result));
    CHECK_INT(result.attempt.http_status, 200);
    CHECK_STR(http.url, expected);
    CHECK_STR(http.sent_type, "application/octet-stream");
    CHECK_INT(http.sent_length, sizeof profile);
    CHECK(memcmp(http.sent, profile, sizeof profile) == 0);
    CHECK_INT(http.deadline_ns, 77);
    CHECK_STR(backend->name, "pyroscope_ingest");
    backend->free(backend);
    fake_http_client_destroy(&http);
}

TEST(the_profile_is_the_body_and_the_rest_is_the_address)
{
    rpp_pair tags[] = {{"region", "eu"}, {"env", "prod"}};
    rpp_settings settings = {.application_name = "shop", .server_address = "http://me:pw@h:1/x/", .tags = {tags, 2, 2}};
    check_url(&settings, 100 * RPP_NS_PER_S + 1, 10 * RPP_NS_PER_S,
              "http://h:1/x/ingest?name=shop%7Benv%3Dprod%2Cregion%3Deu%7D&from=100&until=111&spyName=rperf-push"
              "&format=pprof");
}

TEST(without_tags_there_are_no_braces_and_a_window_is_never_empty)
{
    rpp_settings settings = {.application_name = "shop", .server_address = "http://h"};
    check_url(&settings, 5 * RPP_NS_PER_S, 0,
              "http://h/ingest?name=shop&from=5&until=6&spyName=rperf-push&format=pprof");
}

TEST(names_and_values_that_would_break_are_cleaned)
{
    rpp_pair tags[] = {{"a-b", "x,y}z w=&#%"}};
    rpp_settings settings = {.application_name = "my {shop},a=b", .server_address = "http://h", .tags = {tags, 1, 1}};
    check_url(&settings, RPP_NS_PER_S, RPP_NS_PER_S,
              "http://h/ingest?name=my__shop__a_b%7Ba_b%3Dx_y_z%20w%3D%26%23%25%7D&from=1&until=2"
              "&spyName=rperf-push&format=pprof");
}

static rpp_attempt answered(int status, const char *body)
{
    rpp_settings settings = {.application_name = "shop", .server_address = "http://h"};
    rpp_payload payload = {.bytes = profile, .length = sizeof profile};
    rpp_upload_result result = {0};
    fake_http_client http;
    fake_http_client_init(&http);
    fake_http_client_answer(&http, status, "text/plain", body);
    rpp_backend *backend = rpp_backend_ingest_new(&settings, &http.client);
    CHECK_OK(backend->deliver(backend, &payload, 77, &result));
    backend->free(backend);
    fake_http_client_destroy(&http);
    return result.attempt;
}

/* The server answers it to everything that its parts could not do. */
TEST(a_422_is_judged_by_its_text)
{
    static const struct {
        const char *text;
        rpp_answer_meaning meaning;
        bool permanent;
    } cases[] = {
        {"pushing IngestInput-pprof failed unavailable: dial tcp 10.0.0.1:9095: connect: connection refused",
         RPP_MEANS_NOT_NOW, false},
        {"failed internal: no space left on device", RPP_MEANS_NOT_NOW, false},
        {"failed resource_exhausted: limit of 2 MB/s", RPP_MEANS_NOT_NOW, false},
        {"failed deadline_exceeded: context deadline exceeded", RPP_MEANS_UNKNOWN, false},
        {"context deadline exceeded", RPP_MEANS_UNKNOWN, false},
        {"failed invalid_argument: profile of \"unavailable: x\" is too old", RPP_MEANS_ITS_STATUS, true},
        {"failed invalid_argument: service_name=\"internal-unavailable\"", RPP_MEANS_ITS_STATUS, true},
        {"failed to parse profile", RPP_MEANS_ITS_STATUS, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rpp_attempt attempt = answered(422, cases[i].text);
        if (attempt.meaning != cases[i].meaning || attempt.permanent != cases[i].permanent) FAIL("%s", cases[i].text);
        CHECK_INT(answered(400, cases[i].text).meaning, RPP_MEANS_ITS_STATUS);
    }
}

TEST(every_allocation_may_fail)
{
    rpp_pair tags[] = {{"env", "prod"}};
    rpp_settings settings = {.application_name = "shop", .server_address = "http://h", .tags = {tags, 1, 1}};
    rpp_payload payload = {.bytes = profile, .length = sizeof profile};
    check_each_allocation(rpp_backend_ingest_new, &settings, &payload, 200, NULL);
}
