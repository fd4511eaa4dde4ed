/* settings_check.c - checks all settings together, and sets what depends on other options.
 *
 * Every check notes its errors and continues, so that users see all errors at once.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/label_caps.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "settings/options.h"
#include "settings/settings.h"
#include "settings/url.h"

/* The limits of Pyroscope. */
#define SERIES_NAMES_OURS 3 /* __name__, service_name, __delta__ */
#define NAME_MAX_BYTES    1024
#define VALUE_MAX_BYTES   2048

#define PYROSCOPE_INTERVAL_MAX_S 1800

#define SLOW_REQUEST_MAX_S 86400

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        rpp_status status_ = (call);                                                                                   \
        if (status_ != RPP_OK) return status_;                                                                         \
    } while (0)

static bool is_empty(const char *text)
{
    return !text || !*text;
}

static bool is_utf8(const char *text)
{
    size_t length = strlen(text);
    return rpp_utf8_prefix(text, length, length) == length;
}

static const char *quote(char out[RPP_QUOTED_MAX], const char *text)
{
    return rpp_quote(out, text, strlen(text));
}

bool rpp_label_name_is_legal(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    if (!*name || (*name >= '0' && *name <= '9')) return false;
    return name[strspn(name, letters)] == '\0';
}

/* --- where to --- */

/* A directory without a backend means backend `directory`. */
static rpp_status choose_backend(rpp_settings *settings, rpp_errors *errors)
{
    if (is_empty(settings->directory) || settings->backend == RPP_BACKEND_DIRECTORY) return RPP_OK;
    if (settings->backend_given) {
        return rpp_errors_add(errors,
                              "directory must come with backend directory, or without a backend, got backend %s",
                              rpp_option_find("backend")->choices[settings->backend]);
    }
    settings->backend = RPP_BACKEND_DIRECTORY;
    return RPP_OK;
}

static rpp_status check_server(const rpp_settings *settings, rpp_errors *errors)
{
    static const char *const schemes[] = {"http", "https", NULL};
    if (settings->backend == RPP_BACKEND_DIRECTORY) return RPP_OK;
    const char *url = settings->server_address;
    char quoted[RPP_QUOTED_MAX];
    if (is_empty(url) || !rpp_url_is_good(url, schemes)) {
        rpp_url_quote(quoted, url ? url : "", url ? strlen(url) : 0);
        return rpp_errors_add(
            errors, "server_address must be an http or https URL such as http://localhost:4040, got %s", quoted);
    }
    /* The push backends append their own path to the address. */
    if (settings->backend != RPP_BACKEND_HTTP && strpbrk(url, "?#")) {
        rpp_url_quote(quoted, url, strlen(url));
        return rpp_errors_add(errors, "server_address must end with its path, without ? or #, got %s", quoted);
    }
    return RPP_OK;
}

static rpp_status check_proxy(const rpp_settings *settings, rpp_errors *errors)
{
    static const char *const schemes[] = {"http", "https", "socks4", "socks4a", "socks5", "socks5h", NULL};
    const char *url = settings->proxy;
    if (is_empty(url) || rpp_url_is_good(url, schemes))
        return RPP_OK; /* empty: no proxy, whatever the environment says */
    char quoted[RPP_QUOTED_MAX];
    return rpp_errors_add(errors, "proxy must be a URL such as http://proxy:3128 or socks5h://proxy:1080, got %s",
                          rpp_url_quote(quoted, url, strlen(url)));
}

static rpp_status check_directory(const rpp_settings *settings, rpp_errors *errors)
{
    if (settings->backend != RPP_BACKEND_DIRECTORY || !is_empty(settings->directory)) return RPP_OK;
    return rpp_errors_add(errors, "directory must name a directory when backend is directory, got nothing");
}

static rpp_status check_credentials(const rpp_settings *settings, rpp_errors *errors)
{
    if (!is_empty(settings->basic_auth_password) && is_empty(settings->basic_auth_username)) {
        TRY(rpp_errors_add(errors, "basic_auth_password needs basic_auth_username"));
    }
    if (settings->basic_auth_username && strchr(settings->basic_auth_username, ':')) {
        TRY(rpp_errors_add(errors, "basic_auth_username must not hold a colon: basic authentication ends it there"));
    }
    if (!is_empty(settings->tls_client_key) && is_empty(settings->tls_client_cert)) {
        TRY(rpp_errors_add(errors, "tls_client_key needs tls_client_cert"));
    }
    return RPP_OK;
}

