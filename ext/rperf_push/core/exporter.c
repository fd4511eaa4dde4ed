/* exporter.c - encodes a window, in halves of halves where it is too large, and queues all of its parts or none. */
#include "exporter.h"

#include <stdatomic.h>
#include <stdio.h>

#include "alloc.h"
#include "clock.h"
#include "gzip_sink.h"
#include "log.h"
#include "pprof_encoder.h"
#include "stats.h"
#include "version.h"

/* Measured (benchmark/encode.c): level 1 takes a third of the time of level 6, for a tenth more bytes. */
#define GZIP_LEVEL           1
#define MAX_COMPRESSED_BYTES (64u << 20)
/* Old Pyroscope storage drops a second profile of the same millisecond. */
#define PART_OFFSET_NS       RPP_NS_PER_MS
#define DOC_URL              "https://github.com/rperf-push/rperf-push"

struct rpp_exporter {
    const rpp_frame_names *names;
    rpp_payload_queue *queue;
    rpp_backend_limits limits;
    rpp_pprof_options options;
    const char *comments[5];
    char mode[32], frequency[32];
    bool told_of_labels;
};

/* The finished parts of one window, in order. */
typedef struct window_parts {
    const rpp_exporter *exporter;
    const rpp_profile *profile;
    rpp_payload *first, **end;
    uint64_t count, labels_cut;
} window_parts;

static const char *mode_text(unsigned mode)
{
    if (mode == RPP_MODE_CPU) return "cpu";
    return mode == RPP_MODE_WALL ? "wall" : "cpu+wall";
}

rpp_exporter *rpp_exporter_new(const rpp_settings *settings, const rpp_frame_names *names, rpp_payload_queue *queue,
                               const rpp_backend_limits *limits, bool legal_label_names)
{
    rpp_exporter *exporter = rpp_calloc(1, sizeof *exporter);
    if (!exporter) return NULL;
    snprintf(exporter->mode, sizeof exporter->mode, "mode %s", mode_text(settings->mode));
    snprintf(exporter->frequency, sizeof exporter->frequency, "frequency %u Hz", (unsigned)settings->frequency);
    exporter->comments[0] = "rperf-push " RPP_VERSION;
    exporter->comments[1] = exporter->mode;
    exporter->comments[2] = exporter->frequency;
    exporter->comments[3] = settings->ruby_description;
    exporter->names = names;
    exporter->queue = queue;
    exporter->limits = *limits;
    exporter->options = (rpp_pprof_options){.mode = settings->mode,
                                            .period_ns = RPP_NS_PER_S / (settings->frequency ? settings->frequency : 1),
                                            .vm_state_frames = settings->vm_state_frames,
                                            .comments = exporter->comments,
                                            .doc_url = DOC_URL,
                                            .settings = settings,
                                            .legal_label_names = legal_label_names};
    return exporter;
}

void rpp_exporter_free(rpp_exporter *exporter)
{
    rpp_free(exporter);
}

/* --- one part ------------------------------------------------------------------------------------------------------- */

/* Stops an encoding that is going to be too large, before more time is spent on it. */
typedef struct limit_sink {
    rpp_byte_sink sink;
    rpp_byte_sink *target;
    size_t left;
} limit_sink;

static rpp_status limited_write(rpp_byte_sink *sink, const void *bytes, size_t length)
{
    limit_sink *limit = (limit_sink *)sink;
    if (length > limit->left) return RPP_LIMIT;
    limit->left -= length;
    return rpp_byte_sink_write(limit->target, bytes, length);
}

static void add_part(window_parts *parts, rpp_payload *payload, const rpp_pprof_totals *totals)
{
    payload->time_ns = rpp_profile_time_ns(parts->profile) + parts->count * PART_OFFSET_NS;
    payload->duration_ns = rpp_profile_duration_ns(parts->profile);
    payload->samples = totals->samples;
    payload->cpu_ns = totals->cpu_ns;
    payload->wall_ns = totals->wall_ns;
    *parts->end = payload;
    parts->end = &payload->next;
    parts->count++;
    parts->labels_cut += totals->labels_cut;
}

/* Rows without a shown value make no part: some servers do not survive an empty profile. */
static rpp_status encode_part(window_parts *parts, size_t first, size_t count, size_t max_raw_bytes)
{
    const rpp_exporter *exporter = parts->exporter;
    rpp_status status = RPP_NO_MEMORY;
    rpp_pprof_totals totals = {0};
    rpp_payload *payload = NULL;
    rpp_byte_buffer compressed;
    rpp_byte_buffer_init(&compressed, MAX_COMPRESSED_BYTES);
    rpp_gzip_sink *gzip = rpp_gzip_sink_new(&compressed.sink, GZIP_LEVEL);
    if (!gzip) goto done;

    limit_sink limit = {{limited_write}, rpp_gzip_sink_as_sink(gzip), max_raw_bytes};
    status = rpp_pprof_encode(parts->profile, first, count, exporter->names, &exporter->options,
                              parts->count * PART_OFFSET_NS, &limit.sink, &totals);
    if (status == RPP_OK) status = rpp_gzip_sink_finish(gzip);
    if (status != RPP_OK || !totals.samples) goto done;

    status = RPP_NO_MEMORY;
    size_t length;
    uint8_t *bytes = rpp_byte_buffer_take(&compressed, &length);
    payload = rpp_payload_new(bytes, length);
    if (!payload) goto done;
    payload->raw_length = (size_t)rpp_gzip_sink_raw_bytes(gzip);
    add_part(parts, payload, &totals);
    status = RPP_OK;

done:
    rpp_gzip_sink_free(gzip);
    rpp_byte_buffer_destroy(&compressed);
    return status;
}

