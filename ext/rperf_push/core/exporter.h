/* exporter.h - a sealed profile becomes payloads in the queue: encoded, compressed, split where the backend wants it smaller.
 *
 * Parts of one window carry time_nanos 1 ms apart (old Pyroscope storage drops a second profile of the same millisecond);
 * their sums equal the whole.
 *
 * Threads    export: the collector only.
 * Ownership  export takes the profile. Settings, names and queue must outlive the exporter.
 */
#ifndef RPP_EXPORTER_H
#define RPP_EXPORTER_H

#include "backend.h"
#include "frame_names.h"
#include "payload_queue.h"
#include "profile.h"
#include "settings.h"

typedef struct rpp_exporter rpp_exporter;

/* NULL when out of memory. */
rpp_exporter *rpp_exporter_new(const rpp_settings *settings, const rpp_frame_names *names, rpp_payload_queue *queue,
                               const rpp_backend_limits *limits, bool legal_label_names);
void rpp_exporter_free(rpp_exporter *exporter);
/* Failures are logged and counted (encode_failures). */
void rpp_exporter_export(rpp_exporter *exporter, rpp_profile *profile);

#endif
