/* rb_pprof.c - converts data Hashes to pprof and back, with the encoder of the backends and the core's decoder. */
#include "data/rb_pprof.h"

#include <ruby/encoding.h>

#include "core/base/alloc.h"
#include "core/base/gzip_sink.h"
#include "core/encoding/pprof_decoder.h"
#include "core/encoding/pprof_encoder.h"
#include "data/rb_numbering.h"
#include "vm/rb_values.h"

#define DOC_URL "https://github.com/rperf-push/rperf-push"

_Static_assert(RPP_ENCODE_MAX_VALUES == RPP_PPROF_READ_MAX_VALUES, "what was read can be written");

static void check(rpp_status status, const char *what)
{
    if (status == RPP_NO_MEMORY) rb_memerror();
    if (status != RPP_OK) rb_raise(rb_eArgError, "%s: %s", what, rpp_status_text(status));
}

static VALUE of_type(VALUE object, int type)
{
    Check_Type(object, type);
    return object;
}

static VALUE fetch(VALUE hash, const char *key)
{
    return rb_hash_lookup(hash, ID2SYM(rb_intern(key)));
}

/* --- encoding --- */

typedef struct encoding {
    VALUE request;
    rb_rpp_numbering numbering;
    rpp_frame_names *names;
    rpp_profile *profile;
    uint32_t *frame_ids; /* function -> id in names; 0: not yet */
    size_t frame_id_count;
    rpp_encode_label *labels;
    size_t label_count, label_capacity;
    uint32_t *starts; /* of the labels of each set */
    uint32_t *sets;   /* of each sample */
    int64_t *numbers;
    const char **comments;
    rpp_location *stack;
    size_t stack_capacity;
    rpp_byte_buffer compressed;
    rpp_gzip_sink *gzip;
} encoding;

static VALUE end_encoding(VALUE argument)
{
    encoding *e = (encoding *)argument;
    rb_rpp_numbering_destroy(&e->numbering);
    rpp_gzip_sink_free(e->gzip);
    rpp_byte_buffer_destroy(&e->compressed);
    rpp_profile_free(e->profile);
    rpp_frame_names_free(e->names);
    rpp_free(e->frame_ids);
    rpp_free(e->stack);
    rpp_free(e->labels);
    rpp_free(e->starts);
    rpp_free(e->sets);
    rpp_free(e->numbers);
    rpp_free(e->comments);
    return Qnil;
}

static void open_encoding(encoding *e, long sample_count, size_t value_count)
{
    rpp_profile_limits limits = {
        .stacks = {.max_locations = UINT32_MAX, .max_stacks = UINT32_MAX, .max_depth_total = UINT64_MAX},
        .max_label_sets = 1, /* labels are not the profile's */
        .max_rows = (uint32_t)sample_count + 1,
        .separate_rows = true};
    e->names = rpp_frame_names_new(UINT32_MAX / 2);
    e->profile = rpp_profile_new(&limits);
    rpp_byte_buffer_init(&e->compressed, SIZE_MAX);
    e->gzip = rpp_gzip_sink_new(&e->compressed.sink, NUM2INT(fetch(e->request, "level")));
    e->numbers = rpp_calloc((size_t)sample_count * value_count + 1, sizeof *e->numbers);
    e->sets = rpp_calloc((size_t)sample_count + 1, sizeof *e->sets);
    if (!e->names || !e->profile || !e->gzip || !e->numbers || !e->sets) rb_memerror();
}

/* [key, text] or [key, number, unit]. The bytes stay the Strings'. */
static rpp_encode_label label_of(VALUE parts)
{
    VALUE key = of_type(rb_ary_entry(of_type(parts, T_ARRAY), 0), T_STRING), value = rb_ary_entry(parts, 1);
    rpp_encode_label label = {.key = RSTRING_PTR(key), .key_length = (size_t)RSTRING_LEN(key)};
    if (RB_INTEGER_TYPE_P(value)) {
        VALUE unit = of_type(rb_ary_entry(parts, 2), T_STRING);
        label.number = NUM2LL(value);
        label.unit = RSTRING_PTR(unit);
        label.unit_length = (size_t)RSTRING_LEN(unit);
    } else {
        label.text = RSTRING_PTR(of_type(value, T_STRING));
        label.text_length = (size_t)RSTRING_LEN(value);
    }
    return label;
}

