/* options.c - the table of options, and the messages about wrong values. */
#include "settings/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "base/utf8.h"
#include "settings/url.h"

#define DAY_S      86400
#define MOST_BYTES (INT64_C(1) << 50)

#define NAME(kind, name) name,
static const char *const backends[] = {RPP_BACKENDS(NAME) NULL};
#undef NAME
/* In the order of rpp_engine_kind. */
static const char *const engines[] = {"auto", "signal", "safepoint", NULL};

#define KEPT_IN(field)       .offset = offsetof(rpp_settings, field), .width = sizeof(((rpp_settings *)0)->field)
#define OPTION(kind, option) .name = #option, .type = RPP_OPTION_##kind, KEPT_IN(option)
#define SECONDS(option)      .name = #option, .type = RPP_OPTION_SECONDS, KEPT_IN(option##_ns), .max = DAY_S
#define RANGE(from, to)      .min = from, .max = to
#define INITIAL(text)        .initial = text
#define SECRET               .secret = true
#define URL                  .is_url = true

static const rpp_option table[] = {
    {OPTION(STRING, application_name)},
    {OPTION(STRING, server_address), INITIAL("http://localhost:4040"), URL},
    {OPTION(CHOICE, backend), .choices = backends, INITIAL("pyroscope")},
    {OPTION(STRING, directory)},
    {OPTION(INTEGER, directory_max_files), RANGE(0, MOST_BYTES), INITIAL("0")},
    {OPTION(INTEGER, directory_max_bytes), RANGE(0, MOST_BYTES), INITIAL("0")},
    {OPTION(PAIRS, tags)},
    {OPTION(BOOLEAN, report_hostname)},
    {OPTION(BOOLEAN, report_pid)},
    {OPTION(MODE, mode), INITIAL("cpu,wall")},
    {OPTION(INTEGER, frequency), RANGE(1, 1000), INITIAL("99")},
    {OPTION(CHOICE, engine), .choices = engines, INITIAL("auto")},
    {SECONDS(upload_interval), INITIAL("10")},
    {SECONDS(upload_timeout), INITIAL("10")},
    {SECONDS(shutdown_timeout), INITIAL("5")},
    {OPTION(STRING, basic_auth_username)},
    {OPTION(STRING, basic_auth_password), SECRET},
    {OPTION(STRING, auth_token), SECRET},
    {OPTION(STRING, tenant_id)},
    {OPTION(PAIRS, http_headers), SECRET},
    {OPTION(STRING, tls_ca_file)},
    {OPTION(STRING, tls_client_cert)},
    {OPTION(STRING, tls_client_key), SECRET},
    {OPTION(BOOLEAN, tls_verify), INITIAL("true")},
    {OPTION(STRING, proxy), URL},
    {OPTION(INTEGER, queue_max_bytes), RANGE(1, MOST_BYTES), INITIAL("16777216")},
    {OPTION(STRING, spool_directory)},
    {OPTION(INTEGER, spool_max_bytes), RANGE(1, MOST_BYTES), INITIAL("268435456")},
    {OPTION(BOOLEAN, resend_unconfirmed)},
    {OPTION(SHARE, overhead_limit), INITIAL("0.01")},
    {OPTION(INTEGER, max_label_values), RANGE(1, 1000000), INITIAL("100")},
    {OPTION(PAIRS, label_names), INITIAL("%GVL=gvl_state,%GC=gc_phase,%pid=pid")},
    {OPTION(LIST, label_deny)},
    {OPTION(BOOLEAN, class_labels)},
    {OPTION(BOOLEAN, outcome_labels)},
    {OPTION(STRING, slow_requests), INITIAL(RPP_SLOW_BY_P95)},
    {OPTION(BOOLEAN, vm_state_frames)},
    {OPTION(BOOLEAN, lines), INITIAL("true")},
    {OPTION(STRING, control_socket), INITIAL("auto")},
    {OPTION(BOOLEAN, enabled), INITIAL("true")},
};

#define COUNT (sizeof table / sizeof table[0])

const rpp_option *rpp_option_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(table[i].name, name) == 0) return &table[i];
    }
    return NULL;
}

const rpp_option *rpp_option_at(size_t index)
{
    return &table[index];
}

rpp_status rpp_option_type_of(const char *name, rpp_option_type *type)
{
    const rpp_option *option = rpp_option_find(name);
    if (!option) return RPP_INVALID;
    *type = option->type;
    return RPP_OK;
}

size_t rpp_option_count(void)
{
    return COUNT;
}

const char *rpp_option_name(size_t index)
{
    return table[index].name;
}

