/* test_options.c - the table of options, the default of each, and the messages. */
#include "base/quote.h"
#include "settings/options.h"
#include "settings/settings.h"

#include "test.h"

/* Every option with its default; README and initializer promise the same. */
TEST(defaults_are_what_the_documentation_says)
{
    rpp_settings *s = rpp_settings_new();
    CHECK(!s->application_name);
    CHECK_STR(s->server_address, "http://localhost:4040");
    CHECK_INT(s->backend, RPP_BACKEND_PYROSCOPE);
    CHECK(!s->directory && !s->directory_max_files && !s->directory_max_bytes);
    CHECK_INT(s->tags.count, 0);
    CHECK(!s->report_hostname && !s->report_pid);
    CHECK_INT(s->mode, RPP_MODE_CPU | RPP_MODE_WALL);
    CHECK_INT(s->frequency, 99);
    CHECK_INT(s->engine, RPP_ENGINE_AUTO);
    CHECK_INT(s->upload_interval_ns, 10000000000);
    CHECK_INT(s->upload_timeout_ns, 10000000000);
    CHECK_INT(s->shutdown_timeout_ns, 5000000000);
    CHECK(!s->basic_auth_username && !s->basic_auth_password && !s->auth_token && !s->tenant_id);
    CHECK_INT(s->http_headers.count, 0);
    CHECK(!s->tls_ca_file && !s->tls_client_cert && !s->tls_client_key && s->tls_verify && !s->proxy);
    CHECK_INT(s->queue_max_bytes, 16 << 20);
    CHECK(!s->spool_directory);
    CHECK_INT(s->spool_max_bytes, 256 << 20);
    CHECK(!s->resend_unconfirmed);
    CHECK(s->overhead_limit == 0.01);
    CHECK_INT(s->max_label_values, 100);
    CHECK_INT(s->label_names.count, 3);
    CHECK_STR(rpp_pairs_get(&s->label_names, "%GVL"), "gvl_state");
    CHECK_STR(rpp_pairs_get(&s->label_names, "%GC"), "gc_phase");
    CHECK_STR(rpp_pairs_get(&s->label_names, "%pid"), "pid");
    CHECK_INT(s->label_deny.count, 0);
    CHECK(!s->outcome_labels);
    CHECK_STR(s->slow_requests, "p95");
    CHECK(!s->vm_state_frames && !s->vm_state_frames_given);
    CHECK(s->lines && s->enabled);
    CHECK(!s->ruby_description);
    rpp_settings_free(s);
    rpp_settings_free(NULL);
}

TEST(options_are_found_by_name)
{
    rpp_option_type type;
    for (size_t i = 0; i < rpp_option_count(); i++) CHECK_OK(rpp_option_type_of(rpp_option_name(i), &type));
    CHECK_OK(rpp_option_type_of("frequency", &type));
    CHECK_INT(type, RPP_OPTION_INTEGER);
    CHECK_OK(rpp_option_type_of("upload_interval", &type));
    CHECK_INT(type, RPP_OPTION_SECONDS);
    CHECK_INT(rpp_option_type_of("upload_interval_ns", &type), RPP_INVALID);
    CHECK_INT(rpp_option_count(), 40);
}

TEST(an_unknown_name_gets_the_nearest_as_a_suggestion)
{
    static const char *const cases[][2] = {
        {"frequncy", "unknown option \"frequncy\" (did you mean frequency?)"},
        {"server_adress", "unknown option \"server_adress\" (did you mean server_address?)"},
        {"app_name", "unknown option \"app_name\" (did you mean application_name?)"}, /* of other profilers */
        {"labels", "unknown option \"labels\" (did you mean tags?)"},
        {"tag", "unknown option \"tag\" (did you mean tags?)"},
        {"Lines", "unknown option \"Lines\" (did you mean lines?)"},
        {"colour", "unknown option \"colour\""},
        {"x", "unknown option \"x\""},
        {"", "unknown option \"\""},
        {"a_name_that_is_longer_than_any_name_that_an_option_has",
         "unknown option \"a_name_that_is_longer_than_any_name_that_an_option_has\""},
        {"two\nlines", "unknown option \"two?lines\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rpp_errors errors = {0};
        CHECK_OK(rpp_option_note_unknown(cases[i][0], &errors));
        CHECK_INT(errors.count, 1);
        CHECK_STR(errors.lines[0], cases[i][1]);
        rpp_errors_destroy(&errors);
    }
}

TEST(quoting_cuts_and_keeps_to_one_line)
{
    char out[RPP_QUOTED_MAX], longer[300];
    memset(longer, 'x', sizeof longer);
    CHECK_STR(rpp_quote(out, "a\tb\xff", 4), "\"a?b?\"");
    CHECK_STR(rpp_quote(out, NULL, 0), "\"\"");
    rpp_quote(out, longer, sizeof longer);
    CHECK_INT(strlen(out), RPP_QUOTED_MAX - 1);
    CHECK_STR(out + strlen(out) - 5, "x...\"");
}
