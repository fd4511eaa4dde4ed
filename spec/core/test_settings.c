/* test_settings.c - what setters take, keep and complain of. */
#include "settings/settings.h"

#include <math.h>

#include "base/alloc.h"
#include "test.h"

static rpp_errors errors;

/* The only error so far, or "". */
static const char *error(void)
{
    static char line[1024];
    CHECK(errors.count <= 1);
    snprintf(line, sizeof line, "%s", errors.count ? errors.lines[0] : "");
    rpp_errors_destroy(&errors);
    return line;
}

static const char *set_text(rpp_settings *s, const char *name, const char *text)
{
    CHECK_OK(rpp_settings_set_text(s, name, text, NULL, &errors));
    return error();
}

TEST(text_sets_options_of_every_type)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_STR(set_text(s, "application_name", "shop"), "");
    CHECK_STR(set_text(s, "backend", "parca"), "");
    CHECK_STR(set_text(s, "report_pid", "yes"), "");
    CHECK_STR(set_text(s, "lines", "OFF"), "");
    CHECK_STR(set_text(s, "mode", "wall"), "");
    CHECK_STR(set_text(s, "frequency", "250"), "");
    CHECK_STR(set_text(s, "directory_max_bytes", "5000000000"), "");
    CHECK_STR(set_text(s, "upload_interval", "2.5"), "");
    CHECK_STR(set_text(s, "overhead_limit", "5e-2"), "");
    CHECK_STR(set_text(s, "tags", "env=production,region=eu"), "");
    CHECK_STR(set_text(s, "http_headers", "{\"X-Key\": \"a,b\"}"), "");
    CHECK_STR(set_text(s, "label_deny", "user, session"), "");
    CHECK_STR(s->application_name, "shop");
    CHECK_INT(s->backend, RPP_BACKEND_PARCA);
    CHECK(s->report_pid && !s->lines);
    CHECK_INT(s->mode, RPP_MODE_WALL);
    CHECK_INT(s->frequency, 250);
    CHECK_INT(s->directory_max_bytes, 5000000000);
    CHECK_INT(s->upload_interval_ns, 2500000000);
    CHECK(s->overhead_limit == 0.05);
    CHECK_STR(rpp_pairs_get(&s->tags, "region"), "eu");
    CHECK_STR(rpp_pairs_get(&s->http_headers, "X-Key"), "a,b");
    CHECK_INT(s->label_deny.count, 2);
    CHECK_STR(s->label_deny.items[1].key, "session");
    CHECK_STR(set_text(s, "tags", "only=this"), "");
    CHECK_INT(s->tags.count, 1);
    rpp_settings_free(s);
}