/* RFC 9110: a name is a token; a value contains no control characters except tabs. Messages show only the token of a
 * name: a user who writes "Authorization: Bearer ..." instead of "Authorization=Bearer ..." has put a secret into the
 * rest. */
static rpp_status check_headers(const rpp_pairs *headers, rpp_errors *errors)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char quoted[RPP_QUOTED_MAX];
    for (size_t i = 0; i < headers->count; i++) {
        const char *name = headers->items[i].key;
        size_t length = strspn(name, token);
        rpp_quote(quoted, name, length);
        if (!*name || name[length]) {
            TRY(rpp_errors_add(errors,
                               "http_headers: the name that begins with %s is not a legal one: letters, digits and "
                               "!#$%%&'*+-.^_`|~ only",
                               quoted));
        }
        for (const unsigned char *at = (const unsigned char *)headers->items[i].value; *at; at++) {
            if ((*at < ' ' && *at != '\t') || *at == 0x7f) {
                TRY(rpp_errors_add(errors, "http_headers: the value of %s holds a control character", quoted));
                break;
            }
        }
    }
    return RPP_OK;
}

/* --- names and labels --- */

static rpp_status check_name(const char *option, const char *name, rpp_errors *errors)
{
    char quoted[RPP_QUOTED_MAX];
    quote(quoted, name);
    if (!rpp_label_name_is_legal(name)) {
        return rpp_errors_add(errors,
                              "%s: %s is not a legal name: letters, digits and _ only, not starting with a digit",
                              option, quoted);
    }
    if (strncmp(name, "__", 2) == 0) {
        return rpp_errors_add(errors, "%s: %s is reserved: names must not start with __", option, quoted);
    }
    if (strlen(name) > NAME_MAX_BYTES) {
        return rpp_errors_add(errors, "%s: the name %s is longer than %d bytes", option, quoted, NAME_MAX_BYTES);
    }
    return RPP_OK;
}

static rpp_status check_tags(const rpp_settings *settings, rpp_errors *errors)
{
    const rpp_pairs *tags = &settings->tags;
    char quoted[RPP_QUOTED_MAX];
    for (size_t i = 0; i < tags->count; i++) {
        const char *name = tags->items[i].key, *value = tags->items[i].value;
        quote(quoted, name);
        TRY(check_name("tags", name, errors));
        if (strcmp(name, "service_name") == 0) {
            TRY(rpp_errors_add(errors, "tags: service_name is what application_name sets"));
        }
        if (strlen(value) > VALUE_MAX_BYTES) {
            TRY(rpp_errors_add(errors, "tags: the value of %s is longer than %d bytes", quoted, VALUE_MAX_BYTES));
        }
        if (!is_utf8(value)) {
            TRY(rpp_errors_add(errors, "tags: the value of %s is not valid UTF-8", quoted));
        }
    }

    size_t names = SERIES_NAMES_OURS + tags->count;
    if (settings->report_hostname && !rpp_pairs_get(tags, "hostname")) names++;
    if (settings->report_pid && !rpp_pairs_get(tags, "pid")) names++;
    if (names <= RPP_NAMES_OF_A_SERIES_MAX) return RPP_OK;
    return rpp_errors_add(errors, "tags must be at most %zu, as a series has at most %d names, got %zu",
                          RPP_NAMES_OF_A_SERIES_MAX - (names - tags->count), RPP_NAMES_OF_A_SERIES_MAX, tags->count);
}

static rpp_status check_label_names(const rpp_pairs *names, rpp_errors *errors)
{
    for (size_t i = 0; i < names->count; i++) TRY(check_name("label_names", names->items[i].value, errors));
    return RPP_OK;
}

