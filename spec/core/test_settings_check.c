/* test_settings_check.c - what only the whole can tell. */
#include "base/alloc.h"
#include "settings/settings.h"
#include "test.h"

static rpp_errors errors;

static rpp_settings *settings_with(const char *const *names_and_texts)
{
    rpp_settings *s = rpp_settings_new();
    for (; *names_and_texts; names_and_texts += 2) {
        CHECK_OK(rpp_settings_set_text(s, names_and_texts[0], names_and_texts[1], NULL, &errors));
    }
    CHECK_INT(errors.count, 0);
    return s;
}

/* All errors that a check finds, one after the other. */
static const char *check(rpp_settings *s)
{
    static char text[4096];
    size_t length = 0;
    text[0] = '\0';
    CHECK_OK(rpp_settings_check(s, &errors));
    for (size_t i = 0; i < errors.count; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i ? "; " : "", errors.lines[i]);
    }
    rpp_errors_destroy(&errors);
    return text;
}

static const char *check_with(const char *name, const char *text)
{
    rpp_settings *s = settings_with((const char *const[]){name, text, NULL});
    const char *found = check(s);
    rpp_settings_free(s);
    return found;
}

TEST(the_defaults_are_good)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_STR(check(s), "");
    CHECK_STR(s->application_name, "ruby");
    CHECK_STR(check(s), "");
    rpp_settings_free(s);
}

TEST(an_empty_application_name_becomes_ruby)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_set_string(s, "application_name", "", 0, &errors));
    CHECK_STR(check(s), "");
    CHECK_STR(s->application_name, "ruby");
    rpp_settings_free(s);
    CHECK_STR(check_with("application_name", "sh\xffop"), "application_name is not valid UTF-8");
}

TEST(the_server_address_is_a_url)
{
    CHECK_STR(check_with("server_address", "https://user:password@host/prefix"), "");
    CHECK_STR(check_with("server_address", "localhost:4040"),
              "server_address must be an http or https URL such as http://localhost:4040, got \"localhost:4040\"");
    CHECK_STR(check_with("server_address", "http://u:Secret@ho st"),
              "server_address must be an http or https URL such as http://localhost:4040, got \"http://***@ho st\"");
    CHECK_STR(check_with("server_address", "http://host/?a=b"),
              "server_address must end with its path, without ? or #, got \"http://host/?***\"");

    rpp_settings *s =
        settings_with((const char *const[]){"server_address", "http://host/?a=b", "backend", "http", NULL});
    CHECK_STR(check(s), "");
    CHECK_OK(rpp_settings_set_string(s, "server_address", "", 0, &errors));
    CHECK_STR(check(s), "server_address must be an http or https URL such as http://localhost:4040, got \"\"");
    rpp_settings_free(s);
}

TEST(the_proxy_is_a_url_or_empty)
{
    CHECK_STR(check_with("proxy", "socks5h://proxy:1080"), "");
    CHECK_STR(check_with("proxy", "u:Secret@proxy:3128"),
              "proxy must be a URL such as http://proxy:3128 or socks5h://proxy:1080, got \"***@proxy:3128\"");
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_set_string(s, "proxy", "", 0, &errors));
    CHECK_STR(check(s), "");
    CHECK_STR(s->proxy, "");
    rpp_settings_free(s);
}

TEST(the_directory_backend_needs_one)
{
    CHECK_STR(check_with("backend", "directory"),
              "directory must name a directory when backend is directory, got nothing");
    /* There is no server then, so its address does not matter. */
    rpp_settings *s = settings_with(
        (const char *const[]){"backend", "directory", "directory", "/tmp/x", "server_address", "nowhere", NULL});
    CHECK_STR(check(s), "");
    rpp_settings_free(s);
}

TEST(a_directory_means_its_backend)
{
    rpp_settings *s = settings_with((const char *const[]){"directory", "/tmp/x", NULL});
    CHECK_STR(check(s), "");
    CHECK_INT(s->backend, RPP_BACKEND_DIRECTORY);
    CHECK_STR(check(s), "");
    rpp_settings_free(s);

    s = rpp_settings_new();
    CHECK_OK(rpp_settings_set_string(s, "directory", "", 0, &errors));
    CHECK_STR(check(s), "");
    CHECK_INT(s->backend, RPP_BACKEND_PYROSCOPE);
    rpp_settings_free(s);
}