TEST(text_of_a_wrong_form_is_named_and_changes_nothing)
{
    static const char *const cases[][3] = {
        {"frequency", "fast", "frequency must be an integer from 1 to 1000, got \"fast\""},
        {"frequency", "0", "frequency must be an integer from 1 to 1000, got 0"},
        {"frequency", "1001", "frequency must be an integer from 1 to 1000, got 1001"},
        {"frequency", "99.5", "frequency must be an integer from 1 to 1000, got \"99.5\""},
        {"frequency", "99999999999999999999",
         "frequency must be an integer from 1 to 1000, got \"99999999999999999999\""},
        {"frequency", " 9", "frequency must be an integer from 1 to 1000, got \" 9\""},
        {"frequency", "", "frequency must be an integer from 1 to 1000, got \"\""},
        {"upload_timeout", "0", "upload_timeout must be a number of seconds above 0 and at most 86400, got 0"},
        {"upload_timeout", "-1", "upload_timeout must be a number of seconds above 0 and at most 86400, got -1"},
        {"upload_timeout", "inf", "upload_timeout must be a number of seconds above 0 and at most 86400, got \"inf\""},
        {"upload_timeout", "1e400",
         "upload_timeout must be a number of seconds above 0 and at most 86400, got \"1e400\""},
        {"upload_timeout", "0x10",
         "upload_timeout must be a number of seconds above 0 and at most 86400, got \"0x10\""},
        {"upload_timeout", "10s", "upload_timeout must be a number of seconds above 0 and at most 86400, got \"10s\""},
        {"overhead_limit", "1.5", "overhead_limit must be a number above 0 and at most 1, got 1.5"},
        {"tls_verify", "maybe", "tls_verify must be true or false, got \"maybe\""},
        {"backend", "Parca",
         "backend must be one of pyroscope, pyroscope_ingest, parca, http, directory or "
         "\"pyroscope,pyroscope_ingest\", "
         "got \"Parca\""},
        {"engine", "", "engine must be one of auto, signal, safepoint, got \"\""},
        {"mode", "cpu,heat",
         "mode must be cpu, wall, alloc, heap, contention, custom, or several as "
         "cpu,wall,alloc,heap,contention,custom, got "
         "\"cpu,heat\""},
        {"mode", "",
         "mode must be cpu, wall, alloc, heap, contention, custom, or several as "
         "cpu,wall,alloc,heap,contention,custom, got \"\""},
        {"tags", "env",
         "tags must be names with text values, as text name=value,name=value or a JSON object of strings, got \"env\""},
        {"tenant_id", "a\nb", "tenant_id must be text without NUL, CR and LF, got \"a?b\""},
    };
    rpp_settings *s = rpp_settings_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(set_text(s, cases[i][0], cases[i][1]), cases[i][2]);
    CHECK_INT(s->frequency, 99);
    CHECK_INT(s->upload_timeout_ns, 10000000000);
    CHECK_INT(s->mode, RPP_MODE_CPU | RPP_MODE_WALL);
    CHECK(!s->tenant_id);
    rpp_settings_free(s);
}

TEST(a_message_names_the_source)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_set_text(s, "frequency", "fast", "RPERF_PUSH_FREQUENCY", &errors));
    CHECK_STR(error(), "RPERF_PUSH_FREQUENCY must be an integer from 1 to 1000, got \"fast\"");
    rpp_settings_free(s);
}

TEST(an_empty_text_is_as_none)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_STR(set_text(s, "server_address", "http://pyroscope"), "");
    CHECK_STR(set_text(s, "server_address", ""), "");
    CHECK_STR(s->server_address, "http://localhost:4040");
    CHECK_STR(set_text(s, "auth_token", "t"), "");
    CHECK_STR(set_text(s, "auth_token", ""), "");
    CHECK(!s->auth_token);
    CHECK_STR(set_text(s, "label_names", ""), "");
    CHECK_INT(s->label_names.count, 0);
    rpp_settings_free(s);
}

TEST(numbers_are_taken_where_they_fit)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_set_integer(s, "frequency", 1000, &errors));
    CHECK_OK(rpp_settings_set_integer(s, "upload_interval", 15, &errors));
    CHECK_OK(rpp_settings_set_integer(s, "overhead_limit", 1, &errors));
    CHECK_OK(rpp_settings_set_real(s, "upload_timeout", 0.25, &errors));
    CHECK_OK(rpp_settings_set_real(s, "max_label_values", 7.0, &errors));
    CHECK_STR(error(), "");
    CHECK_INT(s->frequency, 1000);
    CHECK_INT(s->upload_interval_ns, 15000000000);
    CHECK(s->overhead_limit == 1);
    CHECK_INT(s->upload_timeout_ns, 250000000);
    CHECK_INT(s->max_label_values, 7);

    CHECK_OK(rpp_settings_set_real(s, "frequency", 99.5, &errors));
    CHECK_STR(error(), "frequency must be an integer from 1 to 1000, got 99.5");
    CHECK_OK(rpp_settings_set_real(s, "upload_timeout", (double)NAN, &errors));
    CHECK(strstr(error(), "upload_timeout must be a number of seconds"));
    CHECK_OK(rpp_settings_set_integer(s, "frequency", INT64_MIN, &errors));
    CHECK_STR(error(), "frequency must be an integer from 1 to 1000, got -9223372036854775808");
    CHECK_OK(rpp_settings_set_integer(s, "application_name", 5, &errors));
    CHECK_STR(error(), "application_name must be text without NUL, CR and LF, got 5");
    CHECK_OK(rpp_settings_set_integer(s, "auth_token", 12345, &errors));
    CHECK_STR(error(), "auth_token must be text without NUL, CR and LF, got something else (not shown)");
    rpp_settings_free(s);
}

