/* rb_recorded_hash.c - a recording as the data Hash of the API: frames, weights, threads and label sets as Ruby
 * objects. */
#include "recordings/rb_recorded_hash.h"

#include <string.h>

#include "captures/rb_labels.h"
#include "core/profile/value_columns.h"
#include "vm/rb_values.h"

typedef struct builder {
    const rb_rpp_shape *shape;
    const rpp_recorded *recorded;
    VALUE hash;
    VALUE frames;     /* location -> [path, label] */
    VALUE label_sets; /* the result */
    VALUE set_ids;    /* label set and state -> index in label_sets */
    VALUE seqs;       /* thread_seq of the process -> of this session */
    rpp_column columns[RPP_COLUMNS_MAX];
    size_t column_count;
} builder;

static VALUE frame_of(const builder *b, rpp_location location)
{
    const rpp_frame_name *name = rpp_frame_names_get(b->recorded->names, location.frame);
    bool is_c = name && !name->path_length && location.frame >= RPP_FRAME_FIRST;
    VALUE path = is_c ? rb_utf8_str_new_cstr("<C method>")
                      : rb_utf8_str_new(name ? name->path : "", name ? name->path_length : 0);
    VALUE label = name ? rb_utf8_str_new(name->name, name->name_length) : rb_utf8_str_new_cstr("[unknown]");
    VALUE pair[] = {path, label, UINT2NUM(location.line)};
    return rb_ary_new_from_values(b->shape->lines ? 3 : 2, pair);
}

/* A state becomes a label. */
static void add_state(VALUE labels, uint8_t state)
{
    const rpp_state_name *named = &rpp_state_names[state];
    if (named->key) rb_rpp_put(labels, named->key, rb_utf8_str_new_cstr(named->value));
}

static VALUE set_id_of(const builder *b, const rpp_row *row)
{
    VALUE key = ULL2NUM((uint64_t)row->labels << 8 | row->state), known = rb_hash_aref(b->set_ids, key);
    if (!NIL_P(known)) return known;
    const rpp_label_set *set = rpp_label_sets_get(rpp_profile_label_sets(b->recorded->profile), row->labels);
    VALUE labels = rb_rpp_labels_hash(set);
    add_state(labels, row->state);
    VALUE id = LONG2NUM(RARRAY_LEN(b->label_sets));
    rb_ary_push(b->label_sets, labels);
    rb_hash_aset(b->set_ids, key, id);
    return id;
}

static VALUE seq_of(const builder *b, uint32_t thread_seq)
{
    if (!thread_seq) return INT2FIX(0); /* no particular thread */
    VALUE key = UINT2NUM(thread_seq), known = rb_hash_aref(b->seqs, key);
    if (!NIL_P(known)) return known;
    VALUE seq = SIZET2NUM(RHASH_SIZE(b->seqs) + 1);
    rb_hash_aset(b->seqs, key, seq);
    return seq;
}

static VALUE stack_of(const builder *b, uint32_t stack)
{
    uint32_t depth;
    const uint32_t *locations = rpp_stack_table_get(rpp_profile_stacks(b->recorded->profile), stack, &depth);
    VALUE frames = rb_ary_new_capa(depth);
    for (uint32_t i = 0; i < depth; i++) rb_ary_push(frames, RARRAY_AREF(b->frames, locations[i]));
    return frames;
}

/* Squares may be more than any integer of C has room for. */
static VALUE number_of(const rpp_column *column, const rpp_row *row)
{
    if (column->kind == RPP_COLUMN_SQUARES) return rb_dbl2big(rpp_column_squares_at(column, row));
    return ULL2NUM(rpp_column_at(column, row));
}

static bool has_any(const builder *b, const rpp_row *row)
{
    uint64_t any = 0;
    for (size_t c = 0; c < b->column_count; c++) {
        if (b->columns[c].kind == RPP_COLUMN_VALUE) any |= rpp_column_at(&b->columns[c], row);
    }
    return any;
}

/* The first value is the weight, each other one a column of its own. */
static void add_rows(const builder *b, VALUE samples, VALUE columns)
{
    const rpp_row *rows = rpp_profile_rows(b->recorded->profile);
    for (size_t i = 0; i < rpp_profile_row_count(b->recorded->profile); i++) {
        if (!has_any(b, &rows[i])) continue;
        VALUE sample[] = {stack_of(b, rows[i].stack), number_of(&b->columns[0], &rows[i]),
                          seq_of(b, rows[i].thread_seq), set_id_of(b, &rows[i])};
        rb_ary_push(samples, rb_ary_new_from_values(4, sample));
        for (size_t c = 1; c < b->column_count; c++) {
            rb_ary_push(RARRAY_AREF(columns, (long)c - 1), number_of(&b->columns[c], &rows[i]));
        }
    }
}

