/* test_backend_pyroscope.c - the push request byte by byte, its labels, and what the server's answers are made into. */
#include <pb_decode.h>

#include "backends/backend_kinds.h"
#include "base/clock.h"
#include "failing_allocations.h"
#include "fake_http_client.h"
#include "push.pb.h"
#include "settings/pairs.h"
#include "test.h"

static rpp_pair tags[3] = {{"region", "eu"}, {"env", "prod"}, {"empty", ""}};
static const rpp_settings settings = {
    .application_name = "shop", .server_address = "http://me:pw@pyro:4040/base/", .tags = {tags, 3, 3}};
static uint8_t profile[] = {0x1f, 0x8b, 0, 1, 2, 3, 0xff};
static const rpp_payload payload = {.bytes = profile, .length = sizeof profile, .samples = 1, .sequence = 1};

static rpp_upload_result deliver_group(const rpp_settings *with, fake_http_client *http, rpp_value_group group)
{
    rpp_upload_result result = {0};
    rpp_payload delivered = payload;
    delivered.group = group;
    rpp_backend *backend = rpp_backend_pyroscope_new(with, &http->client);
    CHECK(backend);
    CHECK_OK(backend->deliver(backend, &delivered, 12345, &result));
    backend->free(backend);
    return result;
}

static rpp_upload_result deliver(const rpp_settings *with, fake_http_client *http)
{
    return deliver_group(with, http, RPP_GROUP_PROCESS_CPU);
}

/* The labels as "name=value\n", decoded by a reader that shares no code with the writer. */
typedef struct decoded {
    char labels[8192];
    char name[2048], value[4096];
    uint8_t profile[64];
    size_t profile_length;
    unsigned series, samples;
} decoded;

static bool read_text(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    char *text = *arg;
    size_t length = stream->bytes_left;
    text[length] = '\0';
    return pb_read(stream, (pb_byte_t *)text, length);
}

static bool read_profile(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    decoded *into = *arg;
    into->profile_length = stream->bytes_left;
    return into->profile_length <= sizeof into->profile && pb_read(stream, into->profile, stream->bytes_left);
}

static bool read_label(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    decoded *into = *arg;
    push_v1_LabelPair pair = push_v1_LabelPair_init_zero;
    pair.name = (pb_callback_t){.funcs.decode = read_text, .arg = into->name};
    pair.value = (pb_callback_t){.funcs.decode = read_text, .arg = into->value};
    if (!pb_decode(stream, push_v1_LabelPair_fields, &pair)) return false;
    strcat(strcat(strcat(strcat(into->labels, into->name), "="), into->value), "\n");
    return true;
}

static bool read_sample(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    decoded *into = *arg;
    push_v1_RawSample sample = push_v1_RawSample_init_zero;
    into->samples++;
    sample.raw_profile = (pb_callback_t){.funcs.decode = read_profile, .arg = into};
    return pb_decode(stream, push_v1_RawSample_fields, &sample);
}

static bool read_series(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    decoded *into = *arg;
    push_v1_RawProfileSeries series = push_v1_RawProfileSeries_init_zero;
    into->series++;
    series.labels = (pb_callback_t){.funcs.decode = read_label, .arg = into};
    series.samples = (pb_callback_t){.funcs.decode = read_sample, .arg = into};
    return pb_decode(stream, push_v1_RawProfileSeries_fields, &series);
}

static void decode(const fake_http_client *http, decoded *into)
{
    push_v1_PushRequest request = push_v1_PushRequest_init_zero;
    pb_istream_t stream = pb_istream_from_buffer((const pb_byte_t *)http->sent, http->sent_length);
    memset(into, 0, sizeof *into);
    request.series = (pb_callback_t){.funcs.decode = read_series, .arg = into};
    CHECK(pb_decode(&stream, push_v1_PushRequest_fields, &request));
}

TEST(one_series_with_one_profile_to_the_push_address)
{
    static decoded sent;
    fake_http_client http;
    fake_http_client_init(&http);
    rpp_upload_result result = deliver(&settings, &http);
    CHECK_INT(result.attempt.end, RPP_END_ANSWERED);
    CHECK_INT(result.attempt.http_status, 200);
    CHECK_STR(result.message, "");
    CHECK_STR(http.url, "http://pyro:4040/base/push.v1.PusherService/Push");
    CHECK_STR(http.sent_type, "application/proto");
    CHECK_STR(http.headers, "");
    CHECK_INT(http.deadline_ns, 12345);

    decode(&http, &sent);
    CHECK_INT(sent.series, 1);
    CHECK_INT(sent.samples, 1);
    CHECK_STR(sent.labels, "__name__=process_cpu\nservice_name=shop\n__delta__=false\nenv=prod\nregion=eu\n");
    CHECK_INT(sent.profile_length, sizeof profile);
    CHECK(memcmp(sent.profile, profile, sizeof profile) == 0);
    fake_http_client_destroy(&http);
}

