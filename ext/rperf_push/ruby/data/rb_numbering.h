/* rb_numbering.h - gives the frames of data Hashes, [path, label] or [path, label, line], dense ids.
 *
 * The frames of one Hash are mostly the same few objects, so each object is examined once and then found by identity:
 * first in a small cache of addresses, which is valid until the GC may move objects, then in a Hash.
 *
 * Threads    under the GVL.
 * Ownership  the struct must be on the machine stack, where the GC finds its objects.
 */
#ifndef RB_NUMBERING_H
#define RB_NUMBERING_H

#include "vm/rb_compat.h"

#include "core/profile/call_graph.h"

typedef struct rb_rpp_known_address {
    VALUE frame; /* 0: empty */
    uint32_t id;
} rb_rpp_known_address;

typedef struct rb_rpp_numbering {
    VALUE by_identity, by_content, by_function;
    VALUE frames, functions; /* id -> frame; id -> [path, label] */
    rpp_graph_frame *known;  /* id -> function and line */
    size_t count, capacity;
    rb_rpp_known_address *addresses; /* by a hash of the address */
    size_t gc_count;                 /* the GC count for which they are valid */
} rb_rpp_numbering;

void rb_rpp_numbering_init(rb_rpp_numbering *numbering);
void rb_rpp_numbering_destroy(rb_rpp_numbering *numbering);
/* Raises ArgumentError if it is not a frame. */
uint32_t rb_rpp_number_of(rb_rpp_numbering *numbering, VALUE frame);

/* A sample of a data Hash, [frames, weight, thread_seq, label_set_id]. Reading raises ArgumentError if it is not
 * one. */
typedef struct rb_rpp_data_sample {
    VALUE frames, weight;
    uint32_t seq, labels;
} rb_rpp_data_sample;

rb_rpp_data_sample rb_rpp_data_sample_of(VALUE samples, long index);

/* Like rb_ary_entry, but inline: nil if other code has shortened the stack meanwhile. */
static inline VALUE rb_rpp_frame_at(VALUE frames, long index)
{
    return index < RARRAY_LEN(frames) ? RARRAY_AREF(frames, index) : Qnil;
}

#endif
