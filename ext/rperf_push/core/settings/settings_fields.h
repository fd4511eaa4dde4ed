/* settings_fields.h - the struct of all options. The table with their names, defaults and ranges is in options.c.
 *
 * Threads    as in settings.h.
 * Ownership  as in settings.h.
 */
#ifndef RPP_SETTINGS_FIELDS_H
#define RPP_SETTINGS_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/value_types.h"
#include "settings/pairs.h"

#define RPP_SLOW_BY_P95 "p95" /* slower than the 95th percentile of its endpoint */

/* Each kind, and what the option `backend` calls it. */
#define RPP_BACKENDS(X)                                                                                                \
    X(PYROSCOPE, "pyroscope")                                                                                          \
    X(PYROSCOPE_INGEST, "pyroscope_ingest")                                                                            \
    X(PARCA, "parca")                                                                                                  \
    X(HTTP, "http")                                                                                                    \
    X(DIRECTORY, "directory")                                                                                          \
    X(PYROSCOPE_OR_INGEST, "pyroscope,pyroscope_ingest")

#define RPP_BACKEND_KIND(kind, name) RPP_BACKEND_##kind,
typedef enum rpp_backend_kind { RPP_BACKENDS(RPP_BACKEND_KIND) } rpp_backend_kind;
#undef RPP_BACKEND_KIND

typedef enum rpp_engine_kind { RPP_ENGINE_AUTO, RPP_ENGINE_SIGNAL, RPP_ENGINE_SAFEPOINT } rpp_engine_kind;

typedef struct rpp_settings {
    char *application_name;
    char *server_address;
    int backend;        /* rpp_backend_kind */
    bool backend_given; /* the default depends on the directory */
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
    char *control_socket; /* "auto", "false", or a path */
    bool class_labels;
    bool outcome_labels;
    char *slow_requests;      /* "p95", or seconds */
    uint64_t slow_request_ns; /* the same in ns, set by the check; 0: "p95" */
    bool enabled;
    char *ruby_description; /* for the profile's comments, set by the binding: "ruby 3.4.5 +YJIT" */
} rpp_settings;

#endif
