/* window_encoder.c - encodes a window as the bytes of a file: pprof, with all labels under their own names. */
#include "delivery/window_encoder.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/gzip_sink.h"
#include "base/stats.h"
#include "base/version.h"
#include "encoding/pprof_encoder.h"
#include "settings/pairs.h"
#include "settings/settings.h"

#define GZIP_LEVEL 1

struct rpp_window_encoder {
    rpp_settings *settings;
    unsigned mode;
    uint32_t frequency;
    bool gzip;
};

rpp_window_encoder *rpp_window_encoder_new(unsigned mode, uint32_t frequency, bool gzip)
{
    rpp_window_encoder *encoder = rpp_calloc(1, sizeof *encoder);
    if (!encoder) return NULL;
    encoder->mode = mode | RPP_MODE_CUSTOM;
    encoder->frequency = frequency;
    encoder->gzip = gzip;
    encoder->settings = rpp_settings_new();
    if (!encoder->settings) {
        rpp_window_encoder_free(encoder);
        return NULL;
    }
    rpp_pairs_destroy(&encoder->settings->label_names);
    encoder->settings->max_label_values = UINT32_MAX;
    return encoder;
}

void rpp_window_encoder_free(rpp_window_encoder *encoder)
{
    if (!encoder) return;
    rpp_settings_free(encoder->settings);
    rpp_free(encoder);
}

static uint64_t captures_of(const rpp_profile *profile)
{
    uint64_t captures = 0;
    for (size_t i = 0; i < rpp_profile_row_count(profile); i++) captures += rpp_profile_rows(profile)[i].samples;
    return captures;
}

rpp_status rpp_window_encoder_encode(const rpp_window_encoder *encoder, const rpp_profile *profile,
                                     const rpp_frame_names *names, rpp_byte_buffer *into, uint64_t *samples)
{
    char frequency[32], effective[48], count[48];
    rpp_encode_totals totals = {0};
    const char *comments[] = {"rperf-push " RPP_VERSION, frequency, effective, count, NULL};
    snprintf(frequency, sizeof frequency, "frequency %u Hz", (unsigned)encoder->frequency);
    snprintf(effective, sizeof effective, "effective_frequency %.0f", rpp_stats_effective_frequency());
    snprintf(count, sizeof count, "sampling_count %llu", (unsigned long long)captures_of(profile));
    rpp_encode_options options = {.mode = encoder->mode,
                                  .period_ns = RPP_NS_PER_S / (encoder->frequency ? encoder->frequency : 1),
                                  .comments = comments,
                                  .settings = encoder->settings};
    rpp_gzip_sink *gzip = encoder->gzip ? rpp_gzip_sink_new(&into->sink, GZIP_LEVEL) : NULL;
    if (encoder->gzip && !gzip) return RPP_NO_MEMORY;
    rpp_status status = rpp_pprof_encode(profile, 0, rpp_profile_row_count(profile), names, &options, 0,
                                         gzip ? rpp_gzip_sink_as_sink(gzip) : &into->sink, &totals);
    if (gzip && status == RPP_OK) status = rpp_gzip_sink_finish(gzip);
    rpp_gzip_sink_free(gzip);
    *samples = totals.samples;
    return status;
}
