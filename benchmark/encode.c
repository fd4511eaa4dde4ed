/* encode.c - what encoding and compressing one large window costs: bytes, CPU time and memory, for each level of gzip.
 *
 * The window: 34,000 stacks of depth 150 over 20,000 frames, from a made-up program in which each method calls a few
 * others, so that stacks share their root sides as real ones do. Usage: encode [stacks [depth [frames [endpoints]]]]
 * With endpoints, what it costs as well to send the window as one series for each (Parca), beside one profile with
 * labels.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/gzip_sink.h"
#include "base/stats.h"
#include "delivery/exporter.h"
#include "encoding/pprof_encoder.h"

#define ROUNDS 5

typedef struct null_sink {
    rpp_byte_sink sink;
    uint64_t bytes;
} null_sink;

static rpp_status count_bytes(rpp_byte_sink *sink, const void *bytes, size_t length)
{
    (void)bytes;
    ((null_sink *)sink)->bytes += length;
    return RPP_OK;
}

static void must(rpp_status status, const char *what)
{
    if (status == RPP_OK) return;
    fprintf(stderr, "encode: %s: %s\n", what, rpp_status_text(status));
    exit(1);
}

/* --- memory
 * --------------------------------------------------------------------------------------------------------- */

static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

static long status_kib(const char *field)
{
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, field, strlen(field)) == 0) kib = strtol(line + strlen(field), NULL, 10);
    }
    if (file) fclose(file);
    return kib;
}

/* --- the window
 * ----------------------------------------------------------------------------------------------------- */

static rpp_frame_names *make_names(uint32_t count)
{
    rpp_frame_names *names = rpp_frame_names_new(count + 100);
    must(names ? rpp_frame_names_ensure(names, count) : RPP_NO_MEMORY, "frame names");
    for (uint32_t i = 0; i < count; i++) {
        char name[80], path[120];
        uint32_t id = rpp_frame_names_reserve(names);
        snprintf(name, sizeof name, "Shop::Module%u::Class%u#method_%u", i / 500, i / 20, i);
        snprintf(path, sizeof path, "/usr/local/bundle/gems/shop-%u/lib/shop/module%u/class%u.rb", i / 5000, i / 500,
                 i / 20);
        must(rpp_frame_names_set(names, id, name, strlen(name), path, strlen(path), 1 + i % 400, false), "a name");
    }
    return names;
}

/* Most calls take the usual way; the level keeps the ways from running in circles. */
static rpp_location callee(rpp_location caller, uint32_t level, uint64_t choice, uint32_t frames)
{
    uint64_t which = choice % 8 ? 0 : 1 + choice / 8 % 3;
    uint64_t hash = ((UINT64_C(512) * caller.frame + level) * 4 + which + 1) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t frame = (uint32_t)((hash >> 32) % frames);
    return (rpp_location){RPP_FRAME_FIRST + frame, 10 + frame % 400};
}

/* Each stack is of one endpoint; without any it has no labels. */
static rpp_profile *make_profile(uint32_t stacks, uint32_t depth, uint32_t frames, uint32_t endpoints)
{
    rpp_profile *profile = rpp_profile_new(&rpp_profile_default_limits);
    rpp_location *down = rpp_calloc(depth, sizeof *down), *up = rpp_calloc(depth, sizeof *up);
    if (!profile || !down || !up) must(RPP_NO_MEMORY, "the window");
    uint64_t random = 42;
    for (uint32_t i = 0; i < stacks; i++) {
        uint32_t kept = i ? (uint32_t)(rpp_random_next(&random) % depth) : 0;
        for (uint32_t level = kept; level < depth; level++) {
            rpp_location root = {RPP_FRAME_FIRST, 1};
            down[level] = level ? callee(down[level - 1], level, rpp_random_next(&random), frames) : root;
        }
        for (uint32_t level = 0; level < depth; level++) up[depth - 1 - level] = down[level];
        rpp_sample sample = {.cpu_ns = 5000000 + rpp_random_next(&random) % 10000000,
                             .wall_ns = 10000000 + rpp_random_next(&random) % 1000000,
                             .thread_seq = 1 + i % 16,
                             .depth = depth,
                             .state = (uint8_t)(i % 5 ? RPP_STATE_RUNNING : RPP_STATE_BLOCKED)};
        char endpoint[32];
        int length = snprintf(endpoint, sizeof endpoint, "GET /%" PRIu32, endpoints ? i % endpoints : 0);
        rpp_label label = {"endpoint", endpoint, 8, (uint32_t)length};
        if (endpoints) must(rpp_label_set_merge(NULL, &label, 1, &sample.labels), "labels");
        must(rpp_profile_add(profile, &sample, up), "a sample");
        rpp_label_set_release(sample.labels);
    }
    rpp_profile_close(profile, rpp_realtime_ns(), 10 * RPP_NS_PER_S);
    rpp_free(down);
    rpp_free(up);
    return profile;
}

/* --- measuring
 * ------------------------------------------------------------------------------------------------------ */