static rpp_status check_application_name(rpp_settings *settings, rpp_errors *errors)
{
    if (is_empty(settings->application_name)) {
        char *name = rpp_strdup("ruby");
        if (!name) return RPP_NO_MEMORY;
        rpp_free(settings->application_name);
        settings->application_name = name;
    }
    if (strlen(settings->application_name) > VALUE_MAX_BYTES) {
        TRY(rpp_errors_add(errors, "application_name is longer than %d bytes", VALUE_MAX_BYTES));
    }
    if (!is_utf8(settings->application_name)) {
        TRY(rpp_errors_add(errors, "application_name is not valid UTF-8"));
    }
    return RPP_OK;
}

/* Pyroscope accepts a profile for an hour after its start; half of this hour remains for delays. */
static rpp_status check_interval(const rpp_settings *settings, rpp_errors *errors)
{
    bool is_pyroscope = settings->backend == RPP_BACKEND_PYROSCOPE ||
                        settings->backend == RPP_BACKEND_PYROSCOPE_INGEST ||
                        settings->backend == RPP_BACKEND_PYROSCOPE_OR_INGEST;
    if (!is_pyroscope || settings->upload_interval_ns <= PYROSCOPE_INTERVAL_MAX_S * RPP_NS_PER_S) return RPP_OK;
    return rpp_errors_add(
        errors,
        "upload_interval must be at most %d seconds, as Pyroscope takes no profile that is older than "
        "an hour, got %.0f",
        PYROSCOPE_INTERVAL_MAX_S, (double)settings->upload_interval_ns / (double)RPP_NS_PER_S);
}

/* A relative path would change its meaning when the program or a child changes its directory. */
static rpp_status check_control_socket(const rpp_settings *settings, rpp_errors *errors)
{
    const char *place = settings->control_socket;
    char quoted[RPP_QUOTED_MAX];
    if (is_empty(place) || *place == '/' || !strcmp(place, "auto") || !strcmp(place, "false")) return RPP_OK;
    return rpp_errors_add(errors, "control_socket must be an absolute path, auto or false, got %s",
                          quote(quoted, place));
}

/* "p95", or a number of seconds, up to one day. */
static rpp_status check_slow_requests(rpp_settings *settings, rpp_errors *errors)
{
    double seconds;
    char quoted[RPP_QUOTED_MAX];
    settings->slow_request_ns = 0;
    if (!strcmp(settings->slow_requests, RPP_SLOW_BY_P95)) return RPP_OK;
    bool is_number = rpp_settings_read_real(settings->slow_requests, &seconds);
    if (!is_number || seconds * (double)RPP_NS_PER_S < 1 || seconds > SLOW_REQUEST_MAX_S) {
        return rpp_errors_add(errors,
                              "slow_requests must be p95, or a number of seconds above 0 and at most %d, got %s",
                              SLOW_REQUEST_MAX_S, quote(quoted, settings->slow_requests));
    }
    settings->slow_request_ns = (uint64_t)(seconds * (double)RPP_NS_PER_S + 0.5);
    return RPP_OK;
}

/* True if a noted error begins with this text. */
static bool is_noted(const rpp_errors *errors, const char *beginning)
{
    for (size_t i = 0; i < errors->count; i++) {
        if (strncmp(errors->lines[i], beginning, strlen(beginning)) == 0) return true;
    }
    return false;
}

rpp_status rpp_settings_check(rpp_settings *settings, rpp_errors *errors)
{
    TRY(check_application_name(settings, errors));
    TRY(choose_backend(settings, errors));
    TRY(check_server(settings, errors));
    TRY(check_proxy(settings, errors));
    TRY(check_interval(settings, errors));
    TRY(check_directory(settings, errors));
    TRY(check_credentials(settings, errors));
    TRY(check_headers(&settings->http_headers, errors));
    TRY(check_tags(settings, errors));
    TRY(check_label_names(&settings->label_names, errors));
    TRY(check_control_socket(settings, errors));
    TRY(check_slow_requests(settings, errors));
    if (!settings->mode && !is_noted(errors, "mode ")) TRY(rpp_settings_reject("mode", "nothing", errors));

    /* Parca shows a sample's state only in its stack. */
    if (!settings->vm_state_frames_given) settings->vm_state_frames = settings->backend == RPP_BACKEND_PARCA;
    return RPP_OK;
}