/* Last of all: Ruby must not move Strings any more. */
static rpp_encode_labels read_labels(encoding *e)
{
    VALUE sets = of_type(fetch(e->request, "label_sets"), T_ARRAY);
    e->starts = rpp_calloc((size_t)RARRAY_LEN(sets) + 1, sizeof *e->starts);
    if (!e->starts) rb_memerror();
    for (long i = 0; i < RARRAY_LEN(sets); i++) {
        VALUE set = of_type(RARRAY_AREF(sets, i), T_ARRAY);
        if (RARRAY_LEN(set) >= RPP_PPROF_READ_MAX_LABELS) { /* thread_seq is one more */
            rb_raise(rb_eArgError, "a pprof that RperfPush.load reads has at most %u labels of a sample, got %ld",
                     RPP_PPROF_READ_MAX_LABELS - 1, RARRAY_LEN(set));
        }
        size_t needed = e->label_count + (size_t)RARRAY_LEN(set) + 1;
        check(rpp_grow((void **)&e->labels, &e->label_capacity, needed, sizeof *e->labels), "labels");
        for (long j = 0; j < RARRAY_LEN(set); j++) e->labels[e->label_count++] = label_of(RARRAY_AREF(set, j));
        e->starts[i + 1] = (uint32_t)e->label_count;
    }
    return (rpp_encode_labels){e->labels, e->starts, (size_t)RARRAY_LEN(sets), e->sets};
}

static uint32_t frame_id_of(encoding *e, uint32_t function)
{
    if (function >= e->frame_id_count) {
        size_t needed = (size_t)function + 1, before = e->frame_id_count;
        check(rpp_grow((void **)&e->frame_ids, &e->frame_id_count, needed, sizeof *e->frame_ids), "frames");
        memset(e->frame_ids + before, 0, (e->frame_id_count - before) * sizeof *e->frame_ids);
    }
    if (e->frame_ids[function]) return e->frame_ids[function];
    VALUE pair = RARRAY_AREF(e->numbering.functions, function);
    VALUE path = RARRAY_AREF(pair, 0), label = RARRAY_AREF(pair, 1);
    check(rpp_frame_names_ensure(e->names, 1), "frames");
    uint32_t id = rpp_frame_names_reserve(e->names);
    check(rpp_frame_names_set(e->names, id, RSTRING_PTR(label), (size_t)RSTRING_LEN(label), RSTRING_PTR(path),
                              (size_t)RSTRING_LEN(path), 0, false),
          "a frame");
    return e->frame_ids[function] = id;
}

static uint32_t read_stack(encoding *e, VALUE frames)
{
    size_t depth = (size_t)RARRAY_LEN(frames);
    check(rpp_grow((void **)&e->stack, &e->stack_capacity, depth + 1, sizeof *e->stack), "a stack");
    for (size_t i = 0; i < depth; i++) {
        uint32_t number = rb_rpp_number_of(&e->numbering, rb_rpp_frame_at(frames, (long)i));
        rpp_graph_frame frame = e->numbering.known[number];
        e->stack[i] = (rpp_location){frame_id_of(e, frame.function), frame.line};
    }
    return (uint32_t)depth;
}

static void read_samples(encoding *e, VALUE samples, VALUE columns)
{
    long columns_count = RARRAY_LEN(columns);
    long set_count = RARRAY_LEN(of_type(fetch(e->request, "label_sets"), T_ARRAY));
    for (long i = 0; i < RARRAY_LEN(samples); i++) {
        rb_rpp_data_sample read = rb_rpp_data_sample_of(samples, i);
        if (read.labels >= set_count) {
            rb_raise(rb_eArgError, "sample %ld has label set %u, of %ld", i, read.labels, set_count);
        }
        rpp_sample sample = {.thread_seq = read.seq, .depth = read_stack(e, read.frames)};
        check(rpp_profile_add(e->profile, &sample, e->stack), "a sample");
        e->sets[i] = read.labels;
        for (long c = 0; c < columns_count; c++) {
            VALUE column = RARRAY_AREF(columns, c), number = NIL_P(column) ? read.weight : rb_ary_entry(column, i);
            e->numbers[i * columns_count + c] = NIL_P(number) ? 0 : NUM2LL(number);
        }
    }
}