/* --- messages --- */

#define NAME_MAX_COMPARED 40u

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The edit distance: letters to insert, delete, change, or swap with their neighbour. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][NAME_MAX_COMPARED + 1];
    size_t *before_last = rows[0], *last = rows[1], *row = rows[2];
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > NAME_MAX_COMPARED || b_length > NAME_MAX_COMPARED) return SIZE_MAX;

    for (size_t j = 0; j <= b_length; j++) before_last[j] = last[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t changed = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(changed, least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], before_last[j - 2] + 1);
            }
        }
        size_t *oldest = before_last;
        before_last = last;
        last = row;
        row = oldest;
    }
    return last[b_length];
}

#define SHORTEST_BEGINNING 5u /* of a name that is cut: "spool_dir" */

/* Names that other profilers give to our options. */
static const struct {
    const char *there, *here;
} elsewhere[] = {
    {"app_name", "application_name"},
    {"service_name", "application_name"},
    {"server", "server_address"},
    {"url", "server_address"},
    {"sample_rate", "frequency"},
    {"oncpu", "mode"},
    {"labels", "tags"},
};

const char *rpp_option_meant_by(const char *name)
{
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        if (strcmp(elsewhere[i].there, name) == 0) return elsewhere[i].here;
    }
    const char *nearest = NULL;
    size_t allowed = strlen(name) < 6 ? 1 : 3, smallest = allowed + 1;
    for (size_t i = 0; i < COUNT; i++) {
        bool begins = strlen(name) >= SHORTEST_BEGINNING && strncmp(name, table[i].name, strlen(name)) == 0;
        size_t distance = begins ? 1 : edit_distance(name, table[i].name);
        if (distance < smallest) {
            smallest = distance;
            nearest = table[i].name;
        }
    }
    return nearest;
}

rpp_status rpp_option_note_unknown(const char *name, rpp_errors *errors)
{
    const char *nearest = rpp_option_meant_by(name);
    char quoted[RPP_QUOTED_MAX];
    rpp_quote(quoted, name, strlen(name));
    if (!nearest) return rpp_errors_add(errors, "unknown option %s", quoted);
    return rpp_errors_add(errors, "unknown option %s (did you mean %s?)", quoted, nearest);
}

static const char *accepted(const rpp_option *option, char *out, size_t size)
{
    switch (option->type) {
    case RPP_OPTION_STRING: return "text without NUL, CR and LF";
    case RPP_OPTION_BOOLEAN: return "true or false";
    case RPP_OPTION_INTEGER:
        snprintf(out, size, "an integer from %" PRId64 " to %" PRId64, option->min, option->max);
        return out;
    case RPP_OPTION_SECONDS:
        snprintf(out, size, "a number of seconds above 0 and at most %" PRId64, option->max);
        return out;
    case RPP_OPTION_SHARE: return "a number above 0 and at most 1";
    case RPP_OPTION_CHOICE: {
        int length = snprintf(out, size, "one of %s", option->choices[0]);
        for (size_t i = 1; option->choices[i] && length > 0 && (size_t)length < size; i++) {
            bool is_list = strchr(option->choices[i], ',') != NULL;
            length +=
                snprintf(out + length, size - (size_t)length, is_list ? " or \"%s\"" : ", %s", option->choices[i]);
        }
        return out;
    }
    case RPP_OPTION_MODE: {
        char each[RPP_MODE_TEXT_MAX], together[RPP_MODE_TEXT_MAX];
        snprintf(out, size, "%s, or %s as %s", rpp_mode_text(RPP_MODE_ALL, ", ", each), "several",
                 rpp_mode_text(RPP_MODE_ALL, ",", together));
        return out;
    }
    case RPP_OPTION_PAIRS: return "names with text values, as text name=value,name=value or a JSON object of strings";
    case RPP_OPTION_LIST: return "a list of names, as text name,name";
    }
    return "something else";
}

rpp_status rpp_option_note(const rpp_option *option, const char *source, const char *got, rpp_errors *errors)
{
    char room[160];
    if (option->secret) got = "something else (not shown)";
    return rpp_errors_add(errors, "%s must be %s, got %s", source ? source : option->name,
                          accepted(option, room, sizeof room), got);
}

rpp_status rpp_option_note_bytes(const rpp_option *option, const char *source, const char *bytes, size_t length,
                                 rpp_errors *errors)
{
    char quoted[RPP_QUOTED_MAX];
    return rpp_option_note(option, source,
                           option->is_url ? rpp_url_quote(quoted, bytes, length) : rpp_quote(quoted, bytes, length),
                           errors);
}
