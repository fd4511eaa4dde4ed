/* rb_sums.c - sums over the samples of data Hashes: several as one, functions and calls. */
#include "data/rb_sums.h"

#include "core/base/alloc.h"
#include "core/base/hash_index.h"
#include "data/rb_numbering.h"
#include "data/rb_stacks.h"
#include "vm/rb_values.h"

/* --- merging --- */

typedef struct sum_key {
    uint32_t stack, labels, seq;
} sum_key;

/* Sums of squares may be more than an integer has room for. */
typedef union sum_number {
    int64_t integer;
    double squares;
} sum_number;

typedef struct summing {
    VALUE inputs, stacks; /* stack -> its frames */
    long column_count, integer_count;
    rb_rpp_numbering numbering;
    rb_rpp_stacks ids; /* of stacks */
    sum_key *keys;
    sum_number *numbers; /* column_count for each key */
    size_t key_count, key_capacity, number_capacity;
    rpp_hash_index by_key;
} summing;

static VALUE end_summing(VALUE argument)
{
    summing *s = (summing *)argument;
    rb_rpp_numbering_destroy(&s->numbering);
    rb_rpp_stacks_destroy(&s->ids);
    rpp_free(s->keys);
    rpp_free(s->numbers);
    rpp_hash_index_destroy(&s->by_key);
    return Qnil;
}

static uint32_t number_of(void *numbering, VALUE frame)
{
    return rb_rpp_number_of(numbering, frame);
}

static uint32_t stack_id_of(summing *s, VALUE frames)
{
    uint32_t id = rb_rpp_stack_id_of(&s->ids, frames);
    if (id >= (uint32_t)RARRAY_LEN(s->stacks)) rb_ary_push(s->stacks, frames);
    return id;
}

static bool is_key(const void *table, uint32_t id, const void *wanted)
{
    const sum_key *known = &((const sum_key *)table)[id], *key = wanted;
    return known->stack == key->stack && known->labels == key->labels && known->seq == key->seq;
}

static sum_number *numbers_of(summing *s, sum_key key)
{
    uint32_t hash = rpp_hash_words((uint64_t)key.stack << 32 | key.labels, key.seq);
    uint32_t known = rpp_hash_index_find(&s->by_key, hash, is_key, s->keys, &key);
    size_t columns = (size_t)s->column_count;
    if (known == RPP_INDEX_NONE) {
        rb_rpp_check(rpp_grow((void **)&s->keys, &s->key_capacity, s->key_count + 1, sizeof *s->keys), rb_eArgError);
        rb_rpp_check(
            rpp_grow((void **)&s->numbers, &s->number_capacity, (s->key_count + 1) * columns, sizeof *s->numbers),
            rb_eArgError);
        rb_rpp_check(rpp_hash_index_reserve(&s->by_key, 1), rb_eArgError);
        known = (uint32_t)s->key_count++;
        s->keys[known] = key;
        memset(s->numbers + known * columns, 0, columns * sizeof *s->numbers);
        rpp_hash_index_add(&s->by_key, hash, known);
    }
    return s->numbers + known * columns;
}

/* The mapped number; without a map, the number itself. */
static uint32_t mapped(VALUE map, uint32_t number)
{
    if (NIL_P(map)) return number;
    VALUE to = rb_ary_entry(map, number);
    if (NIL_P(to)) rb_raise(rb_eArgError, "no label set or thread %u", number);
    return NUM2UINT(to);
}

static void add_number(sum_number *sum, VALUE number, bool is_of_squares)
{
    if (is_of_squares) {
        sum->squares += NUM2DBL(number);
    } else {
        sum->integer = (int64_t)((uint64_t)sum->integer + (uint64_t)NUM2LL(number)); /* which cannot overflow */
    }
}

static void add_input(summing *s, VALUE input)
{
    VALUE samples = rb_rpp_array(rb_ary_entry(input, 0)), columns = rb_rpp_array(rb_ary_entry(input, 1));
    VALUE label_map = rb_ary_entry(input, 2), seq_map = rb_ary_entry(input, 3);
    if (RARRAY_LEN(columns) != s->column_count) rb_raise(rb_eArgError, "%ld columns", RARRAY_LEN(columns));
    for (long i = 0; i < RARRAY_LEN(samples); i++) {
        rb_rpp_data_sample sample = rb_rpp_data_sample_of(samples, i);
        sum_key key = {stack_id_of(s, sample.frames), mapped(label_map, sample.labels), mapped(seq_map, sample.seq)};
        sum_number *numbers = numbers_of(s, key);
        for (long c = 0; c < s->column_count; c++) {
            VALUE column = RARRAY_AREF(columns, c);
            if (column == Qfalse) continue;
            VALUE number = NIL_P(column) ? sample.weight : rb_ary_entry(column, i);
            if (!NIL_P(number)) add_number(&numbers[c], number, c >= s->integer_count);
        }
    }
}

static VALUE number_at(const summing *s, size_t key, long column)
{
    sum_number number = s->numbers[key * (size_t)s->column_count + (size_t)column];
    return column < s->integer_count ? LL2NUM(number.integer) : rb_dbl2big(number.squares);
}

