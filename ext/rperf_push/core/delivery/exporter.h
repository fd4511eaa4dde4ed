/* exporter.h - turns a closed profile into payloads in the queue: it encodes, compresses, and splits for the backend's
 * limits.
 *
 * The parts of one window have times 1 ms apart (old Pyroscope storage drops a second profile of the same millisecond),
 * and their sums equal the whole. For the same reason, a backend may ask for a time chosen at random within the window;
 * the payload itself keeps the true time.
 *
 * Threads    export: the collector only.
 * Ownership  export takes the profile. Settings, names and queue must outlive the exporter.
 */
#ifndef RPP_EXPORTER_H
#define RPP_EXPORTER_H

#include "backends/backend.h"
#include "delivery/payload_queue.h"
#include "profile/profile.h"
#include "sampling/frame_names.h"
#include "settings/settings.h"

typedef struct rpp_exporter rpp_exporter;

/* NULL if out of memory. */
rpp_exporter *rpp_exporter_new(const rpp_settings *settings, const rpp_frame_names *names, rpp_payload_queue *queue,
                               const rpp_payload_rules *rules);
void rpp_exporter_free(rpp_exporter *exporter);
/* Logs and counts failures (encode_failures). */
void rpp_exporter_export(rpp_exporter *exporter, rpp_profile *profile);
/* In a forked child: its payloads are numbered from 1. */
void rpp_exporter_discard_after_fork(void);

#endif
