/* rb_sample_text.c - samples of data Hashes as text: JSON with frames as numbers, and collapsed stacks. */
#include "data/rb_sample_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "data/rb_numbering.h"
#include "data/rb_stacks.h"
#include "vm/rb_values.h"

/* --- frames as numbers --- */

typedef struct numbering_text {
    VALUE lists;
    rb_rpp_numbering numbering;
    char *text;
    size_t length, capacity;
} numbering_text;

#define MAX_NUMBER 24 /* characters of one, and what stands around it */

static void put_number(numbering_text *t, char before, int64_t number)
{
    char digits[MAX_NUMBER], *end = digits + sizeof digits, *at = end;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0) *--at = '-';
    t->text[t->length++] = before;
    memcpy(t->text + t->length, at, (size_t)(end - at));
    t->length += (size_t)(end - at);
}

static void put_sample(numbering_text *t, VALUE samples, long index)
{
    rb_rpp_data_sample sample = rb_rpp_data_sample_of(samples, index);
    long depth = RARRAY_LEN(sample.frames);
    rb_rpp_check(rpp_grow((void **)&t->text, &t->capacity, t->length + ((size_t)depth + 8) * MAX_NUMBER, 1),
                 rb_eArgError);
    if (index) t->text[t->length++] = ',';
    memcpy(t->text + t->length, "[[", 2);
    t->length += 2;
    for (long i = 0; i < depth; i++) {
        put_number(t, i ? ',' : ' ', rb_rpp_number_of(&t->numbering, rb_rpp_frame_at(sample.frames, i)));
    }
    t->text[t->length++] = ']';
    put_number(t, ',', NUM2LL(sample.weight));
    put_number(t, ',', sample.seq);
    put_number(t, ',', sample.labels);
    t->text[t->length++] = ']';
}

static VALUE text_of_list(numbering_text *t, VALUE samples)
{
    t->length = 0;
    for (long i = 0; i < RARRAY_LEN(samples); i++) put_sample(t, samples, i);
    VALUE text = rb_utf8_str_new_cstr("[");
    rb_str_cat(text, t->text, (long)t->length);
    return rb_str_cat_cstr(text, "]");
}

static VALUE text_of_lists(VALUE argument)
{
    numbering_text *t = (numbering_text *)argument;
    VALUE texts = rb_ary_new();
    for (long i = 0; i < RARRAY_LEN(t->lists); i++)
        rb_ary_push(texts, text_of_list(t, rb_rpp_array(RARRAY_AREF(t->lists, i))));
    return rb_ary_new_from_args(2, t->numbering.frames, texts);
}

static VALUE end_text(VALUE argument)
{
    numbering_text *t = (numbering_text *)argument;
    rb_rpp_numbering_destroy(&t->numbering);
    rpp_free(t->text);
    return Qnil;
}

/* Lists of samples as JSON, whose frames are places in one list: [frames, texts]. */
static VALUE native_samples_json(VALUE self, VALUE lists)
{
    numbering_text t = {.lists = rb_rpp_array(lists)};
    rb_rpp_numbering_init(&t.numbering);
    return rb_ensure(text_of_lists, (VALUE)&t, end_text, (VALUE)&t);
}

/* --- stacks as lines --- */

typedef struct stacking {
    VALUE samples, names, ids; /* what stands for a frame in a line; name -> its place in names */
    rb_rpp_numbering numbering;
    uint32_t *name_ids; /* by the frame's number */
    size_t name_id_count, name_id_capacity;
    rb_rpp_stacks stacks; /* of names */
    int64_t *sums;        /* by stack */
    size_t sum_capacity;
} stacking;

/* Replaces the separators of the format. */
static VALUE clean(VALUE label)
{
    VALUE name = rb_str_dup(label);
    rb_str_modify(name);
    for (char *at = RSTRING_PTR(name), *end = RSTRING_END(name); at < end; at++) {
        if (*at == ';') *at = ':';
        if (*at == '\n') *at = ' ';
    }
    return rb_str_freeze(name);
}

