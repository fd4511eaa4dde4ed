/* series_labels.h - the labels that identify a series.
 *
 * Threads    any thread.
 * Ownership  the caller destroys the list.
 */
#ifndef RPP_SERIES_LABELS_H
#define RPP_SERIES_LABELS_H

#include "backends/payload.h"
#include "settings/settings_fields.h"

/* The labels of the payload's series: the payload's own, or else service_name, then the tags by name, with hostname and
 * pid if the settings ask for them. The only failure is RPP_NO_MEMORY. */
RPP_NODISCARD rpp_status rpp_series_labels(const rpp_settings *settings, const rpp_payload *payload, rpp_pairs *labels);

#endif