TEST(a_directory_goes_with_no_other_backend)
{
    static const char *const others[] = {"pyroscope", "pyroscope_ingest", "parca", "http",
                                         "pyroscope,pyroscope_ingest"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        rpp_settings *s = settings_with((const char *const[]){"directory", "/tmp/x", "backend", others[i], NULL});
        char expected[128];
        snprintf(expected, sizeof expected,
                 "directory must come with backend directory, or without a backend, got backend %s", others[i]);
        CHECK_STR(check(s), expected);
        rpp_settings_free(s);
    }
}

TEST(credentials_come_whole)
{
    CHECK_STR(check_with("basic_auth_password", "Secret"), "basic_auth_password needs basic_auth_username");
    CHECK_STR(check_with("tls_client_key", "key.pem"), "tls_client_key needs tls_client_cert");
    CHECK_STR(check_with("tls_client_cert", "both.pem"), "");
    CHECK_STR(check_with("basic_auth_username", "a:b"),
              "basic_auth_username must not hold a colon: basic authentication ends it there");
}

TEST(headers_are_legal)
{
    CHECK_STR(check_with("http_headers", "X-Scope=a b,_x~1=\ty"), "");
    CHECK_STR(
        check_with("http_headers", "X Scope=Secret"),
        "http_headers: the name that begins with \"X\" is not a legal one: letters, digits and !#$%&'*+-.^_`|~ only");
    CHECK_STR(check_with("http_headers", "{\"X-A\":\"Secret\\r\\nX-B: c\"}"),
              "http_headers: the value of \"X-A\" holds a control character");
}

/* "=" is what the option asks for, ":" what people write; a token in base64 then brings the "=". */
TEST(a_secret_in_a_headers_name_does_not_show)
{
    CHECK_STR(check_with("http_headers", "Authorization: Bearer U2VjcmV0=="),
              "http_headers: the name that begins with \"Authorization\" is not a legal one: letters, digits and "
              "!#$%&'*+-.^_`|~ only");
}

TEST(tag_names_are_legal)
{
    static const char rule[] = "is not a legal name: letters, digits and _ only, not starting with a digit";
    char expected[200];
    static const char *const bad[] = {"my tag", "my-tag", "1st", "a.b", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s=x", bad[i]);
        snprintf(expected, sizeof expected, "tags: \"%s\" %s", bad[i], rule);
        CHECK_STR(check_with("tags", text), expected);
    }
    CHECK_STR(check_with("tags", "_a=1,A1=2,hostname=x"), "");
    CHECK_STR(check_with("tags", "__name__=x"), "tags: \"__name__\" is reserved: names must not start with __");
    CHECK_STR(check_with("tags", "service_name=x"), "tags: service_name is what application_name sets");
    CHECK_STR(check_with("label_names", "endpoint=http.route"),
              "label_names: \"http.route\" is not a legal name: letters, "
              "digits and _ only, not starting with a digit");
    CHECK_STR(check_with("label_names", "a=__b"), "label_names: \"__b\" is reserved: names must not start with __");
}

TEST(tags_have_lengths_that_the_server_takes)
{
    static char name[1026], value[2050];
    memset(name, 'n', 1025);
    memset(value, 'v', 2049);
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_put(s, "tags", name, 1024, value, 2048, &errors));
    CHECK_STR(check(s), "");
    CHECK_OK(rpp_settings_put(s, "tags", "a", 1, value, 2049, &errors));
    CHECK_STR(check(s), "tags: the value of \"a\" is longer than 2048 bytes");
    CHECK_OK(rpp_settings_put(s, "tags", "a", 1, "\xff", 1, &errors));
    CHECK_STR(check(s), "tags: the value of \"a\" is not valid UTF-8");
    CHECK_OK(rpp_settings_clear(s, "tags", &errors));
    CHECK_OK(rpp_settings_put(s, "tags", name, 1025, "x", 1, &errors));
    CHECK(strstr(check(s), "is longer than 1024 bytes"));
    rpp_settings_free(s);
}

TEST(a_series_has_at_most_thirty_names)
{
    rpp_settings *s = rpp_settings_new();
    for (int i = 0; i < 27; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "t%d", i);
        CHECK_OK(rpp_settings_put(s, "tags", name, (size_t)length, "x", 1, &errors));
    }
    CHECK_STR(check(s), "");
    CHECK_OK(rpp_settings_set_boolean(s, "report_pid", true, &errors));
    CHECK_STR(check(s), "tags must be at most 26, as a series has at most 30 names, got 27");
    CHECK_OK(rpp_settings_set_boolean(s, "report_pid", false, &errors));
    CHECK_OK(rpp_settings_put(s, "tags", "one_more", 8, "x", 1, &errors));
    CHECK_STR(check(s), "tags must be at most 27, as a series has at most 30 names, got 28");
    rpp_settings_free(s);
}

