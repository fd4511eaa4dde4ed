/* exporter.c - encodes a window, halves it as often as it is too large, and queues all of its parts or none. */
#include "delivery/exporter.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "backends/series_labels.h"
#include "backends/series_list.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/gzip_sink.h"
#include "base/label_caps.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/version.h"
#include "encoding/encoder.h"
#include "encoding/window_series.h"
#include "settings/pairs.h"

/* Measured (benchmark/encode.c): level 1 takes a third of the time of level 6, for a tenth more bytes. */
#define GZIP_LEVEL           1
#define MAX_COMPRESSED_BYTES (64u << 20)
/* Old Pyroscope storage drops a second profile of the same series and millisecond, even if another process sent it. */
#define PART_OFFSET_NS       RPP_NS_PER_MS
#define DOC_URL              "https://github.com/rperf-push/rperf-push"

struct rpp_exporter {
    const rpp_frame_names *names;
    rpp_payload_queue *queue;
    rpp_payload_rules rules;
    rpp_encode_options options;
    char **comments; /* NULL-terminated */
    bool told_of_labels, told_of_series;
    uint64_t random;
};

/* The finished parts of one window, in order. */
typedef struct window_parts {
    const rpp_exporter *exporter;
    const rpp_profile *profile;
    unsigned mode;                   /* the values that are encoded */
    const rpp_row *rows;             /* rows of the profile, in the order in which they are sent */
    const rpp_window_series *series; /* NULL: samples have their own labels */
    rpp_payload *first, **end;
    uint64_t count, labels_cut, unlabelled;
    size_t labelled_bytes; /* of series with labels, before compression */
    uint64_t shift_ns;     /* the backend gets the window's time plus this */
    uint64_t values[RPP_VALUE_COUNT];
} window_parts;

/* The part that is being made. */
typedef struct part {
    rpp_byte_buffer bytes;
    size_t left, raw_length, labelled_bytes; /* bytes before compression: how many may follow, how many came */
    uint64_t unlabelled; /* samples that lose their labels, because the window has no bytes left for them */
    rpp_encode_totals totals;
} part;

/* --- start and end
 * ------------------------------------------------------------------------------------------------ */

/* "KIND TEXT", or "KIND NAME=TEXT" */
static bool add_comment(char ***end, const char *kind, const char *text, const char *value)
{
    size_t size = strlen(kind) + strlen(text) + (value ? strlen(value) : 0) + 3;
    char *comment = rpp_malloc(size);
    if (!comment) return false;
    snprintf(comment, size, "%s %s%s%s", kind, text, value ? "=" : "", value ? value : "");
    *(*end)++ = comment;
    return true;
}

/* A server has the name and the tags beside a profile; a file says them itself. */
static bool add_labels(char ***end, const rpp_pairs *labels)
{
    bool good = true;
    for (size_t i = 0; i < labels->count && good; i++) {
        const rpp_pair *label = &labels->items[i];
        good = i ? add_comment(end, "tag", label->key, label->value)
                 : add_comment(end, "application_name", label->value, NULL);
    }
    return good;
}

static bool make_comments(rpp_exporter *exporter, const rpp_settings *settings)
{
    const rpp_payload nobodys = {0};
    char mode[RPP_MODE_TEXT_MAX], frequency[32];
    rpp_pairs labels = {0};
    bool is_file = settings->backend == RPP_BACKEND_DIRECTORY;
    if (is_file && rpp_series_labels(settings, &nobodys, &labels) != RPP_OK) return false;
    snprintf(frequency, sizeof frequency, "%u", (unsigned)settings->frequency);
    exporter->comments = rpp_calloc(5 + labels.count, sizeof *exporter->comments);
    char **end = exporter->comments;
    bool good = end && add_comment(&end, "rperf-push", RPP_VERSION, NULL) &&
                add_comment(&end, "mode", rpp_mode_text(settings->mode, "+", mode), NULL) &&
                add_comment(&end, "frequency", strcat(frequency, " Hz"), NULL) && add_labels(&end, &labels);
    if (good && settings->ruby_description) good = (*end = rpp_strdup(settings->ruby_description)) != NULL;
    rpp_pairs_destroy(&labels);
    return good;
}