TEST(booleans_and_wrong_kinds)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_set_boolean(s, "tls_verify", false, &errors));
    CHECK(!s->tls_verify);
    CHECK_OK(rpp_settings_set_boolean(s, "frequency", true, &errors));
    CHECK_STR(error(), "frequency must be an integer from 1 to 1000, got true");
    CHECK_OK(rpp_settings_set_integer(s, "tls_verify", 1, &errors));
    CHECK_STR(error(), "tls_verify must be true or false, got 1");
    CHECK_OK(rpp_settings_set_string(s, "frequency", "99", 2, &errors));
    CHECK_STR(error(), "frequency must be an integer from 1 to 1000, got \"99\"");
    CHECK_OK(rpp_settings_set_string(s, "frequency", NULL, 0, &errors));
    CHECK_STR(error(), "frequency must be an integer from 1 to 1000, got nothing");
    CHECK_OK(rpp_settings_reject("tags", "nil", &errors));
    CHECK(strstr(error(), "got nil"));
    CHECK_OK(rpp_settings_reject("auth_token", "Secret", &errors));
    CHECK(!strstr(error(), "Secret"));
    CHECK_OK(rpp_settings_reject("tgas", "nil", &errors));
    CHECK_STR(error(), "unknown option \"tgas\" (did you mean tags?)");
    rpp_settings_free(s);
}

TEST(strings_are_taken_as_they_are)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_set_string(s, "application_name", "shop x", 4, &errors));
    CHECK_OK(rpp_settings_set_string(s, "backend", "directory", 9, &errors));
    CHECK_STR(error(), "");
    CHECK_STR(s->application_name, "shop");
    CHECK_INT(s->backend, RPP_BACKEND_DIRECTORY);
    CHECK_OK(rpp_settings_set_string(s, "application_name", "a\0b", 3, &errors));
    CHECK_STR(error(), "application_name must be text without NUL, CR and LF, got \"a?b\"");
    CHECK_STR(s->application_name, "shop");
    CHECK_OK(rpp_settings_set_string(s, "application_name", NULL, 0, &errors));
    CHECK_OK(rpp_settings_set_string(s, "server_address", NULL, 0, &errors));
    CHECK_STR(error(), "");
    CHECK(!s->application_name);
    CHECK_STR(s->server_address, "http://localhost:4040");
    rpp_settings_free(s);
}

TEST(lists_are_put_together_one_by_one)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_clear(s, "label_names", &errors));
    CHECK_OK(rpp_settings_put(s, "label_names", "a b", 3, "ab", 2, &errors));
    CHECK_OK(rpp_settings_clear(s, "mode", &errors));
    CHECK_OK(rpp_settings_put(s, "mode", "cpu", 3, NULL, 0, &errors));
    CHECK_OK(rpp_settings_put(s, "label_deny", "user", 4, NULL, 0, &errors));
    CHECK_STR(error(), "");
    CHECK_INT(s->label_names.count, 1);
    CHECK_STR(rpp_pairs_get(&s->label_names, "a b"), "ab");
    CHECK_INT(s->mode, RPP_MODE_CPU);
    CHECK_STR(s->label_deny.items[0].key, "user");

    CHECK_OK(rpp_settings_put(s, "mode", "heat", 4, NULL, 0, &errors));
    CHECK_STR(error(), "mode must be cpu, wall, alloc, heap, contention, custom, or several as "
                       "cpu,wall,alloc,heap,contention,custom, got \"heat\"");
    CHECK_OK(rpp_settings_put(s, "tags", "", 0, "x", 1, &errors));
    CHECK_STR(error(), "tags: a name is empty");
    CHECK_OK(rpp_settings_put(s, "tags", "a", 1, NULL, 0, &errors));
    CHECK_STR(error(), "tags: \"a\" has no value");
    CHECK_OK(rpp_settings_put(s, "tags", "a\0", 2, "x", 1, &errors));
    CHECK_STR(error(), "tags: the name \"a?\" holds NUL");
    CHECK_OK(rpp_settings_put(s, "http_headers", "K", 1, "Sec\0ret", 7, &errors));
    CHECK_STR(error(), "http_headers: the value of \"K\" holds NUL");
    CHECK_OK(rpp_settings_put(s, "frequency", "a", 1, "x", 1, &errors));
    CHECK_STR(error(), "frequency must be an integer from 1 to 1000, got a list");
    CHECK_OK(rpp_settings_clear(s, "frequency", &errors));
    CHECK_STR(error(), "frequency must be an integer from 1 to 1000, got a list");
    CHECK_INT(s->tags.count, 0);
    rpp_settings_free(s);
}

