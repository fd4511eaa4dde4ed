/* backend_kinds.h - the kinds of backends: each has a file, a constructor here, and a case in rpp_backend_new.
 * Their names are in settings/settings_fields.h.
 *
 * Threads    any thread; a new backend belongs to the uploader.
 * Ownership  settings and HTTP client must outlive the backend. A constructor returns NULL if out of memory.
 */
#ifndef RPP_BACKEND_KINDS_H
#define RPP_BACKEND_KINDS_H

#include "backends/backend.h"
#include "http/http_client.h"
#include "settings/settings_fields.h"

/* The backend that the settings name. NULL if out of memory. */
rpp_backend *rpp_backend_new(const rpp_settings *settings, rpp_http_client *http);

rpp_backend *rpp_backend_pyroscope_new(const rpp_settings *settings, rpp_http_client *http);
rpp_backend *rpp_backend_ingest_new(const rpp_settings *settings, rpp_http_client *http);
rpp_backend *rpp_backend_parca_new(const rpp_settings *settings, rpp_http_client *http);
rpp_backend *rpp_backend_http_new(const rpp_settings *settings, rpp_http_client *http);
rpp_backend *rpp_backend_directory_new(const rpp_settings *settings);

/* Uses the second backend if the first answers 404 or 501, which mean that the server does not know it; afterwards the
 * one that worked stays in use. Takes ownership of both. NULL if one of them is NULL, or if out of memory. */
rpp_backend *rpp_backend_fallback_new(rpp_backend *first, rpp_backend *second);

#endif