rpp_exporter *rpp_exporter_new(const rpp_settings *settings, const rpp_frame_names *names, rpp_payload_queue *queue,
                               const rpp_payload_rules *rules)
{
    rpp_exporter *exporter = rpp_calloc(1, sizeof *exporter);
    if (!exporter) return NULL;
    bool commented = make_comments(exporter, settings);
    exporter->names = names;
    exporter->queue = queue;
    exporter->rules = *rules;
    exporter->random = rpp_random_seed();
    exporter->options =
        (rpp_encode_options){.mode = settings->mode | RPP_MODE_CUSTOM,
                             .period_ns = RPP_NS_PER_S / (settings->frequency ? settings->frequency : 1),
                             .vm_state_frames = settings->vm_state_frames,
                             .comments = (const char *const *)exporter->comments,
                             .doc_url = DOC_URL,
                             .settings = settings,
                             .legal_label_names = true,
                             .policy = rpp_label_policy_new(settings, true)};
    if (commented && exporter->options.policy) return exporter;
    rpp_exporter_free(exporter);
    return NULL;
}

void rpp_exporter_free(rpp_exporter *exporter)
{
    if (!exporter) return;
    rpp_label_policy_free(exporter->options.policy);
    for (char **comment = exporter->comments; comment && *comment; comment++) rpp_free(*comment);
    rpp_free(exporter->comments);
    rpp_free(exporter);
}

/* --- one part
 * ------------------------------------------------------------------------------------------------------- */

/* Stops an encoding as soon as it gets too large. */
typedef struct limit_sink {
    rpp_byte_sink sink;
    rpp_byte_sink *target;
    size_t *left;
} limit_sink;

static rpp_status limited_write(rpp_byte_sink *sink, const void *bytes, size_t length)
{
    limit_sink *limit = (limit_sink *)sink;
    if (length > *limit->left) return RPP_LIMIT;
    *limit->left -= length;
    return rpp_byte_sink_write(limit->target, bytes, length);
}

/* Appends these rows as a profile to the part's bytes. */
static rpp_status encode_profile(const window_parts *parts, size_t first, size_t count, part *made,
                                 rpp_encode_totals *totals)
{
    const rpp_exporter *exporter = parts->exporter;
    rpp_encode_options options = exporter->options;
    options.mode = parts->mode;
    options.rows = parts->rows;
    options.no_labels = parts->series != NULL;
    rpp_gzip_sink *gzip = rpp_gzip_sink_new(&made->bytes.sink, GZIP_LEVEL);
    if (!gzip) return RPP_NO_MEMORY;
    limit_sink limit = {{limited_write}, rpp_gzip_sink_as_sink(gzip), &made->left};
    rpp_status status = exporter->rules.encode(parts->profile, first, count, exporter->names, &options,
                                               parts->shift_ns + parts->count * PART_OFFSET_NS, &limit.sink, totals);
    if (status == RPP_OK) status = rpp_gzip_sink_finish(gzip);
    made->raw_length += (size_t)rpp_gzip_sink_raw_bytes(gzip);
    rpp_gzip_sink_free(gzip);
    return status;
}

static void add_values(uint64_t to[RPP_VALUE_COUNT], const uint64_t values[RPP_VALUE_COUNT])
{
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) to[value] += values[value];
}

static rpp_status encode_one_series(const window_parts *parts, uint32_t id, size_t first, size_t count, part *made)
{
    rpp_pairs labels;
    rpp_encode_totals totals = {0};
    size_t series, before = made->bytes.length, raw_before = made->raw_length;
    rpp_status status = rpp_window_series_labels(parts->series, id, &labels);
    if (status == RPP_OK) status = rpp_series_list_begin(&made->bytes, &labels, &series);
    size_t head = made->bytes.length - before;
    if (status == RPP_OK && head > made->left) status = RPP_LIMIT;
    if (status == RPP_OK) {
        made->left -= head;
        status = encode_profile(parts, first, count, made, &totals);
    }
    if (status == RPP_OK) {
        rpp_series_list_end(&made->bytes, series);
        if (labels.count) made->labelled_bytes += made->raw_length - raw_before;
        made->totals.samples += totals.samples;
        add_values(made->totals.values, totals.values);
    }
    rpp_pairs_destroy(&labels);
    return status;
}

static bool may_have_labels(const window_parts *parts, const part *made)
{
    size_t max_bytes = parts->exporter->rules.max_series_raw_bytes;
    return !max_bytes || parts->labelled_bytes + made->labelled_bytes < max_bytes;
}

static rpp_status encode_series(const window_parts *parts, size_t first, size_t count, part *made)
{
    rpp_status status = RPP_OK;
    for (size_t end = first + count, next; first < end && status == RPP_OK; first = next) {
        uint32_t id = rpp_window_series_of(parts->series, &parts->rows[first]);
        if (!may_have_labels(parts, made)) id = 0; /* the remaining rows are one series */
        for (next = first; next < end; next++) {
            uint32_t own = rpp_window_series_of(parts->series, &parts->rows[next]);
            if (id && own != id) break;
            if (!id) made->unlabelled += own != 0;
        }
        status = encode_one_series(parts, id, first, next - first, made);
    }
    return status;
}