static VALUE sum(VALUE argument)
{
    summing *s = (summing *)argument;
    rb_rpp_stacks_init(&s->ids, number_of, &s->numbering);
    for (long i = 0; i < RARRAY_LEN(s->inputs); i++) add_input(s, rb_rpp_array(RARRAY_AREF(s->inputs, i)));
    VALUE samples = rb_ary_new_capa((long)s->key_count), columns = rb_ary_new();
    for (long c = 0; c < s->column_count; c++) rb_ary_push(columns, rb_ary_new_capa((long)s->key_count));
    for (size_t i = 0; i < s->key_count; i++) {
        VALUE sample[] = {RARRAY_AREF(s->stacks, s->keys[i].stack), number_at(s, i, 0), UINT2NUM(s->keys[i].seq),
                          UINT2NUM(s->keys[i].labels)};
        rb_ary_push(samples, rb_ary_new_from_values(4, sample));
        for (long c = 0; c < s->column_count; c++) rb_ary_push(RARRAY_AREF(columns, c), number_at(s, i, c));
    }
    return rb_ary_new_from_args(3, samples, columns, LONG2NUM(RARRAY_LEN(s->stacks)));
}

/* inputs: [samples, columns, label_map, seq_map], all with as many columns; a column is an Array, nil: the weights, or
 * false: zeros; a map is an Array, or nil. The last `square_count` columns are sums of squares. Returns [samples,
 * columns, number of stacks]. */
static VALUE native_sum_samples(VALUE self, VALUE inputs, VALUE column_count, VALUE square_count)
{
    summing s = {.inputs = rb_rpp_array(inputs), .stacks = rb_ary_new(), .column_count = NUM2LONG(column_count)};
    s.integer_count = s.column_count - NUM2LONG(square_count);
    if (s.integer_count < 1) rb_raise(rb_eArgError, "no columns");
    rb_rpp_numbering_init(&s.numbering);
    return rb_ensure(sum, (VALUE)&s, end_summing, (VALUE)&s);
}

/* --- functions and calls --- */

typedef struct graphing {
    VALUE samples, column;
    bool detailed;
    rb_rpp_numbering numbering;
    rpp_call_graph *graph;
    rpp_graph_frame *stack;
    size_t stack_capacity;
} graphing;

static VALUE end_graphing(VALUE argument)
{
    graphing *g = (graphing *)argument;
    rb_rpp_numbering_destroy(&g->numbering);
    rpp_call_graph_free(g->graph);
    rpp_free(g->stack);
    return Qnil;
}

static void add_to_graph(graphing *g, long index)
{
    rb_rpp_data_sample sample = rb_rpp_data_sample_of(g->samples, index);
    VALUE number = NIL_P(g->column) ? sample.weight : rb_ary_entry(g->column, index);
    size_t depth = (size_t)RARRAY_LEN(sample.frames);
    rb_rpp_check(rpp_grow((void **)&g->stack, &g->stack_capacity, depth + 1, sizeof *g->stack), rb_eArgError);
    for (size_t i = 0; i < depth; i++) {
        uint32_t id = rb_rpp_number_of(&g->numbering, rb_rpp_frame_at(sample.frames, (long)i));
        g->stack[i] = g->numbering.known[id];
    }
    rb_rpp_check(rpp_call_graph_add(g->graph, g->stack, depth, NIL_P(number) ? 0 : NUM2LL(number)), rb_eArgError);
}

static VALUE graph_to_ruby(const graphing *g)
{
    size_t count;
    VALUE functions = rb_ary_new(), lines = rb_ary_new(), edges = rb_ary_new();
    const rpp_graph_function *f = rpp_call_graph_functions(g->graph, &count);
    for (size_t i = 0; i < count; i++) {
        VALUE pair = RARRAY_AREF(g->numbering.functions, (long)i);
        rb_ary_push(functions, rb_ary_new_from_args(4, RARRAY_AREF(pair, 0), RARRAY_AREF(pair, 1), LL2NUM(f[i].self),
                                                    LL2NUM(f[i].total)));
    }
    const rpp_graph_line *l = rpp_call_graph_lines(g->graph, &count);
    for (size_t i = 0; i < count; i++) {
        rb_ary_push(lines, rb_ary_new_from_args(4, UINT2NUM(l[i].function), UINT2NUM(l[i].line), LL2NUM(l[i].self),
                                                LL2NUM(l[i].total)));
    }
    const rpp_graph_edge *e = rpp_call_graph_edges(g->graph, &count);
    for (size_t i = 0; i < count; i++) {
        rb_ary_push(edges, rb_ary_new_from_args(3, UINT2NUM(e[i].caller), UINT2NUM(e[i].callee), LL2NUM(e[i].total)));
    }
    return rb_ary_new_from_args(3, functions, lines, edges);
}

static VALUE make_graph(VALUE argument)
{
    graphing *g = (graphing *)argument;
    g->graph = rpp_call_graph_new(g->detailed);
    if (!g->graph) rb_memerror();
    for (long i = 0; i < RARRAY_LEN(g->samples); i++) add_to_graph(g, i);
    return graph_to_ruby(g);
}

/* The samples by the values of the column (nil: their weights): [[path, label, self, total], ...], and when `detailed`
 * [[function, line, self, total], ...] and [[caller, callee, total], ...], which refer to functions by their place. */
static VALUE native_call_graph(VALUE self, VALUE samples, VALUE column, VALUE detailed)
{
    graphing g = {.samples = rb_rpp_array(samples), .column = column, .detailed = RTEST(detailed)};
    rb_rpp_numbering_init(&g.numbering);
    return rb_ensure(make_graph, (VALUE)&g, end_graphing, (VALUE)&g);
}

void rb_rpp_sums_init(VALUE native)
{
    rb_define_singleton_method(native, "sum_samples", native_sum_samples, 3);
    rb_define_singleton_method(native, "call_graph", native_call_graph, 3);
}