typedef struct window_under_test {
    rpp_profile *profile;
    rpp_frame_names *names;
    rpp_encode_options options;
} window_under_test;

static void encode_into(const window_under_test *window, rpp_byte_sink *sink)
{
    size_t rows = rpp_profile_row_count(window->profile);
    must(rpp_pprof_encode(window->profile, 0, rows, window->names, &window->options, 0, sink, NULL), "encoding");
}

/* Level 0: no gzip at all. The best of some rounds, in ns. */
static uint64_t measure(const window_under_test *window, int level, uint64_t *bytes)
{
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        null_sink out = {{count_bytes}, 0};
        uint64_t started = rpp_thread_cpu_ns();
        if (level) {
            rpp_gzip_sink *gzip = rpp_gzip_sink_new(&out.sink, level);
            if (!gzip) must(RPP_NO_MEMORY, "gzip");
            encode_into(window, rpp_gzip_sink_as_sink(gzip));
            must(rpp_gzip_sink_finish(gzip), "gzip");
            rpp_gzip_sink_free(gzip);
        } else {
            encode_into(window, &out.sink);
        }
        uint64_t taken = rpp_thread_cpu_ns() - started;
        if (taken < best) best = taken;
        *bytes = out.bytes;
    }
    return best;
}

static void report_export(const char *what, rpp_profile *profile, const rpp_frame_names *names,
                          const rpp_settings *settings, rpp_payload_rules rules)
{
    rules.encode = rpp_pprof_encode;
    rpp_payload_queue *queue = rpp_payload_queue_new(1000, SIZE_MAX);
    rpp_exporter *exporter = queue ? rpp_exporter_new(settings, names, queue, &rules) : NULL;
    if (!exporter) must(RPP_NO_MEMORY, "the exporter");
    rpp_stats_reset();
    forget_peak();
    long before = status_kib("VmRSS:");
    rpp_exporter_export(exporter, profile);
    printf("%-17s %.1f ms CPU, %" PRIu64 " payloads, %" PRIu64 " bytes (%" PRIu64 " raw), %ld KiB more than before\n",
           what, (double)rpp_stats_get(RPP_STAT_encode_cpu_ns) / 1e6, rpp_stats_get(RPP_STAT_payloads_created),
           rpp_stats_get(RPP_STAT_bytes_compressed), rpp_stats_get(RPP_STAT_bytes_encoded),
           status_kib("VmHWM:") - before);
    rpp_exporter_free(exporter);
    rpp_payload_queue_free(queue);
}

static uint32_t argument(int argc, char **argv, int at, uint32_t otherwise)
{
    return argc > at ? (uint32_t)strtoul(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    uint32_t stacks = argument(argc, argv, 1, 34000), depth = argument(argc, argv, 2, 150);
    uint32_t frames = argument(argc, argv, 3, 20000), endpoints = argument(argc, argv, 4, 0);
    rpp_settings *settings = rpp_settings_new();
    if (!settings) must(RPP_NO_MEMORY, "settings");
    window_under_test window = {make_profile(stacks, depth, frames, 0), make_names(frames), {0}};
    window.options = (rpp_encode_options){.mode = RPP_MODE_CPU | RPP_MODE_WALL,
                                          .period_ns = RPP_NS_PER_S / 99,
                                          .settings = settings,
                                          .legal_label_names = true};

    uint64_t raw, encoding, compressed;
    forget_peak();
    long before = status_kib("VmRSS:");
    encoding = measure(&window, 0, &raw);
    (void)measure(&window, 6, &compressed);
    long peak = status_kib("VmHWM:") - before;

    printf("stacks            %" PRIu32 " of depth %" PRIu32 " over %" PRIu32 " frames, %" PRIu32 " locations\n",
           rpp_stack_table_count(rpp_profile_stacks(window.profile)), depth, frames,
           rpp_stack_table_location_count(rpp_profile_stacks(window.profile)));
    printf("raw               %" PRIu64 " bytes\n", raw);
    printf("encode            %.1f ms CPU\n", (double)encoding / 1e6);
    printf("peak memory       %ld KiB more than before\n", peak);
    for (int level = 1; level <= 6; level++) {
        uint64_t taken = measure(&window, level, &compressed);
        printf("encode + gzip -%d  %.1f ms CPU (gzip %.1f), %" PRIu64 " bytes\n", level, (double)taken / 1e6,
               ((double)taken - (double)encoding) / 1e6, compressed);
    }
    if (endpoints) {
        settings->max_label_values = endpoints;
        report_export("one profile", make_profile(stacks, depth, frames, endpoints), window.names, settings,
                      (rpp_payload_rules){0});
        report_export("series", make_profile(stacks, depth, frames, endpoints), window.names, settings,
                      (rpp_payload_rules){.max_series = 1000, .max_series_raw_bytes = 8u << 20}); /* Parca's */
    }
    rpp_profile_free(window.profile);
    rpp_frame_names_free(window.names);
    rpp_settings_free(settings);
    return 0;
}