static void add_part(window_parts *parts, rpp_payload *payload, const part *made)
{
    payload->time_ns = rpp_profile_time_ns(parts->profile) + parts->count * PART_OFFSET_NS;
    payload->duration_ns = rpp_profile_duration_ns(parts->profile);
    payload->raw_length = made->raw_length;
    payload->samples = made->totals.samples;
    payload->group = rpp_mode_group(parts->mode);
    *parts->end = payload;
    parts->end = &payload->next;
    parts->count++;
    add_values(parts->values, made->totals.values);
    parts->labels_cut += made->totals.labels_cut;
    parts->unlabelled += made->unlabelled;
    parts->labelled_bytes += made->labelled_bytes;
}

/* Rows without a shown value make no part: some servers do not survive an empty profile. */
static rpp_status encode_part(window_parts *parts, size_t first, size_t count, size_t max_raw_bytes)
{
    part made = {.left = max_raw_bytes};
    rpp_byte_buffer_init(&made.bytes, MAX_COMPRESSED_BYTES);
    rpp_status status = parts->series ? encode_series(parts, first, count, &made)
                                      : encode_profile(parts, first, count, &made, &made.totals);
    if (status == RPP_OK && made.totals.samples) {
        size_t length;
        uint8_t *bytes = rpp_byte_buffer_take(&made.bytes, &length);
        rpp_payload *payload = rpp_payload_new(bytes, length);
        if (payload) add_part(parts, payload, &made);
        if (!payload) status = RPP_NO_MEMORY;
    }
    rpp_byte_buffer_destroy(&made.bytes);
    return status;
}

/* --- the parts of a window
 * ------------------------------------------------------------------------------------------ */

