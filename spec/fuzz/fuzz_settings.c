/* fuzz_settings.c - settings from any text and bytes: errors are fit for a log and tell no secret, and what passes
 * the check keeps to the limits that the rest of the core relies on.
 */
#include <strings.h>

#include "fuzz_input.h"
#include "settings/options.h"
#include "settings/pairs.h"
#include "settings/settings.h"

/* Put into whatever must never show. */
#define SECRET "S3cr3tS3cr3t"

/* Headers are written "name=value", and by error "name: value". */
static const char *secret_form(const rpp_option *option, bool other)
{
    if (option->is_url) return other ? "http://%s@%s" : "http://user:%s@%s";
    if (option->type == RPP_OPTION_PAIRS) return other ? "A: %s%s" : "A=%s%s";
    return "%s%s";
}

static void set_secret_text(rpp_settings *settings, const rpp_option *option, const char *text, bool other,
                            rpp_errors *errors)
{
    char secret[600];
    snprintf(secret, sizeof secret, secret_form(option, other), SECRET, text);
    FUZZ_CHECK(rpp_settings_set_text(settings, option->name, secret, NULL, errors) == RPP_OK);
}

static void set_one(fuzz_input *input, rpp_settings *settings, rpp_errors *errors)
{
    const rpp_option *option = rpp_option_at(fuzz_byte(input) % rpp_option_count());
    unsigned how = fuzz_byte(input) % 8;
    size_t length, other_length;
    char *bytes = fuzz_bytes(input, 256, &length), *other = fuzz_bytes(input, 64, &other_length);
    rpp_status status = RPP_OK;
    if ((option->secret || option->is_url) && how < 4) {
        set_secret_text(settings, option, bytes, how & 1, errors);
    } else if (how < 4) {
        status = rpp_settings_set_text(settings, option->name, bytes, how & 1 ? "RPERF_PUSH_SOMETHING" : NULL, errors);
    } else if (how == 4) {
        status = rpp_settings_set_string(settings, option->name, bytes, length, errors);
    } else if (how == 5) {
        status = rpp_settings_put(settings, option->name, bytes, length, other, other_length, errors);
    } else if (how == 6) {
        status = rpp_settings_set_integer(settings, option->name, (int64_t)fuzz_number(input), errors);
    } else {
        double real;
        memcpy(&real, other_length >= sizeof real ? other : "\0\0\0\0\0\0\0\0", sizeof real);
        status = rpp_settings_set_real(settings, option->name, real, errors);
    }
    FUZZ_CHECK(status == RPP_OK);
    free(bytes);
    free(other);
}

static bool is_one_text(const char *text)
{
    return !text || !strpbrk(text, "\r\n");
}

/* What is true of settings without errors. */
static void check_good(const rpp_settings *settings)
{
    FUZZ_CHECK(settings->application_name && *settings->application_name);
    FUZZ_CHECK(fuzz_is_utf8(settings->application_name, strlen(settings->application_name)));
    FUZZ_CHECK(settings->frequency >= 1 && settings->frequency <= 1000);
    FUZZ_CHECK(settings->mode && !(settings->mode & ~(RPP_MODE_CPU | RPP_MODE_WALL)));
    FUZZ_CHECK(settings->backend >= RPP_BACKEND_PYROSCOPE && settings->backend <= RPP_BACKEND_PYROSCOPE_OR_INGEST);
    bool has_directory = settings->directory && *settings->directory;
    FUZZ_CHECK((settings->backend == RPP_BACKEND_DIRECTORY) == has_directory);
    FUZZ_CHECK(settings->overhead_limit > 0 && settings->overhead_limit <= 1);
    FUZZ_CHECK(settings->upload_interval_ns && settings->upload_timeout_ns && settings->shutdown_timeout_ns);
    FUZZ_CHECK(settings->upload_interval_ns <= UINT64_C(86400) * 1000000000);
    FUZZ_CHECK(settings->max_label_values && settings->queue_max_bytes && settings->spool_max_bytes);
    FUZZ_CHECK(settings->tags.count + settings->report_hostname + settings->report_pid <= 29);
    for (size_t i = 0; i < settings->tags.count; i++) {
        const rpp_pair *tag = &settings->tags.items[i];
        FUZZ_CHECK(rpp_label_name_is_legal(tag->key) && strncmp(tag->key, "__", 2) != 0);
        FUZZ_CHECK(strcmp(tag->key, "service_name") != 0);
        FUZZ_CHECK(tag->value && strlen(tag->value) <= 2048 && fuzz_is_utf8(tag->value, strlen(tag->value)));
    }
    for (size_t i = 0; i < settings->http_headers.count; i++) {
        const rpp_pair *header = &settings->http_headers.items[i];
        FUZZ_CHECK(*header->key && !strpbrk(header->key, "\r\n:; \t"));
        FUZZ_CHECK(header->value && is_one_text(header->value));
    }
    FUZZ_CHECK(is_one_text(settings->auth_token) && is_one_text(settings->tenant_id) &&
               is_one_text(settings->basic_auth_username) && is_one_text(settings->basic_auth_password) &&
               is_one_text(settings->server_address) && is_one_text(settings->proxy));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    if (memmem(data, size, SECRET, strlen(SECRET))) return 0;
    rpp_settings *settings = rpp_settings_new();
    rpp_errors errors = {0};
    FUZZ_CHECK(settings);
    while (input.left) set_one(&input, settings, &errors);
    FUZZ_CHECK(rpp_settings_check(settings, &errors) == RPP_OK);
    for (size_t i = 0; i < errors.count; i++) {
        FUZZ_CHECK(fuzz_is_one_line(errors.lines[i]));
        FUZZ_CHECK(!strstr(errors.lines[i], SECRET));
    }
    if (!errors.count) check_good(settings);
    rpp_errors_destroy(&errors);
    rpp_settings_free(settings);
    return 0;
}
