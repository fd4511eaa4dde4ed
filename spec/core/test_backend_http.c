/* test_backend_http.c - the profile as it is, to the address as it is, what is known of it in headers. */
#include "backends/backend_kinds.h"
#include "failing_allocations.h"
#include "fake_http_client.h"
#include "test.h"

static uint8_t profile[] = {0x1f, 0x8b, 7};
static const rpp_payload payload = {.bytes = profile,
                                    .length = sizeof profile,
                                    .time_ns = 1700000000123456789,
                                    .duration_ns = 10000000000,
                                    .sequence = 3};

static void deliver(const rpp_settings *settings, fake_http_client *http)
{
    rpp_upload_result result = {0};
    fake_http_client_init(http);
    rpp_backend *backend = rpp_backend_http_new(settings, &http->client);
    CHECK(backend);
    CHECK_OK(backend->deliver(backend, &payload, 5, &result));
    CHECK_INT(result.attempt.http_status, 200);
    CHECK_STR(backend->name, "http");
    CHECK(!backend->rules.max_raw_bytes && !backend->rules.max_samples);
    CHECK_INT(backend->rules.max_age_ns, 7 * 86400 * RPP_NS_PER_S);
    backend->free(backend);
}

TEST(the_address_stays_as_it_is_but_for_the_password)
{
    rpp_settings settings = {.application_name = "shop", .server_address = "https://me:p@w@h:8/a//b/?key=1&x=u@v"};
    fake_http_client http;
    deliver(&settings, &http);
    CHECK_STR(http.url, "https://h:8/a//b/?key=1&x=u@v");
    CHECK_STR(http.sent_type, "application/octet-stream");
    CHECK_INT(http.sent_length, sizeof profile);
    CHECK(memcmp(http.sent, profile, sizeof profile) == 0);
    CHECK_STR(http.headers, "X-Profile-Time-Nanos: 1700000000123456789\nX-Profile-Duration-Nanos: 10000000000\n"
                            "X-Profile-Sequence: 3\nX-Service-Name: shop\n");
    CHECK_INT(http.deadline_ns, 5);
    fake_http_client_destroy(&http);
}

TEST(labels_are_escaped_so_that_none_can_break_out)
{
    rpp_pair tags[] = {{"env", "a,b=c\r\nX-Evil: 1"}, {"zone", "\xc3\xa4"}};
    rpp_settings settings = {.application_name = "my shop\n", .server_address = "http://h", .tags = {tags, 2, 2}};
    fake_http_client http;
    deliver(&settings, &http);
    CHECK(strstr(http.headers, "X-Service-Name: my%20shop%0A\n"));
    CHECK(strstr(http.headers, "X-Profile-Labels: env=a%2Cb%3Dc%0D%0AX-Evil%3A%201,zone=%C3%A4\n"));
    fake_http_client_destroy(&http);
}

TEST(labels_too_long_for_a_header_stay_away)
{
    char value[2049];
    memset(value, ' ', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    rpp_pair tags[] = {{"a", value}, {"b", value}};
    rpp_settings settings = {.application_name = "shop", .server_address = "http://h", .tags = {tags, 2, 2}};
    fake_http_client http;
    deliver(&settings, &http);
    CHECK(!strstr(http.headers, "X-Profile-Labels"));
    CHECK(strstr(http.headers, "X-Service-Name: shop\n"));
    fake_http_client_destroy(&http);
}

TEST(every_allocation_may_fail)
{
    rpp_pair tags[] = {{"env", "prod"}};
    rpp_settings settings = {.application_name = "shop", .server_address = "http://h", .tags = {tags, 1, 1}};
    check_each_allocation(rpp_backend_http_new, &settings, &payload, 200, NULL);
}