/* Each location takes at least one byte, so rows with too many locations need no try. */
static bool is_hopeless(const window_parts *parts, size_t first, size_t count, size_t max_raw_bytes)
{
    size_t depths = 0;
    for (size_t i = first; i < first + count && depths <= max_raw_bytes; i++) {
        uint32_t depth;
        (void)rpp_stack_table_get(rpp_profile_stacks(parts->profile), parts->rows[i].stack, &depth);
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

/* A single row cannot be split. It is sent even if it is too large, because the backend may accept it. */
static rpp_status encode_range(window_parts *parts, size_t first, size_t count)
{
    const rpp_payload_rules *rules = &parts->exporter->rules;
    size_t max_raw_bytes = rules->max_raw_bytes && count > 1 ? rules->max_raw_bytes : SIZE_MAX;
    bool too_many = count > 1 && rules->max_samples && count > rules->max_samples;
    if (too_many || is_hopeless(parts, first, count, max_raw_bytes)) {
        return encode_halves(parts, first, count);
    }
    rpp_status status = encode_part(parts, first, count, max_raw_bytes);
    return status == RPP_LIMIT && count > 1 ? encode_halves(parts, first, count) : status;
}

/* --- the window
 * ----------------------------------------------------------------------------------------------------- */

/* All exporters of the process count together, from 1. */
static _Atomic uint64_t last_sequence;

static uint64_t next_sequence(void)
{
    return atomic_fetch_add_explicit(&last_sequence, 1, memory_order_relaxed) + 1;
}

void rpp_exporter_discard_after_fork(void)
{
    atomic_store_explicit(&last_sequence, 0, memory_order_relaxed);
}

static void count_part(const rpp_payload *payload)
{
    rpp_stats_add(RPP_STAT_samples_encoded, payload->samples);
    rpp_stats_add(RPP_STAT_bytes_encoded, payload->raw_length);
    rpp_stats_add(RPP_STAT_bytes_compressed, payload->length);
    rpp_stats_add(RPP_STAT_payloads_created, 1);
}

static void count_values(const uint64_t values[RPP_VALUE_COUNT])
{
#define X(context, id, field, ...) rpp_stats_add(RPP_STAT_##field##_encoded, values[RPP_VALUE_##id]);
    RPP_VALUE_TYPES(X, )
#undef X
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
            "some samples have more labels than a series may have names (%d, with those of the tags): the last "
            "ones are left out; use fewer, or put into label_deny what may go",
            RPP_NAMES_OF_A_SERIES_MAX);
}

static void count_unlabelled(rpp_exporter *exporter, uint64_t unlabelled)
{
    rpp_stats_add(RPP_STAT_samples_unlabelled, unlabelled);
    if (!unlabelled || exporter->told_of_series) return;
    exporter->told_of_series = true;
    rpp_log(
        RPP_LOG_WARN,
        "a window has more sets of labels than a request may have series (%u, of %zu MiB together): the rest is sent "
        "without labels; use fewer, put into label_deny what may go, or lower max_label_values",
        (unsigned)exporter->rules.max_series, exporter->rules.max_series_raw_bytes >> 20);
}

static void discard_all(rpp_payload *payload)
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

/* A random shift: processes that start together have windows that begin together. */
static uint64_t random_shift_ns(rpp_exporter *exporter, const rpp_profile *profile)
{
    uint64_t duration_ns = rpp_profile_duration_ns(profile);
    if (!exporter->rules.one_a_millisecond || !duration_ns) return 0;
    return rpp_random_next(&exporter->random) % duration_ns;
}

/* Labels of samples must not use names that the series has already. */
static rpp_status find_series(rpp_exporter *exporter, const window_parts *parts, rpp_window_series *series)
{
    const rpp_payload no_labels = {0};
    rpp_encode_options options = exporter->options;
    rpp_pairs taken = {0};
    options.mode = parts->mode;
    rpp_status status = rpp_series_labels(exporter->options.settings, &no_labels, &taken);
    if (status == RPP_OK) {
        status = rpp_window_series_init(series, parts->profile, &options, &taken, exporter->rules.max_series);
    }
    rpp_pairs_destroy(&taken);
    return status;
}

/* The values of `mode`. */
static rpp_status encode_values(rpp_exporter *exporter, window_parts *parts, unsigned mode)
{
    const rpp_profile *profile = parts->profile;
    parts->mode = mode;
    if (!exporter->rules.max_series) {
        parts->rows = rpp_profile_rows(profile);
        return encode_range(parts, 0, rpp_profile_row_count(profile));
    }
    rpp_window_series series = {0};
    rpp_status status = find_series(exporter, parts, &series);
    if (status == RPP_OK) {
        parts->rows = series.rows;
        parts->series = &series;
        status = encode_range(parts, 0, series.row_count);
        parts->labels_cut += series.labels_cut;
        parts->unlabelled += series.unlabelled;
    }
    parts->series = NULL;
    rpp_window_series_destroy(&series);
    return status;
}

/* Groups of the same name have the same series, so the times of their parts go on. */
static uint64_t parts_of_series(const window_parts *parts, rpp_value_group group)
{
    uint64_t count = 0;
    for (const rpp_payload *payload = parts->first; payload; payload = payload->next) {
        count += strcmp(rpp_value_groups[payload->group].name, rpp_value_groups[group].name) == 0;
    }
    return count;
}

/* A part of a window without a level must not look like a level of nothing, which replaces the one before. */
static unsigned mode_of(const rpp_exporter *exporter, const rpp_profile *profile)
{
    unsigned mode = exporter->options.mode, without_levels = mode & ~rpp_level_mode();
    bool measures_others = without_levels & ~(unsigned)RPP_MODE_CUSTOM;
    return rpp_profile_level_ns(profile) || !measures_others ? mode : without_levels;
}

static rpp_status encode_window(rpp_exporter *exporter, window_parts *parts)
{
    unsigned mode = mode_of(exporter, parts->profile);
    rpp_label_policy_begin(exporter->options.policy, rpp_profile_time_ns(parts->profile));
    rpp_status status = RPP_OK;
    if (!exporter->rules.one_group) status = encode_values(exporter, parts, mode);
    for (rpp_value_group group = 0; exporter->rules.one_group && group < RPP_GROUP_COUNT; group++) {
        unsigned of_group = mode & rpp_group_mode(group);
        parts->count = parts_of_series(parts, group);
        if (of_group && status == RPP_OK) status = encode_values(exporter, parts, of_group);
    }
    if (status == RPP_OK && exporter->rules.max_series) count_unlabelled(exporter, parts->unlabelled);
    return status;
}

void rpp_exporter_export(rpp_exporter *exporter, rpp_profile *profile)
{
    uint64_t started = rpp_thread_cpu_ns();
    window_parts parts = {.exporter = exporter, .profile = profile, .end = &parts.first};
    parts.shift_ns = random_shift_ns(exporter, profile);
    rpp_status status = encode_window(exporter, &parts);
    rpp_stats_add(RPP_STAT_encode_cpu_ns, rpp_thread_cpu_ns() - started);
    count_window(profile);

    if (status != RPP_OK) {
        rpp_stats_add(RPP_STAT_encode_failures, 1);
        rpp_log(RPP_LOG_ERROR, "a window could not be encoded and is lost: %s", rpp_status_text(status));
        discard_all(parts.first);
    } else if (parts.first) {
        count_labels(exporter, parts.labels_cut);
        count_values(parts.values);
        queue_all(exporter, parts.first);
    } else {
        rpp_stats_add(RPP_STAT_windows_empty, 1);
    }
    rpp_profile_free(profile);
}