TEST(the_group_of_the_values_is_the_name_of_the_profile)
{
    static decoded sent;
    fake_http_client http;
    fake_http_client_init(&http);
    deliver_group(&settings, &http, RPP_GROUP_MEMORY);
    decode(&http, &sent);
    CHECK_STR(sent.labels, "__name__=memory\nservice_name=shop\n__delta__=false\nenv=prod\nregion=eu\n");
    fake_http_client_destroy(&http);
}

TEST(names_of_our_own_are_not_for_tags)
{
    rpp_pair more[] = {{"service_name", "other"}, {"__name__", "memory"}, {"__delta__", "true"}, {"pid", "mine"}};
    rpp_settings with = settings;
    static decoded sent;
    char expected[256], hostname[128] = "";
    fake_http_client http;
    fake_http_client_init(&http);
    with.tags = (rpp_pairs){more, 4, 4};
    with.report_pid = with.report_hostname = true;
    deliver(&with, &http);
    decode(&http, &sent);
    FILE *file = popen("uname -n", "r");
    CHECK(file && fscanf(file, "%127s", hostname) == 1);
    pclose(file);
    snprintf(expected, sizeof expected,
             "__name__=process_cpu\nservice_name=shop\n__delta__=false\nhostname=%s\npid=mine\n", hostname);
    CHECK_STR(sent.labels, expected);
    fake_http_client_destroy(&http);
}

TEST(values_are_cut_and_made_valid_and_the_name_is_never_empty)
{
    char value[5000];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    rpp_pair more[] = {{"long", value}, {"bad", "a\xff\xc3"}};
    rpp_settings with = {.application_name = "", .server_address = "http://h", .tags = {more, 2, 2}};
    static decoded sent;
    fake_http_client http;
    fake_http_client_init(&http);
    deliver(&with, &http);
    decode(&http, &sent);
    CHECK(strstr(sent.labels, "service_name=unknown_service\n"));
    CHECK(strstr(sent.labels, "bad=a??\n"));
    CHECK_INT(strlen(strstr(sent.labels, "long=")), 5 + 2048 + 1);
    fake_http_client_destroy(&http);
}

TEST(limits_are_below_what_the_server_refuses)
{
    fake_http_client http;
    fake_http_client_init(&http);
    rpp_backend *backend = rpp_backend_pyroscope_new(&settings, &http.client);
    CHECK_STR(backend->name, "pyroscope");
    CHECK_INT(backend->rules.max_samples, 15000);
    CHECK(backend->rules.max_raw_bytes <= 1.9 * 1024 * 1024 && backend->rules.max_raw_bytes > 1900000);
    CHECK_INT(backend->rules.max_age_ns, 55 * 60 * RPP_NS_PER_S);
    backend->free(backend);
}

static rpp_upload_result answered(int status, const char *type, const char *body)
{
    fake_http_client http;
    fake_http_client_init(&http);
    fake_http_client_answer(&http, status, type, body);
    rpp_upload_result result = deliver(&settings, &http);
    fake_http_client_destroy(&http);
    return result;
}

TEST(the_servers_message_reaches_the_user)
{
    CHECK_STR(
        answered(400, "application/json", "{\"code\":\"invalid_argument\",\"message\":\"no \\\"labels\\\"\"}").message,
        "HTTP 400: no \"labels\"");
    CHECK_STR(answered(400, "application/json", "{\"details\":[{\"message\":\"no\"}],\"message\":\"yes\"}").message,
              "HTTP 400: yes");
    CHECK_STR(answered(400, "text/plain", "  bad\r\n request \n").message, "HTTP 400: bad   request");
    CHECK_STR(answered(400, "text/html", "<html>").message, "HTTP 400");
    CHECK_STR(answered(503, NULL, NULL).message, "HTTP 503");
    CHECK_STR(answered(400, "application/json", "{\"message\":\"cut of").message, "HTTP 400: cut of");
    CHECK_STR(answered(400, "application/json", "{\"message\":12}").message, "HTTP 400: {\"message\":12}");
    CHECK_STR(answered(400, "application/json", "{\"message\":\"\\u0041\\u00e4\\ud83d\"}").message, "HTTP 400: A??");
}

TEST(a_server_that_repeats_the_credentials_is_not_quoted_with_them)
{
    rpp_settings with_token = {.application_name = "shop", .server_address = "http://h", .auth_token = "t0ken-abc"};
    fake_http_client http;
    fake_http_client_init(&http);
    fake_http_client_answer(&http, 401, "application/json", "{\"message\":\"no access for t0ken-abc\"}");
    rpp_upload_result result = deliver(&with_token, &http);
    CHECK(strstr(result.message, "HTTP 401: no access for *********"));
    fake_http_client_destroy(&http);
}

TEST(hints_say_what_to_do)
{
    CHECK(strstr(answered(401, "application/json", "{\"message\":\"no org id\"}").message, "no org id (set tenant_id"));
    CHECK(strstr(answered(404, "text/plain", "404 page not found").message, "pyroscope_ingest"));
    CHECK(strstr(answered(301, NULL, NULL).message, "redirects are not followed"));
}