/* --- the parts of a window ------------------------------------------------------------------------------------------ */

/* Each location takes a byte at least: what cannot fit need not be tried. */
static bool is_hopeless(const rpp_profile *profile, size_t first, size_t count, size_t max_raw_bytes)
{
    const rpp_row *rows = rpp_profile_rows(profile);
    size_t depths = 0;
    for (size_t i = first; i < first + count && depths <= max_raw_bytes; i++) {
        uint32_t depth;
        (void)rpp_stack_table_get(rpp_profile_stacks(profile), rows[i].stack, &depth);
        depths += depth;
    }
    return depths > max_raw_bytes;
}

static rpp_status encode_range(window_parts *parts, size_t first, size_t count);

static rpp_status encode_halves(window_parts *parts, size_t first, size_t count)
{
    rpp_status status = encode_range(parts, first, count / 2);
    return status == RPP_OK ? encode_range(parts, first + count / 2, count - count / 2) : status;
}

/* A row that is too large by itself is sent all the same: the backend may take it, nobody can split it. */
static rpp_status encode_range(window_parts *parts, size_t first, size_t count)
{
    const rpp_backend_limits *limits = &parts->exporter->limits;
    size_t max_raw_bytes = limits->max_raw_bytes && count > 1 ? limits->max_raw_bytes : SIZE_MAX;
    bool too_many = count > 1 && limits->max_samples && count > limits->max_samples;
    if (too_many || is_hopeless(parts->profile, first, count, max_raw_bytes)) {
        return encode_halves(parts, first, count);
    }
    rpp_status status = encode_part(parts, first, count, max_raw_bytes);
    return status == RPP_LIMIT && count > 1 ? encode_halves(parts, first, count) : status;
}

/* --- the window ----------------------------------------------------------------------------------------------------- */

/* Counted from 1 in the process, whichever exporter. */
static uint64_t next_sequence(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static void count_part(const rpp_payload *payload)
{
    rpp_stats_add(RPP_STAT_cpu_ns_encoded, payload->cpu_ns);
    rpp_stats_add(RPP_STAT_wall_ns_encoded, payload->wall_ns);
    rpp_stats_add(RPP_STAT_samples_encoded, payload->samples);
    rpp_stats_add(RPP_STAT_bytes_encoded, payload->raw_length);
    rpp_stats_add(RPP_STAT_bytes_compressed, payload->length);
    rpp_stats_add(RPP_STAT_payloads_sealed, 1);
}

static void queue_all(rpp_exporter *exporter, rpp_payload *payload)
{
    for (rpp_payload *next; payload; payload = next) {
        next = payload->next;
        payload->next = NULL;
        payload->sequence = next_sequence();
        count_part(payload);
        rpp_payload_queue_push(exporter->queue, payload);
    }
}

static void count_labels(rpp_exporter *exporter, uint64_t cut)
{
    rpp_stats_add(RPP_STAT_samples_labels_cut, cut);
    if (!cut || exporter->told_of_labels) return;
    exporter->told_of_labels = true;
    rpp_log(RPP_LOG_WARN,
            "some samples have more labels than a series may have names (30, with those of the tags): the last "
            "ones are left out; use fewer, or put into label_deny what may go");
}

static void forget_all(rpp_payload *payload)
{
    for (rpp_payload *next; payload; payload = next) {
        next = payload->next;
        rpp_payload_free(payload);
    }
}

static void count_window(const rpp_profile *profile)
{
    rpp_stats_set(RPP_STAT_stacks_in_window, rpp_stack_table_count(rpp_profile_stacks(profile)));
    /* Id 0 is no set. */
    rpp_stats_set(RPP_STAT_label_sets_in_window, rpp_label_sets_count(rpp_profile_label_sets(profile)) - 1);
}

void rpp_exporter_export(rpp_exporter *exporter, rpp_profile *profile)
{
    uint64_t started = rpp_thread_cpu_ns();
    window_parts parts = {.exporter = exporter, .profile = profile, .end = &parts.first};
    rpp_status status = encode_range(&parts, 0, rpp_profile_row_count(profile));
    rpp_stats_add(RPP_STAT_encode_cpu_ns, rpp_thread_cpu_ns() - started);
    count_window(profile);

    if (status != RPP_OK) {
        rpp_stats_add(RPP_STAT_encode_failures, 1);
        rpp_log(RPP_LOG_ERROR, "a window could not be encoded and is lost: %s", rpp_status_text(status));
        forget_all(parts.first);
    } else if (parts.first) {
        count_labels(exporter, parts.labels_cut);
        queue_all(exporter, parts.first);
    } else {
        rpp_stats_add(RPP_STAT_windows_empty, 1);
    }
    rpp_profile_free(profile);
}
