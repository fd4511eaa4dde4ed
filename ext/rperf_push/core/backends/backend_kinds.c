/* backend_kinds.c - creates the backend that the settings name. */
#include "backends/backend_kinds.h"

rpp_backend *rpp_backend_new(const rpp_settings *settings, rpp_http_client *http)
{
    switch ((rpp_backend_kind)settings->backend) {
    case RPP_BACKEND_PYROSCOPE: return rpp_backend_pyroscope_new(settings, http);
    case RPP_BACKEND_PYROSCOPE_INGEST: return rpp_backend_ingest_new(settings, http);
    case RPP_BACKEND_PARCA: return rpp_backend_parca_new(settings, http);
    case RPP_BACKEND_HTTP: return rpp_backend_http_new(settings, http);
    case RPP_BACKEND_DIRECTORY: return rpp_backend_directory_new(settings);
    case RPP_BACKEND_PYROSCOPE_OR_INGEST:
        return rpp_backend_fallback_new(rpp_backend_pyroscope_new(settings, http),
                                        rpp_backend_ingest_new(settings, http));
    }
    return NULL;
}
