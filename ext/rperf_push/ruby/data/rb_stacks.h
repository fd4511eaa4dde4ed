/* rb_stacks.h - gives the stacks of data Hashes dense ids: equal stacks have the same one.
 *
 * Threads    under the GVL.
 * Ownership  the caller destroys it, also after an exception.
 */
#ifndef RB_STACKS_H
#define RB_STACKS_H

#include "vm/rb_compat.h"

#include "core/sampling/stack_table.h"

/* The number of a frame; frames with the same number are equal. May raise. */
typedef uint32_t rb_rpp_frame_number(void *context, VALUE frame);

typedef struct rb_rpp_stacks {
    rpp_stack_table *table; /* its frames are numbers, leaf first; no lines */
    rpp_location *stack;
    size_t capacity;
    rb_rpp_frame_number *number_of;
    void *context;
} rb_rpp_stacks;

/* Raises NoMemoryError. */
void rb_rpp_stacks_init(rb_rpp_stacks *stacks, rb_rpp_frame_number *number_of, void *context);
/* A struct of all zeros may be destroyed. */
void rb_rpp_stacks_destroy(rb_rpp_stacks *stacks);
/* The id of the stack with these frames, leaf first. Raises what `number_of` does. */
uint32_t rb_rpp_stack_id_of(rb_rpp_stacks *stacks, VALUE frames);

#endif