static void read_comments(encoding *e)
{
    VALUE comments = of_type(fetch(e->request, "comments"), T_ARRAY);
    e->comments = rpp_calloc((size_t)RARRAY_LEN(comments) + 1, sizeof *e->comments);
    if (!e->comments) rb_memerror();
    for (long i = 0; i < RARRAY_LEN(comments); i++) {
        VALUE comment = RARRAY_AREF(comments, i);
        e->comments[i] = StringValueCStr(comment);
    }
}

static size_t count_types(VALUE request)
{
    size_t count = (size_t)RARRAY_LEN(of_type(fetch(request, "types"), T_ARRAY));
    if (count <= RPP_ENCODE_MAX_VALUES) return count;
    rb_raise(rb_eArgError, "a pprof that RperfPush.load reads has at most %d kinds of values, got %zu",
             RPP_ENCODE_MAX_VALUES, count);
}

/* Late, as the labels: compaction moves Strings, and reading samples makes objects. */
static void read_types(VALUE request, rpp_encode_values *values)
{
    VALUE types = of_type(fetch(request, "types"), T_ARRAY);
    for (size_t i = 0; i < values->count; i++) {
        VALUE type = rb_ary_entry(RARRAY_AREF(types, (long)i), 0), unit = rb_ary_entry(RARRAY_AREF(types, (long)i), 1);
        values->types[i] = StringValueCStr(type);
        values->units[i] = StringValueCStr(unit);
    }
}

static VALUE encode(VALUE argument)
{
    encoding *e = (encoding *)argument;
    VALUE samples = of_type(fetch(e->request, "samples"), T_ARRAY);
    VALUE columns = of_type(fetch(e->request, "columns"), T_ARRAY);
    rpp_encode_values values = {.count = count_types(e->request)};
    if ((size_t)RARRAY_LEN(columns) != values.count) rb_raise(rb_eArgError, "a column for each type");
    open_encoding(e, RARRAY_LEN(samples), values.count);
    read_samples(e, samples, columns);
    rpp_profile_close(e->profile, NUM2ULL(fetch(e->request, "time_ns")), NUM2ULL(fetch(e->request, "duration_ns")));
    values.numbers = e->numbers;
    rpp_encode_options options = {
        .values = &values, .period_ns = NUM2ULL(fetch(e->request, "period_ns")), .doc_url = DOC_URL};
    read_comments(e);
    read_types(e->request, &values);
    rpp_encode_labels labels = read_labels(e);
    options.comments = e->comments;
    options.labels = &labels;
    check(rpp_pprof_encode(e->profile, 0, rpp_profile_row_count(e->profile), e->names, &options, 0,
                           rpp_gzip_sink_as_sink(e->gzip), NULL),
          "pprof");
    check(rpp_gzip_sink_finish(e->gzip), "gzip");
    return rb_str_new((const char *)e->compressed.bytes, (long)e->compressed.length);
}

/* request: samples, columns (nil: the weights), types [[type, unit], ...], label_sets [[label, ...], ...], comments,
 * time_ns, duration_ns, period_ns, level (of gzip). Ruby made it from a data Hash. */
static VALUE native_encode_pprof(VALUE self, VALUE request)
{
    encoding e = {.request = of_type(request, T_HASH)};
    rb_rpp_numbering_init(&e.numbering);
    VALUE bytes = rb_ensure(encode, (VALUE)&e, end_encoding, (VALUE)&e);
    RB_GC_GUARD(request);
    return bytes;
}

/* --- decoding --- */

/* Bytes that Ruby takes for a text beside its characters, for a set of labels, and for each label in it. */
enum { COST_STRING = 48, COST_SET = 320, COST_LABEL = 96 };

typedef struct decoding {
    VALUE bytes;
    rpp_pprof_decoder *decoder;
    const rpp_pprof_head *head;
    VALUE texts, frames, samples, columns, label_sets, set_ids, lines;
    VALUE *stack; /* RPP_PPROF_READ_MAX_DEPTH; all of them are in `frames` */
    size_t max_memory;
    rpp_status status;
    int failed;
} decoding;