TEST(a_message_is_cut_at_a_character_and_holds_no_controls)
{
    char body[1200] = "{\"message\":\"";
    size_t length = strlen(body);
    for (int i = 0; i < 200; i++, length += 2) memcpy(body + length, "\xc3\xa4", 2);
    memcpy(body + length, "\"}", 3);
    CHECK_INT(strlen(answered(400, "application/json", body).message), strlen("HTTP 400: ") + 300);
    rpp_upload_result odd = answered(400, "text/plain", "a\x1b[31m\x80");
    CHECK_STR(odd.message, "HTTP 400: a?[31m?");
    /* One byte more at the begin, and the cut would split a character. */
    memmove(body + strlen("{\"message\":\"x"), body + strlen("{\"message\":\""),
            length + 3 - strlen("{\"message\":\""));
    body[strlen("{\"message\":\"")] = 'x';
    CHECK_INT(strlen(answered(400, "application/json", body).message), strlen("HTTP 400: ") + 299);
}

TEST(only_a_429_about_size_is_for_ever)
{
    CHECK(answered(429, "application/json", "{\"message\":\"the Message Size exceeds the limit\"}").attempt.permanent);
    CHECK(!answered(429, "application/json", "{\"message\":\"slow down\"}").attempt.permanent);
    CHECK(!answered(503, "application/json", "{\"message\":\"message size\"}").attempt.permanent);
}

static rpp_answer_meaning meaning_of_500(const char *body)
{
    rpp_upload_result result = answered(500, "application/json", body);
    return result.attempt.permanent ? (rpp_answer_meaning)99 : result.attempt.meaning;
}

TEST(a_500_is_judged_by_its_code)
{
    CHECK_INT(meaning_of_500(NULL), RPP_MEANS_ITS_STATUS);
    CHECK_INT(meaning_of_500("{\"code\":\"unknown\",\"message\":\"proto: cannot parse\"}"), RPP_MEANS_ITS_STATUS);
    CHECK_INT(meaning_of_500("{\"code\":\"internal\",\"message\":\"disk\"}"), RPP_MEANS_NOT_NOW);
    CHECK_INT(meaning_of_500("{\"code\":\"unavailable\",\"message\":\"dial\"}"), RPP_MEANS_NOT_NOW);
    CHECK_INT(meaning_of_500("{\"code\":\"resource_exhausted\"}"), RPP_MEANS_NOT_NOW);
    CHECK_INT(meaning_of_500("{\"code\":\"deadline_exceeded\",\"message\":\"x\"}"), RPP_MEANS_UNKNOWN);
    CHECK_INT(meaning_of_500("{\"code\":\"invalid_argument\",\"message\":\"internal: x\"}"), 99);
    CHECK_INT(meaning_of_500("{\"code\":\"permission_denied\",\"message\":\"x\"}"), RPP_MEANS_REFUSED);
}

TEST(of_several_targets_that_alloy_has_some_may_have_stored_it)
{
    static const char *const first =
        "{\"code\":\"internal\",\"message\":\"unable to append series {} to appendable 0: no\"}";
    static const char *const later =
        "{\"code\":\"internal\",\"message\":\"unable to append series {} to appendable 1: no\"}";
    static const char *const both = "{\"code\":\"internal\",\"message\":\"to appendable 0: no\\nto appendable 1: no\"}";
    CHECK_INT(meaning_of_500(first), RPP_MEANS_NOT_NOW);
    CHECK_INT(meaning_of_500(later), RPP_MEANS_UNKNOWN);
    CHECK_INT(meaning_of_500(both), RPP_MEANS_NOT_NOW);
}

TEST(a_page_is_no_answer_of_the_server)
{
    rpp_upload_result page = answered(200, "text/html; charset=utf-8", "<html>Sign in</html>");
    CHECK_INT(page.attempt.meaning, RPP_MEANS_REFUSED);
    CHECK(rpp_attempt_is_refusal(&page.attempt));
    CHECK(strstr(page.message, "HTTP 200 with a page of HTML"));
    CHECK_INT(answered(200, NULL, NULL).attempt.meaning, RPP_MEANS_ITS_STATUS);
    CHECK_INT(answered(200, "application/json", "{}").attempt.meaning, RPP_MEANS_ITS_STATUS);
}

TEST(without_an_answer_the_client_speaks)
{
    fake_http_client http;
    fake_http_client_init(&http);
    http.attempt = (rpp_attempt){.end = RPP_END_NO_ANSWER, .sent_whole = true};
    http.error = "no answer from pyro:4040 within 10.0 s";
    http.timed_out = true;
    rpp_upload_result result = deliver(&settings, &http);
    CHECK_INT(result.attempt.end, RPP_END_NO_ANSWER);
    CHECK(result.timed_out);
    CHECK_STR(result.message, http.error);
    fake_http_client_destroy(&http);
}

TEST(every_allocation_may_fail)
{
    check_each_allocation(rpp_backend_pyroscope_new, &settings, &payload, 400, "HTTP 400");
}
