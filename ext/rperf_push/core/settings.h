/* settings.h - every option, its type, default and limits, and the check of them all at once.
 *
 * One table of options serves setters, validation and messages. Setters only store and note mistakes of form ("frequency
 * must be an integer from 1 to 1000, got \"fast\""); rpp_settings_check adds what can be judged only when all is known
 * (a missing directory, a URL without scheme). Mistakes are collected, one line each, so that a user sees all of them.
 *
 * Ownership  a settings object owns copies of every string. Immutable once checked: it may then be shared between threads.
 */
#ifndef RPP_SETTINGS_H
#define RPP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define RPP_MODE_CPU  1u
#define RPP_MODE_WALL 2u

typedef enum rpp_backend_kind {
    RPP_BACKEND_PYROSCOPE,
    RPP_BACKEND_PYROSCOPE_INGEST,
    RPP_BACKEND_PARCA,
    RPP_BACKEND_HTTP,
    RPP_BACKEND_DIRECTORY,
    RPP_BACKEND_PYROSCOPE_OR_INGEST
} rpp_backend_kind;

typedef enum rpp_engine_kind { RPP_ENGINE_AUTO, RPP_ENGINE_SIGNAL, RPP_ENGINE_SAFEPOINT } rpp_engine_kind;

typedef struct rpp_pair {
    char *key, *value; /* value is NULL in lists (label_deny) */
} rpp_pair;

/* Insertion order kept, a key at most once. */
typedef struct rpp_pairs {
    rpp_pair *items;
    size_t count, capacity;
} rpp_pairs;

typedef struct rpp_settings {
    char *application_name;
    char *server_address;
    int backend; /* rpp_backend_kind */
    char *directory;
    uint64_t directory_max_files; /* 0: no limit */
    uint64_t directory_max_bytes; /* 0: no limit */
    rpp_pairs tags;
    bool report_hostname, report_pid;
    unsigned mode;      /* RPP_MODE_* bits */
    uint32_t frequency; /* Hz */
    int engine;         /* rpp_engine_kind */
    uint64_t upload_interval_ns, upload_timeout_ns, shutdown_timeout_ns;
    char *basic_auth_username, *basic_auth_password, *auth_token, *tenant_id;
    rpp_pairs http_headers;
    char *tls_ca_file, *tls_client_cert, *tls_client_key;
    bool tls_verify;
    char *proxy;
    uint64_t queue_max_bytes;
    char *spool_directory;
    uint64_t spool_max_bytes;
    bool resend_unconfirmed;
    double overhead_limit; /* share of one core, 0 < x <= 1 */
    uint32_t max_label_values;
    rpp_pairs label_names; /* name in the process -> name on the wire */
    rpp_pairs label_deny;  /* keys only */
    bool vm_state_frames;
    bool vm_state_frames_given; /* the default depends on the backend */
    bool lines;
    bool enabled;
    char *ruby_description; /* for the profile's comments, set by the binding: "ruby 3.4.5 +YJIT" */
} rpp_settings;

typedef enum rpp_option_type {
    RPP_OPTION_STRING,  /* char *, NULL when unset */
    RPP_OPTION_BOOLEAN, /* true/false; as text also 1/0, yes/no, on/off */
    RPP_OPTION_INTEGER, /* within limits */
    RPP_OPTION_SECONDS, /* a number > 0, kept in ns */
    RPP_OPTION_SHARE,   /* 0 < x <= 1 */
    RPP_OPTION_CHOICE,  /* one of a few names */
    RPP_OPTION_MODE,    /* cpu, wall, or both */
    RPP_OPTION_PAIRS,   /* key => value */
    RPP_OPTION_LIST     /* keys */
} rpp_option_type;

/* One line a mistake. */
typedef struct rpp_mistakes {
    char **lines;
    size_t count, capacity;
} rpp_mistakes;

RPP_NODISCARD rpp_status rpp_mistakes_add(rpp_mistakes *mistakes, const char *format, ...) RPP_PRINTF(2, 3);
void rpp_mistakes_destroy(rpp_mistakes *mistakes);

/* All defaults. NULL when out of memory. */
rpp_settings *rpp_settings_new(void);
void rpp_settings_free(rpp_settings *settings);

/* The option table. RPP_INVALID: no such option. */
RPP_NODISCARD rpp_status rpp_option_type_of(const char *name, rpp_option_type *type);
size_t rpp_option_count(void);
const char *rpp_option_name(size_t index);

/* Setters. All return RPP_OK also when they noted a mistake; RPP_NO_MEMORY is the only failure.
 * `source` names where the value came from in messages ("RPERF_PUSH_FREQUENCY") or is NULL for the option's own name.
 * _text parses any type: "k=v,k=v" or a JSON object of strings for pairs, "a,b" for lists and mode. */
RPP_NODISCARD rpp_status rpp_settings_set_text(rpp_settings *, const char *name, const char *text, const char *source,
                                               rpp_mistakes *);
RPP_NODISCARD rpp_status rpp_settings_set_integer(rpp_settings *, const char *name, int64_t value, rpp_mistakes *);
RPP_NODISCARD rpp_status rpp_settings_set_real(rpp_settings *, const char *name, double value, rpp_mistakes *);
RPP_NODISCARD rpp_status rpp_settings_set_boolean(rpp_settings *, const char *name, bool value, rpp_mistakes *);
/* STRING and CHOICE take bytes as they are; NUL, CR and LF are mistakes. NULL unsets a STRING. */
RPP_NODISCARD rpp_status rpp_settings_set_string(rpp_settings *, const char *name, const char *bytes, size_t length,
                                                 rpp_mistakes *);
/* Empties a PAIRS, LIST or MODE option, then one call per element (value NULL for LIST and MODE). */
RPP_NODISCARD rpp_status rpp_settings_clear(rpp_settings *, const char *name, rpp_mistakes *);
RPP_NODISCARD rpp_status rpp_settings_put(rpp_settings *, const char *name, const char *key, size_t key_length,
                                          const char *value, size_t value_length, rpp_mistakes *);
/* A value of a wrong kind: notes "<name> must be <what is accepted>, got <got>". */
RPP_NODISCARD rpp_status rpp_settings_reject(const char *name, const char *got, rpp_mistakes *);

/* Judges the whole: URL with scheme and host, legal tag names, header bytes, directory given for its backend, client key
 * with its certificate, at most 30 series labels ... Fills what depends on other options (vm_state_frames). */
RPP_NODISCARD rpp_status rpp_settings_check(rpp_settings *, rpp_mistakes *);

/* Lookup; NULL when absent. */
const char *rpp_pairs_get(const rpp_pairs *pairs, const char *key);

/* ^[a-zA-Z_][a-zA-Z0-9_]*$ : legal with every server version. */
bool rpp_label_name_is_legal(const char *name);

#endif