TEST(unknown_names_are_told_by_every_setter)
{
    rpp_settings *s = rpp_settings_new();
    CHECK_OK(rpp_settings_set_text(s, "frequncy", "1", NULL, &errors));
    CHECK_OK(rpp_settings_set_integer(s, "frequncy", 1, &errors));
    CHECK_OK(rpp_settings_set_real(s, "frequncy", 1, &errors));
    CHECK_OK(rpp_settings_set_boolean(s, "frequncy", true, &errors));
    CHECK_OK(rpp_settings_set_string(s, "frequncy", "1", 1, &errors));
    CHECK_OK(rpp_settings_clear(s, "frequncy", &errors));
    CHECK_OK(rpp_settings_put(s, "frequncy", "1", 1, NULL, 0, &errors));
    CHECK_INT(errors.count, 7);
    for (int i = 0; i < 7; i++) CHECK_STR(errors.lines[i], "unknown option \"frequncy\" (did you mean frequency?)");
    rpp_errors_destroy(&errors);
    rpp_settings_free(s);
}

TEST(no_message_shows_a_secret)
{
    static const char *const secrets[] = {"basic_auth_password", "auth_token", "http_headers", "tls_client_key"};
    rpp_settings *s = rpp_settings_new();
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        CHECK_OK(rpp_settings_set_text(s, secrets[i], "Secret\nSecret", NULL, &errors));
        CHECK_OK(rpp_settings_set_string(s, secrets[i], "Secret\0", 7, &errors));
    }
    CHECK_OK(rpp_settings_set_text(s, "proxy", "http://me:Secret@proxy\n", NULL, &errors));
    CHECK_OK(rpp_settings_set_text(s, "server_address", "http://me:Secret@host\n", NULL, &errors));
    CHECK_INT(errors.count, 10);
    for (size_t i = 0; i < errors.count; i++) {
        if (strstr(errors.lines[i], "Secret")) FAIL("shown: %s", errors.lines[i]);
    }
    CHECK(strstr(errors.lines[9], "http://***@host?"));
    rpp_errors_destroy(&errors);
    rpp_settings_free(s);
}

/* One of each kind of call; false as soon as one runs out of memory. */
static bool use(rpp_settings *s, rpp_errors *noted)
{
    return rpp_settings_set_text(s, "tags", "a=1,b=2", NULL, noted) == RPP_OK &&
           rpp_settings_set_text(s, "http_headers", "{\"A\":\"1\"}", NULL, noted) == RPP_OK &&
           rpp_settings_set_text(s, "mode", "cpu", NULL, noted) == RPP_OK &&
           rpp_settings_set_text(s, "frequency", "fast", NULL, noted) == RPP_OK &&
           rpp_settings_set_string(s, "server_address", "localhost", 9, noted) == RPP_OK &&
           rpp_settings_put(s, "label_deny", "x", 1, NULL, 0, noted) == RPP_OK &&
           rpp_settings_check(s, noted) == RPP_OK;
}

TEST(it_survives_every_failing_allocation)
{
    bool done = false;
    for (size_t nth = 1; !done; nth++) {
        rpp_errors noted = {0};
        rpp_alloc_fail_at(nth);
        rpp_settings *s = rpp_settings_new();
        done = s && use(s, &noted);
        rpp_alloc_fail_at(0);
        if (done) CHECK_INT(noted.count, 2);
        if (s && !done) {
            CHECK(s->server_address);
            rpp_errors_destroy(&noted);
            CHECK(use(s, &noted));
            CHECK_INT(s->tags.count, 2);
        }
        rpp_errors_destroy(&noted);
        rpp_settings_free(s);
    }
}
