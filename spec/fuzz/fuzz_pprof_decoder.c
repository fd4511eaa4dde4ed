/* fuzz_pprof_decoder.c - any bytes are read without harm: whatever is handed out lies within them, and is within its
 * limits. */
#include "base/alloc.h"
#include "encoding/pprof_decoder.h"
#include "fuzz_input.h"

typedef struct walk {
    const uint8_t *bytes;
    size_t length;
    const rpp_pprof_head *head;
    uint64_t depth, samples;
} walk;

static void check_text(const walk *w, uint64_t place)
{
    FUZZ_CHECK(place < w->head->text_count);
    const uint8_t *at = (const uint8_t *)w->head->texts[place].bytes;
    FUZZ_CHECK(at >= w->bytes && at + w->head->texts[place].length <= w->bytes + w->length);
}

static void check_sample(const rpp_pprof_read_sample *sample, void *context)
{
    walk *w = context;
    w->samples++;
    w->depth += sample->depth;
    FUZZ_CHECK(sample->depth <= RPP_PPROF_READ_MAX_DEPTH && sample->label_count <= RPP_PPROF_READ_MAX_LABELS);
    for (size_t i = 0; i < sample->depth; i++) FUZZ_CHECK(sample->frames[i] < w->head->frame_count);
    for (size_t i = 0; i < sample->label_count; i++) {
        check_text(w, sample->labels[i].key);
        check_text(w, sample->labels[i].str);
        check_text(w, sample->labels[i].unit);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rpp_pprof_decoder *decoder;
    walk w = {data, size, NULL, 0, 0};
    size_t max_memory = size % 2 ? SIZE_MAX : 16 * size; /* half of the inputs also try that limit */
    rpp_status status = rpp_pprof_decoder_new(data, size, max_memory, &decoder);
    bool may_be_full = max_memory < SIZE_MAX;
    FUZZ_CHECK(status == RPP_OK || status == RPP_INVALID || status == RPP_LIMIT ||
               (status == RPP_NO_MEMORY && may_be_full));
    if (status != RPP_OK) return 0;
    w.head = rpp_pprof_decoder_head(decoder);
    FUZZ_CHECK(w.head->type_count && w.head->type_count <= RPP_PPROF_READ_MAX_VALUES);
    FUZZ_CHECK(w.head->text_count && !w.head->texts[0].length);
    check_text(&w, w.head->default_type);
    for (size_t i = 0; i < w.head->comment_count; i++) check_text(&w, w.head->comments[i]);
    for (size_t i = 0; i < w.head->frame_count; i++) {
        check_text(&w, w.head->frames[i].name);
        check_text(&w, w.head->frames[i].path);
    }
    status = rpp_pprof_decoder_each_sample(decoder, check_sample, &w);
    FUZZ_CHECK(status == RPP_OK || status == RPP_INVALID || status == RPP_LIMIT ||
               (status == RPP_NO_MEMORY && may_be_full));
    FUZZ_CHECK(status != RPP_OK || w.samples == w.head->sample_count);
    FUZZ_CHECK(w.depth <= 8 * (uint64_t)size && w.samples <= max_memory / 160);
    rpp_pprof_decoder_free(decoder);
    return 0;
}
