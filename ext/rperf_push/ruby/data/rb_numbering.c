/* rb_numbering.c - gives the frames of data Hashes dense ids. */
#include "data/rb_numbering.h"

#include "core/base/alloc.h"
#include "vm/rb_values.h"

#define ADDRESSES (1u << 16)

void rb_rpp_numbering_init(rb_rpp_numbering *n)
{
    *n = (rb_rpp_numbering){.by_identity = rb_funcall(rb_hash_new(), rb_intern("compare_by_identity"), 0),
                            .by_content = rb_hash_new(),
                            .by_function = rb_hash_new(),
                            .frames = rb_ary_new(),
                            .functions = rb_ary_new()};
}

void rb_rpp_numbering_destroy(rb_rpp_numbering *n)
{
    rpp_free(n->known);
    rpp_free(n->addresses);
    n->known = NULL;
    n->addresses = NULL;
}

static void check_frame(VALUE frame)
{
    if (RB_TYPE_P(frame, T_ARRAY) && (RARRAY_LEN(frame) == 2 || RARRAY_LEN(frame) == 3) &&
        RB_TYPE_P(RARRAY_AREF(frame, 0), T_STRING) && RB_TYPE_P(RARRAY_AREF(frame, 1), T_STRING) &&
        (RARRAY_LEN(frame) == 2 || FIXNUM_P(RARRAY_AREF(frame, 2)))) {
        return;
    }
    rb_raise(rb_eArgError, "a frame must be [path, label] or [path, label, line], got %" PRIsVALUE, rb_inspect(frame));
}

static uint32_t function_of(const rb_rpp_numbering *n, VALUE frame)
{
    VALUE key = frame;
    if (RARRAY_LEN(frame) != 2) key = rb_ary_new_from_args(2, RARRAY_AREF(frame, 0), RARRAY_AREF(frame, 1));
    return rb_rpp_place_of(key, n->functions, n->by_function);
}

static uint32_t add_frame(rb_rpp_numbering *n, VALUE frame)
{
    long line = RARRAY_LEN(frame) == 3 ? FIX2LONG(RARRAY_AREF(frame, 2)) : 0;
    if (rpp_grow((void **)&n->known, &n->capacity, n->count + 1, sizeof *n->known) != RPP_OK) rb_memerror();
    n->known[n->count] = (rpp_graph_frame){function_of(n, frame), line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0};
    rb_ary_push(n->frames, frame);
    rb_hash_aset(n->by_content, frame, SIZET2NUM(n->count));
    return (uint32_t)n->count++;
}

static uint32_t look_up(rb_rpp_numbering *n, VALUE frame)
{
    VALUE known = rb_hash_lookup2(n->by_identity, frame, Qnil);
    if (!NIL_P(known)) return (uint32_t)FIX2ULONG(known);
    check_frame(frame);
    known = rb_hash_lookup2(n->by_content, frame, Qnil);
    uint32_t id = NIL_P(known) ? add_frame(n, frame) : (uint32_t)FIX2ULONG(known);
    rb_hash_aset(n->by_identity, frame, UINT2NUM(id));
    return id;
}

static void discard_moved_addresses(rb_rpp_numbering *n)
{
    if (n->addresses && n->gc_count == rb_gc_count()) return;
    if (!n->addresses) n->addresses = rpp_malloc(ADDRESSES * sizeof *n->addresses);
    if (!n->addresses) rb_memerror();
    memset(n->addresses, 0, ADDRESSES * sizeof *n->addresses);
    n->gc_count = rb_gc_count();
}

uint32_t rb_rpp_number_of(rb_rpp_numbering *n, VALUE frame)
{
    discard_moved_addresses(n);
    rb_rpp_known_address *at = &n->addresses[((uint64_t)frame >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 48];
    if (at->frame == frame) return at->id;
    uint32_t id = look_up(n, frame);
    discard_moved_addresses(n);
    *at = (rb_rpp_known_address){frame, id};
    return id;
}

rb_rpp_data_sample rb_rpp_data_sample_of(VALUE samples, long index)
{
    VALUE sample = rb_ary_entry(samples, index);
    if (!RB_TYPE_P(sample, T_ARRAY) || RARRAY_LEN(sample) < 2 || !RB_TYPE_P(RARRAY_AREF(sample, 0), T_ARRAY) ||
        !RB_INTEGER_TYPE_P(RARRAY_AREF(sample, 1))) {
        rb_raise(rb_eArgError, "sample %ld must be [frames, weight, thread_seq, label_set_id]", index);
    }
    VALUE seq = rb_ary_entry(sample, 2), labels = rb_ary_entry(sample, 3);
    return (rb_rpp_data_sample){.frames = RARRAY_AREF(sample, 0),
                                .weight = RARRAY_AREF(sample, 1),
                                .seq = NIL_P(seq) ? 0 : NUM2UINT(seq),
                                .labels = NIL_P(labels) ? 0 : NUM2UINT(labels)};
}
