/* pprof_decoder.h - decodes an uncompressed pprof of any producer into tables of texts and frames, and visits its
 * samples.
 *
 * It does not use nanopb, because a pprof may be large: nothing is copied, and texts point into the given bytes. For
 * any bytes, decoding ends, stays within them, and uses memory in proportion to their length.
 *
 * Threads    one at a time.
 * Ownership  the caller owns the bytes, which must outlive the decoder.
 */
#ifndef RPP_PPROF_DECODER_H
#define RPP_PPROF_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define RPP_PPROF_READ_MAX_VALUES 64u
#define RPP_PPROF_READ_MAX_DEPTH  65536u
#define RPP_PPROF_READ_MAX_LABELS 256u

typedef struct rpp_pprof_text {
    const char *bytes;
    size_t length;
} rpp_pprof_text;

/* A line of a location. Inlined functions give a location several lines. */
typedef struct rpp_pprof_frame {
    uint32_t name, path; /* texts; name 0: code without a name, at `address` */
    int64_t line;        /* 0: unknown */
    uint64_t address;
} rpp_pprof_frame;

typedef struct rpp_pprof_value_type {
    uint32_t type, unit; /* texts */
} rpp_pprof_value_type;

/* str 0: the label's value is the number. Equal labels have equal bytes. */
typedef struct rpp_pprof_read_label {
    uint32_t key, str, unit, unused; /* texts; unit 0: none */
    int64_t number;
} rpp_pprof_read_label;

typedef struct rpp_pprof_head {
    const rpp_pprof_text *texts;
    size_t text_count;
    const rpp_pprof_frame *frames;
    size_t frame_count;
    rpp_pprof_value_type types[RPP_PPROF_READ_MAX_VALUES], period_type;
    size_t type_count, sample_count;
    const uint32_t *comments; /* texts */
    size_t comment_count;
    uint32_t default_type; /* a text; 0: none */
    int64_t time_ns, duration_ns, period;
} rpp_pprof_head;

typedef struct rpp_pprof_read_sample {
    const uint32_t *frames; /* leaf first */
    size_t depth;
    const int64_t *values; /* one for each type */
    const rpp_pprof_read_label *labels;
    size_t label_count;
} rpp_pprof_read_sample;

typedef struct rpp_pprof_decoder rpp_pprof_decoder;

/* RPP_INVALID: the bytes are no pprof, or not a whole one. RPP_LIMIT: one of the limits above is exceeded.
 * RPP_NO_MEMORY: also when tables, and Ruby objects of all that they and the samples hold, would take more than
 * max_memory. Two bytes of a pprof may be a text, and four a sample. So a file that gzip makes small could take 40
 * times its unpacked bytes. */
RPP_NODISCARD rpp_status rpp_pprof_decoder_new(const uint8_t *bytes, size_t length, size_t max_memory,
                                               rpp_pprof_decoder **decoder);
/* Takes what the caller keeps beside that from max_memory. */
RPP_NODISCARD rpp_status rpp_pprof_decoder_spend(rpp_pprof_decoder *decoder, size_t bytes);
void rpp_pprof_decoder_free(rpp_pprof_decoder *decoder);
const rpp_pprof_head *rpp_pprof_decoder_head(const rpp_pprof_decoder *decoder);

typedef void (*rpp_pprof_visitor)(const rpp_pprof_read_sample *sample, void *context);
/* Visits samples in the file's order. A sample is valid until the visitor returns. Fails as above; the samples before
 * the error were visited. */
RPP_NODISCARD rpp_status rpp_pprof_decoder_each_sample(rpp_pprof_decoder *decoder, rpp_pprof_visitor visit,
                                                       void *context);

#endif
