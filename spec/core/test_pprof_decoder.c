/* test_pprof_decoder.c - pprofs by hand, those of the encoder, and those that are broken. */
#include "encoding/pprof_decoder.h"

#include "base/alloc.h"
#include "encoding/pprof_encoder.h"
#include "test.h"
#include "window.h"

typedef struct seen {
    size_t samples, depth, labels;
    int64_t value, line, number; /* of the first label */
    char leaf[32], unit[32];
    const rpp_pprof_head *head;
} seen;

static void look(const rpp_pprof_read_sample *sample, void *context)
{
    seen *s = context;
    const rpp_pprof_frame *leaf = sample->depth ? &s->head->frames[sample->frames[0]] : NULL;
    s->samples++;
    s->depth = sample->depth;
    s->value = sample->values[0];
    s->labels = sample->label_count;
    if (s->labels) {
        rpp_pprof_text unit = s->head->texts[sample->labels[0].unit];
        s->number = sample->labels[0].number;
        snprintf(s->unit, sizeof s->unit, "%.*s", (int)unit.length, unit.bytes);
    }
    if (!leaf) return;
    rpp_pprof_text name = s->head->texts[leaf->name];
    s->line = leaf->line;
    snprintf(s->leaf, sizeof s->leaf, "%.*s", (int)name.length, name.bytes);
}

static rpp_status read_within(size_t max_memory, const void *bytes, size_t length, seen *s)
{
    rpp_pprof_decoder *decoder;
    *s = (seen){0};
    rpp_status status = rpp_pprof_decoder_new(bytes, length, max_memory, &decoder);
    if (status != RPP_OK) return status;
    s->head = rpp_pprof_decoder_head(decoder);
    status = rpp_pprof_decoder_each_sample(decoder, look, s);
    rpp_pprof_decoder_free(decoder);
    return status;
}

static rpp_status read_all(const void *bytes, size_t length, seen *s)
{
    return read_within(SIZE_MAX, bytes, length, s);
}

/* sample_type {1, 2}; sample {1: 9, 2: 5}; location 9 {line {function 7, line 3}}; function 7 {name 3}; "", cpu, ns,
 * f. */
#define TYPE          "\x0a\x04\x08\x01\x10\x02"
#define SAMPLE        "\x12\x04\x08\x09\x10\x05"
#define LOCATION      "\x22\x08\x08\x09\x22\x04\x08\x07\x10\x03"
#define FUNCTION      "\x2a\x04\x08\x07\x10\x03"
#define STRINGS       "\x32\x00\x32\x03\x63pu\x32\x02ns\x32\x01\x66"
#define READ(text, s) read_all(text, sizeof(text) - 1, s)

TEST(lists_may_come_in_any_order_and_ids_be_any_numbers)
{
    seen s;
    CHECK_OK(READ(TYPE SAMPLE LOCATION FUNCTION STRINGS, &s));
    CHECK_INT(s.samples, 1);
    CHECK_INT(s.value, 5);
    CHECK_INT(s.line, 3);
    CHECK_STR(s.leaf, "f");
    CHECK_OK(READ(STRINGS SAMPLE FUNCTION TYPE LOCATION SAMPLE, &s));
    CHECK_INT(s.samples, 2);
}

TEST(packed_and_unpacked_numbers_are_alike)
{
    seen s;
    CHECK_OK(READ(TYPE "\x12\x08\x0a\x03\x09\x09\x09\x12\x01\x05" LOCATION FUNCTION STRINGS, &s));
    CHECK_INT(s.depth, 3);
    CHECK_INT(s.value, 5);
}

TEST(inlined_functions_are_frames_of_their_own)
{
    seen s;
    CHECK_OK(READ(TYPE SAMPLE "\x22\x0e\x08\x09\x22\x04\x08\x07\x10\x03\x22\x04\x08\x07\x10\x04" FUNCTION STRINGS, &s));
    CHECK_INT(s.depth, 2);
    CHECK_INT(s.line, 3);
}

TEST(code_without_a_name_is_a_frame)
{
    seen s;
    CHECK_OK(READ(TYPE SAMPLE "\x22\x04\x08\x09\x18\x7f" STRINGS, &s));
    CHECK_INT(s.depth, 1);
    CHECK_STR(s.leaf, "");
}

TEST(a_label_may_be_a_number_with_a_unit)
{
    seen s;
#define NUMBERED(label) "\x12\x0c\x08\x09\x10\x05\x1a\x06" label LOCATION FUNCTION STRINGS
    CHECK_OK(READ(TYPE NUMBERED("\x08\x03\x18\x07\x20\x02"), &s));
    CHECK_INT(s.number, 7);
    CHECK_STR(s.unit, "ns");
    CHECK_INT(READ(TYPE NUMBERED("\x08\x03\x18\x07\x20\x09"), &s), RPP_INVALID); /* no such text */
}

TEST(unknown_fields_are_passed_over)
{
    seen s;
    CHECK_OK(READ(
        TYPE SAMPLE LOCATION FUNCTION STRINGS "\xfd\x01\x01\x02\x03\x04\xf9\x01\x01\x02\x03\x04\x05\x06\x07\x08", &s));
    CHECK_INT(s.samples, 1);
}