TEST(a_mode_is_needed)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_clear(s, "mode", &errors));
    CHECK_STR(check(s), "mode must be cpu, wall, alloc, heap, contention, custom, or several as "
                        "cpu,wall,alloc,heap,contention,custom, got nothing");
    rpp_settings_free(s);
}

TEST(a_wrong_mode_is_one_error)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_clear(s, "mode", &errors));
    CHECK_OK(rpp_settings_put(s, "mode", "gpu", 3, NULL, 0, &errors));
    CHECK_STR(check(s), "mode must be cpu, wall, alloc, heap, contention, custom, or several as "
                        "cpu,wall,alloc,heap,contention,custom, got \"gpu\"");
    rpp_settings_free(s);
}

TEST(vm_state_frames_follow_the_backend_unless_given)
{
    rpp_settings *s = settings_with((const char *const[]){"backend", "parca", NULL});
    CHECK_STR(check(s), "");
    CHECK(s->vm_state_frames);
    CHECK_OK(rpp_settings_set_text(s, "backend", "pyroscope", NULL, &errors));
    CHECK_STR(check(s), "");
    CHECK(!s->vm_state_frames);
    CHECK_OK(rpp_settings_set_text(s, "backend", "parca", NULL, &errors));
    CHECK_OK(rpp_settings_set_boolean(s, "vm_state_frames", false, &errors));
    CHECK_STR(check(s), "");
    CHECK(!s->vm_state_frames);
    rpp_settings_free(s);
}

TEST(an_interval_that_pyroscope_never_takes_is_refused)
{
    static const char *const pyroscopes[] = {"pyroscope", "pyroscope_ingest", "pyroscope,pyroscope_ingest"};
    for (size_t i = 0; i < 3; i++) {
        rpp_settings *s =
            settings_with((const char *const[]){"backend", pyroscopes[i], "upload_interval", "3600", NULL});
        CHECK_STR(check(s), "upload_interval must be at most 1800 seconds, as Pyroscope takes no profile that is older "
                            "than an hour, got 3600");
        CHECK_OK(rpp_settings_set_text(s, "upload_interval", "1800", NULL, &errors));
        CHECK_STR(check(s), "");
        CHECK_OK(rpp_settings_set_text(s, "upload_interval", "3600", NULL, &errors));
        CHECK_OK(rpp_settings_set_text(s, "backend", "parca", NULL, &errors));
        CHECK_STR(check(s), "");
        rpp_settings_free(s);
    }
}

TEST(slow_is_a_percentile_or_a_number_of_seconds)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"p95", 0}, {"0.5", 500000000}, {"1e-9", 1}, {"86400", UINT64_C(86400000000000)}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        rpp_settings *s = settings_with((const char *const[]){"slow_requests", good[i].text, NULL});
        CHECK_STR(check(s), "");
        CHECK_INT(s->slow_request_ns, good[i].ns);
        rpp_settings_free(s);
    }
    static const char *const bad[] = {"p99", "0", "-1", "86401", "inf", "0.5s"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char expected[160];
        snprintf(expected, sizeof expected,
                 "slow_requests must be p95, or a number of seconds above 0 and at most 86400, got \"%s\"", bad[i]);
        CHECK_STR(check_with("slow_requests", bad[i]), expected);
    }
}

TEST(all_errors_are_told_at_once)
{
    rpp_settings *s = settings_with((const char *const[]){"server_address", "x", "proxy", "y", "tags", "a b=1,c d=2",
                                                          "tls_client_key", "Secret", NULL});
    CHECK_OK(rpp_settings_check(s, &errors));
    CHECK_INT(errors.count, 5);
    rpp_errors_destroy(&errors);
    rpp_settings_free(s);
}

TEST(legal_label_names)
{
    CHECK(rpp_label_name_is_legal("a") && rpp_label_name_is_legal("_") && rpp_label_name_is_legal("aZ_09"));
    CHECK(!rpp_label_name_is_legal("") && !rpp_label_name_is_legal("0a") && !rpp_label_name_is_legal("%GVL"));
}