static VALUE end_decoding(VALUE argument)
{
    decoding *d = (decoding *)argument;
    rpp_pprof_decoder_free(d->decoder);
    rpp_free(d->stack);
    return Qnil;
}

static void spend(decoding *d, size_t bytes)
{
    if (d->status == RPP_OK) d->status = rpp_pprof_decoder_spend(d->decoder, bytes);
}

static VALUE text_of(decoding *d, uint32_t place)
{
    VALUE known = rb_ary_entry(d->texts, place);
    if (!NIL_P(known)) return known;
    rpp_pprof_text text = d->head->texts[place];
    spend(d, COST_STRING + text.length);
    VALUE string = rb_utf8_str_new(text.bytes, (long)text.length), scrubbed = rb_str_scrub(string, Qnil);
    if (NIL_P(scrubbed)) scrubbed = string;
    rb_ary_store(d->texts, place, rb_str_freeze(scrubbed));
    return scrubbed;
}

static VALUE frame_of(decoding *d, const rpp_pprof_frame *frame)
{
    VALUE name = frame->name ? text_of(d, frame->name) : rb_sprintf("0x%" PRIx64, frame->address);
    VALUE parts[] = {text_of(d, frame->path), name, LL2NUM(frame->line)};
    return rb_ary_new_from_values(RTEST(d->lines) ? 3 : 2, parts);
}

static void build_frames(decoding *d)
{
    d->lines = Qfalse;
    for (size_t i = 0; i < d->head->frame_count; i++) {
        if (d->head->frames[i].line) d->lines = Qtrue;
    }
    for (size_t i = 0; i < d->head->frame_count && d->status == RPP_OK; i++) {
        rb_ary_push(d->frames, frame_of(d, &d->head->frames[i]));
    }
}

static bool is_thread_seq(const decoding *d, const rpp_pprof_read_label *label)
{
    rpp_pprof_text key = d->head->texts[label->key];
    return !label->str && key.length == 10 && !memcmp(key.bytes, "thread_seq", 10);
}

/* A text, a number, or [number, unit]. */
static VALUE value_of(decoding *d, const rpp_pprof_read_label *label)
{
    if (label->str) return text_of(d, label->str);
    VALUE number = LL2NUM(label->number);
    return label->unit ? rb_ary_freeze(rb_ary_new_from_args(2, number, text_of(d, label->unit))) : number;
}

/* Equal lists of labels are one set, found by the bytes of the list. */
static VALUE set_id_of(decoding *d, const rpp_pprof_read_label *labels, size_t count)
{
    if (!count) return INT2FIX(0);
    VALUE key = rb_str_new((const char *)labels, (long)(count * sizeof *labels)),
          known = rb_hash_lookup(d->set_ids, key);
    if (!NIL_P(known)) return known;
    spend(d, COST_SET + count * COST_LABEL);
    VALUE set = rb_hash_new(), id = LONG2NUM(RARRAY_LEN(d->label_sets));
    for (size_t i = 0; i < count; i++) {
        rb_hash_aset(set, rb_str_intern(text_of(d, labels[i].key)), value_of(d, &labels[i]));
    }
    rb_ary_push(d->label_sets, set);
    rb_hash_aset(d->set_ids, key, id);
    return id;
}

typedef struct adding {
    decoding *decoding;
    const rpp_pprof_read_sample *sample;
} adding;

static VALUE add_sample(VALUE argument)
{
    const adding *a = (const adding *)argument;
    decoding *d = a->decoding;
    const rpp_pprof_read_sample *s = a->sample;
    rpp_pprof_read_label labels[RPP_PPROF_READ_MAX_LABELS];
    size_t label_count = 0;
    int64_t seq = 0;
    for (size_t i = 0; i < s->label_count; i++) {
        if (is_thread_seq(d, &s->labels[i]))
            seq = s->labels[i].number;
        else
            labels[label_count++] = s->labels[i];
    }
    for (size_t i = 0; i < s->depth; i++) d->stack[i] = RARRAY_AREF(d->frames, s->frames[i]);
    VALUE parts[] = {rb_ary_new_from_values((long)s->depth, d->stack), LL2NUM(s->values[0]),
                     LL2NUM(seq < 0 || seq > UINT32_MAX ? 0 : seq), set_id_of(d, labels, label_count)};
    rb_ary_push(d->samples, rb_ary_new_from_values(4, parts));
    for (long c = 0; c < RARRAY_LEN(d->columns); c++) rb_ary_push(RARRAY_AREF(d->columns, c), LL2NUM(s->values[c]));
    return Qnil;
}