/* type => its column, of all values but the first; the columns are in `columns`, too. */
static VALUE columns_by_type(const builder *b, VALUE columns)
{
    VALUE values = rb_hash_new();
    for (size_t c = 1; c < b->column_count; c++) {
        VALUE column = rb_ary_new();
        rb_ary_push(columns, column);
        rb_rpp_put(values, b->columns[c].type, column);
    }
    return values;
}

/* type => unit, of values that are not nanoseconds. */
static VALUE units(const builder *b)
{
    VALUE units = rb_hash_new();
    for (size_t c = 0; c < b->column_count; c++) {
        if (b->columns[c].kind != RPP_COLUMN_VALUE || !strcmp(b->columns[c].unit, "nanoseconds")) continue;
        rb_rpp_put(units, b->columns[c].type, rb_utf8_str_new_cstr(b->columns[c].unit));
    }
    return units;
}

/* What weighs is called like the value that the program counts, where nothing else is measured. */
static void name_weight(const builder *b)
{
    if (!b->column_count || !b->columns[0].custom_id) return;
    rb_rpp_put(b->hash, "mode", ID2SYM(rb_intern(b->columns[0].type)));
}

static VALUE build(VALUE argument)
{
    builder *b = (builder *)argument;
    const rpp_stack_table *stacks = rpp_profile_stacks(b->recorded->profile);
    b->column_count =
        rpp_columns_of(b->recorded->profile, b->shape->mode | RPP_MODE_CUSTOM | RPP_MODE_PRECISION, b->columns);
    VALUE samples = rb_ary_new(), columns = rb_ary_new(), values = columns_by_type(b, columns), in = units(b);
    for (uint32_t i = 0; i < rpp_stack_table_location_count(stacks); i++) {
        rb_ary_push(b->frames, frame_of(b, rpp_stack_table_location(stacks, i)));
    }
    rb_ary_push(b->label_sets, rb_hash_new());
    rb_hash_aset(b->set_ids, INT2FIX(RPP_STATE_RUNNING), INT2FIX(0));
    add_rows(b, samples, columns);
    rb_rpp_put(b->hash, "sampling_count", ULL2NUM(b->recorded->captures));
    rb_rpp_put(b->hash, "detected_thread_count", SIZET2NUM(RHASH_SIZE(b->seqs)));
    rb_rpp_put(b->hash, "unique_frames", UINT2NUM(rpp_stack_table_location_count(stacks)));
    rb_rpp_put(b->hash, "unique_stacks", UINT2NUM(rpp_stack_table_count(stacks)));
    rb_rpp_put(b->hash, b->shape->separate ? "raw_samples" : "aggregated_samples", samples);
    rb_rpp_put(b->hash, "label_sets", b->label_sets);
    if (RHASH_SIZE(values)) rb_rpp_put(b->hash, "values", values);
    if (RHASH_SIZE(in)) rb_rpp_put(b->hash, "units", in);
    name_weight(b);
    RB_GC_GUARD(columns);
    return Qnil;
}

typedef struct reading {
    builder *builder;
    uint64_t changes;
    int failed;
} reading;

static void read_recorded(const rpp_recorded *recorded, void *context)
{
    reading *r = context;
    r->builder->recorded = recorded;
    r->changes = recorded->changes;
    rb_protect(build, (VALUE)r->builder, &r->failed); /* the recording's lock must be released */
}

uint64_t rb_rpp_recorded_into(VALUE hash, rpp_recording *recording, const rb_rpp_shape *shape)
{
    VALUE kept = rb_ary_new_from_args(4, rb_ary_new(), rb_ary_new(), rb_hash_new(), rb_hash_new());
    builder b = {.shape = shape,
                 .hash = hash,
                 .frames = RARRAY_AREF(kept, 0),
                 .label_sets = RARRAY_AREF(kept, 1),
                 .set_ids = RARRAY_AREF(kept, 2),
                 .seqs = RARRAY_AREF(kept, 3)};
    reading r = {.builder = &b};
    rpp_recording_read(recording, read_recorded, &r);
    RB_GC_GUARD(kept);
    if (r.failed) rb_jump_tag(r.failed);
    return r.changes;
}