static uint32_t add_name(stacking *s, VALUE frame)
{
    return rb_rpp_place_of(clean(RARRAY_AREF(frame, 1)), s->names, s->ids);
}

static uint32_t name_id_of(void *context, VALUE frame)
{
    stacking *s = context;
    uint32_t number = rb_rpp_number_of(&s->numbering, frame);
    rb_rpp_check(rpp_grow((void **)&s->name_ids, &s->name_id_capacity, number + 1, sizeof *s->name_ids), rb_eArgError);
    while (s->name_id_count <= number) {
        s->name_ids[s->name_id_count] = add_name(s, RARRAY_AREF(s->numbering.frames, (long)s->name_id_count));
        s->name_id_count++;
    }
    return s->name_ids[number];
}

static void add_stack(stacking *s, long index)
{
    rb_rpp_data_sample sample = rb_rpp_data_sample_of(s->samples, index);
    uint32_t before = rpp_stack_table_count(s->stacks.table), id = rb_rpp_stack_id_of(&s->stacks, sample.frames);
    rb_rpp_check(rpp_grow((void **)&s->sums, &s->sum_capacity, id + 1, sizeof *s->sums), rb_eArgError);
    if (id >= before) s->sums[id] = 0;
    s->sums[id] = (int64_t)((uint64_t)s->sums[id] + (uint64_t)NUM2LL(sample.weight));
}

/* Writes "root;...;leaf" and returns its length; text NULL: only the length. */
static size_t put_stack(const stacking *s, uint32_t id, char *text)
{
    uint32_t depth;
    size_t length = 0;
    const uint32_t *locations = rpp_stack_table_get(s->stacks.table, id, &depth);
    for (uint32_t left = depth; left > 0; left--) {
        VALUE name = RARRAY_AREF(s->names, rpp_stack_table_location(s->stacks.table, locations[left - 1]).frame);
        size_t bytes = (size_t)RSTRING_LEN(name);
        if (text && left < depth) text[length] = ';';
        if (left < depth) length++;
        if (text) memcpy(text + length, RSTRING_PTR(name), bytes);
        length += bytes;
    }
    return length;
}

static VALUE lines_of(const stacking *s)
{
    uint32_t count = rpp_stack_table_count(s->stacks.table);
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++) length += put_stack(s, i, NULL) + MAX_NUMBER;
    VALUE text = rb_utf8_str_new(NULL, (long)length);
    char *at = RSTRING_PTR(text);
    for (uint32_t i = 0; i < count; i++) {
        at += put_stack(s, i, at);
        at += snprintf(at, MAX_NUMBER, " %" PRId64 "\n", s->sums[i]);
    }
    rb_str_set_len(text, at - RSTRING_PTR(text));
    return text;
}

static VALUE make_lines(VALUE argument)
{
    stacking *s = (stacking *)argument;
    rb_rpp_stacks_init(&s->stacks, name_id_of, s);
    for (long i = 0; i < RARRAY_LEN(s->samples); i++) add_stack(s, i);
    return lines_of(s);
}

static VALUE end_stacking(VALUE argument)
{
    stacking *s = (stacking *)argument;
    rb_rpp_numbering_destroy(&s->numbering);
    rb_rpp_stacks_destroy(&s->stacks);
    rpp_free(s->name_ids);
    rpp_free(s->sums);
    return Qnil;
}

/* "root;...;leaf weight", a line for each stack. Stacks that differ only in labels, threads or lines are one. */
static VALUE native_collapsed(VALUE self, VALUE samples)
{
    stacking s = {.samples = rb_rpp_array(samples), .names = rb_ary_new(), .ids = rb_hash_new()};
    rb_rpp_numbering_init(&s.numbering);
    VALUE text = rb_ensure(make_lines, (VALUE)&s, end_stacking, (VALUE)&s);
    RB_GC_GUARD(samples);
    return text;
}

void rb_rpp_sample_text_init(VALUE native)
{
    rb_define_singleton_method(native, "samples_json", native_samples_json, 1);
    rb_define_singleton_method(native, "collapsed", native_collapsed, 1);
}
