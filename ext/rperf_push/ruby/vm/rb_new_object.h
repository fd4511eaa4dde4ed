/* rb_new_object.h - what can be read of an object in the moment of its creation, when it is not complete yet.
 *
 * Threads    the thread that creates it, in the VM's hook. No allocation.
 * Ownership  objects are borrowed from the VM.
 */
#ifndef RB_NEW_OBJECT_H
#define RB_NEW_OBJECT_H

#include "vm/rb_compat.h"

/* Its bytes on Ruby's heap. libruby exports it, but no public header declares it. */
size_t rb_gc_obj_slot_size(VALUE object);

/* The class of complete and hidden objects alike; 0: the VM's own, which have none. */
static inline VALUE rb_rpp_class_of_new(VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
    case RUBY_T_IMEMO:
    case RUBY_T_NODE:
    case RUBY_T_ICLASS:
    case RUBY_T_NONE:
    case RUBY_T_ZOMBIE: return 0;
    default: return RBASIC(object)->klass ? rb_class_real(RBASIC(object)->klass) : 0;
    }
}

#endif