/* An exception must not skip the release of the decoder. */
static void take_sample(const rpp_pprof_read_sample *sample, void *context)
{
    decoding *d = context;
    adding a = {d, sample};
    if (d->status == RPP_OK && !d->failed) rb_protect(add_sample, (VALUE)&a, &d->failed);
}

static VALUE types_of(decoding *d)
{
    VALUE types = rb_ary_new();
    for (size_t i = 0; i < d->head->type_count; i++) {
        rb_ary_push(types,
                    rb_ary_new_from_args(2, text_of(d, d->head->types[i].type), text_of(d, d->head->types[i].unit)));
        rb_ary_push(d->columns, rb_ary_new());
    }
    return types;
}

static VALUE decode(VALUE argument)
{
    decoding *d = (decoding *)argument;
    VALUE result = rb_hash_new(), comments = rb_ary_new();
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(d->bytes);
    d->status = rpp_pprof_decoder_new(bytes, (size_t)RSTRING_LEN(d->bytes), d->max_memory, &d->decoder);
    if (d->status == RPP_NO_MEMORY) return Qnil;
    check(d->status, "pprof");
    const rpp_pprof_head *head = d->head = rpp_pprof_decoder_head(d->decoder);
    d->stack = rpp_malloc(RPP_PPROF_READ_MAX_DEPTH * sizeof *d->stack);
    if (!d->stack) rb_memerror();
    build_frames(d);
    rb_ary_push(d->label_sets, rb_hash_new());
    rb_rpp_put(result, "types", types_of(d));
    rpp_status status = rpp_pprof_decoder_each_sample(d->decoder, take_sample, d);
    if (d->failed) rb_jump_tag(d->failed);
    if (status == RPP_NO_MEMORY || d->status == RPP_NO_MEMORY) return Qnil;
    check(status, "pprof");
    for (size_t i = 0; i < head->comment_count; i++) rb_ary_push(comments, text_of(d, head->comments[i]));
    rb_rpp_put(result, "samples", d->samples);
    rb_rpp_put(result, "frames", d->frames);
    rb_rpp_put(result, "columns", d->columns);
    rb_rpp_put(result, "label_sets", d->label_sets);
    rb_rpp_put(result, "comments", comments);
    rb_rpp_put(result, "lines", d->lines);
    rb_rpp_put(result, "unique_frames", LONG2NUM(RARRAY_LEN(d->frames)));
    rb_rpp_put(result, "default_type", head->default_type ? text_of(d, head->default_type) : Qnil);
    rb_rpp_put(result, "time_ns", LL2NUM(head->time_ns));
    rb_rpp_put(result, "duration_ns", LL2NUM(head->duration_ns));
    rb_rpp_put(result, "period", LL2NUM(head->period));
    return result;
}

/* Decodes uncompressed bytes; the samples' weights are the first column. Raises ArgumentError if they are no pprof.
 * Returns nil if the result would take more than max_memory bytes; max_memory nil: any number. */
static VALUE native_decode_pprof(VALUE self, VALUE bytes, VALUE max_memory)
{
    decoding d = {.bytes = rb_str_new_frozen(of_type(bytes, T_STRING)),
                  .max_memory = NIL_P(max_memory) ? SIZE_MAX : NUM2SIZET(max_memory),
                  .texts = rb_ary_new(),
                  .frames = rb_ary_new(),
                  .samples = rb_ary_new(),
                  .columns = rb_ary_new(),
                  .label_sets = rb_ary_new(),
                  .set_ids = rb_hash_new()};
    VALUE result = rb_ensure(decode, (VALUE)&d, end_decoding, (VALUE)&d);
    RB_GC_GUARD(d.bytes);
    return result;
}

void rb_rpp_pprof_init(VALUE native)
{
    rb_define_singleton_method(native, "encode_pprof", native_encode_pprof, 1);
    rb_define_singleton_method(native, "decode_pprof", native_decode_pprof, 2);
}