TEST(what_is_broken_is_refused)
{
    seen s;
    CHECK_INT(READ("", &s), RPP_INVALID);
    CHECK_INT(READ(TYPE SAMPLE LOCATION FUNCTION, &s), RPP_INVALID);                     /* no texts */
    CHECK_INT(READ(SAMPLE LOCATION FUNCTION STRINGS, &s), RPP_INVALID);                  /* no type */
    CHECK_INT(READ(TYPE SAMPLE FUNCTION STRINGS, &s), RPP_INVALID);                      /* no such location */
    CHECK_INT(READ(TYPE SAMPLE LOCATION STRINGS, &s), RPP_INVALID);                      /* no such function */
    CHECK_INT(READ(TYPE SAMPLE LOCATION LOCATION FUNCTION STRINGS, &s), RPP_INVALID);    /* an id twice */
    CHECK_INT(READ(TYPE "\x12\x02\x08\x09" LOCATION FUNCTION STRINGS, &s), RPP_INVALID); /* no value */
    CHECK_INT(READ(TYPE "\x12\x06\x08\x09\x10\x05\x10\x05" LOCATION FUNCTION STRINGS, &s), RPP_INVALID);
    CHECK_INT(READ(TYPE SAMPLE LOCATION "\x2a\x04\x08\x07\x10\x09" STRINGS, &s), RPP_INVALID); /* no such text */
    CHECK_INT(READ(TYPE SAMPLE LOCATION FUNCTION STRINGS "\x32\x7f", &s), RPP_INVALID);        /* cut */
    CHECK_INT(READ(TYPE SAMPLE LOCATION FUNCTION "\x30\x00" STRINGS, &s), RPP_INVALID);  /* a text that is a number */
    CHECK_INT(READ(TYPE SAMPLE LOCATION FUNCTION STRINGS "\x03", &s), RPP_INVALID);      /* a wire type of none */
    CHECK_INT(READ(TYPE SAMPLE LOCATION FUNCTION "\x32\x01x" STRINGS, &s), RPP_INVALID); /* the first text not "" */
}

/* A location of many lines, referred to often: little that asks for much. */
TEST(what_would_grow_out_of_proportion_is_refused)
{
    enum { LINES = 1000, SAMPLES = 5000 };
    char *bytes = malloc(LINES * 8 + SAMPLES * 8 + 256), *at = bytes;
    seen s;
#define PUT(text) (memcpy(at, text, sizeof(text) - 1), at += sizeof(text) - 1)
    PUT(TYPE FUNCTION STRINGS);
    size_t length = 2 + 6 * LINES;
    *at++ = 0x22;
    *at++ = (char)(0x80 | (length & 0x7f));
    *at++ = (char)(length >> 7);
    PUT("\x08\x09");
    for (int i = 0; i < LINES; i++) PUT("\x22\x04\x08\x07\x10\x03");
    for (int i = 0; i < SAMPLES; i++) PUT(SAMPLE);
    CHECK_INT(read_all(bytes, (size_t)(at - bytes), &s), RPP_LIMIT);
    CHECK(s.samples < 500);
    free(bytes);
}

/* Two bytes of a file are a text, four a sample: what they become takes much more. */
TEST(what_would_take_more_memory_than_it_may_is_refused_before_it_is_read)
{
    enum { PIECES = 1000, LEAST = 160 };
    struct {
        const char *piece;
        size_t length;
    } kinds[] = {{"\x32\x00", 2}, {"\x12\x04\x08\x09\x10\x05", 6}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        char *bytes = malloc(PIECES * kinds[kind].length + 256), *at = bytes;
        seen s;
        PUT(TYPE LOCATION FUNCTION STRINGS);
        for (int i = 0; i < PIECES; i++, at += kinds[kind].length) memcpy(at, kinds[kind].piece, kinds[kind].length);
        size_t length = (size_t)(at - bytes);
        CHECK_OK(read_within(40 * length + 1024, bytes, length, &s));
        CHECK_INT(read_within(10 * length, bytes, length, &s), RPP_NO_MEMORY);
        CHECK(s.samples <= 10 * length / LEAST);
        free(bytes);
    }
}

TEST(reads_what_the_encoder_wrote_and_survives_every_failed_allocation)
{
    test_window window = window_open();
    const char *const labels[] = {"k", "v", NULL};
    rpp_location stack[] = {{window_frame(&window, "leaf", "a.rb", false), 3},
                            {window_frame(&window, "root", "a.rb", false), 4}};
    window_add(&window, (rpp_sample){.cpu_ns = 10, .wall_ns = 20, .thread_seq = 1}, stack, 2, labels);
    rpp_encode_options options = {.mode = RPP_MODE_CPU | RPP_MODE_WALL, .period_ns = 1, .settings = window.settings};
    rpp_byte_buffer buffer;
    rpp_byte_buffer_init(&buffer, 1 << 20);
    CHECK_OK(rpp_pprof_encode(window.profile, 0, 1, window.names, &options, 0, &buffer.sink, NULL));
    seen s;
    for (size_t nth = 1;; nth++) {
        rpp_alloc_fail_at(nth);
        rpp_status status = read_all(buffer.bytes, buffer.length, &s);
        rpp_alloc_fail_at(0);
        if (status == RPP_OK) break;
        CHECK_INT(status, RPP_NO_MEMORY);
    }
    CHECK_INT(s.samples, 1);
    CHECK_INT(s.depth, 2);
    CHECK_INT(s.value, 10);
    CHECK_INT(s.labels, 2);
    CHECK_STR(s.leaf, "leaf");
    rpp_byte_buffer_destroy(&buffer);
    window_close(&window);
}
