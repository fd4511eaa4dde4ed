/* rb_stacks.c - gives the stacks of data Hashes dense ids. */
#include "data/rb_stacks.h"

#include "core/base/alloc.h"
#include "data/rb_numbering.h"
#include "vm/rb_values.h"

void rb_rpp_stacks_init(rb_rpp_stacks *s, rb_rpp_frame_number *number_of, void *context)
{
    static const rpp_stack_limits none = {UINT32_MAX, UINT32_MAX, UINT64_MAX};
    *s = (rb_rpp_stacks){.table = rpp_stack_table_new(&none), .number_of = number_of, .context = context};
    if (!s->table) rb_memerror();
}

void rb_rpp_stacks_destroy(rb_rpp_stacks *s)
{
    rpp_stack_table_free(s->table);
    rpp_free(s->stack);
}

uint32_t rb_rpp_stack_id_of(rb_rpp_stacks *s, VALUE frames)
{
    size_t depth = (size_t)RARRAY_LEN(frames);
    uint32_t id;
    rb_rpp_check(rpp_grow((void **)&s->stack, &s->capacity, depth + 1, sizeof *s->stack), rb_eArgError);
    for (size_t i = 0; i < depth; i++) {
        s->stack[i] = (rpp_location){s->number_of(s->context, rb_rpp_frame_at(frames, (long)i)), 0};
    }
    rb_rpp_check(rpp_stack_table_intern(s->table, s->stack, (uint32_t)depth, &id), rb_eArgError);
    return id;
}
