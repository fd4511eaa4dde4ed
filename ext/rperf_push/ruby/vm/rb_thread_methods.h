/* rb_thread_methods.h - what only Ruby's methods say of threads: the methods as they were when the gem was loaded.
 *
 * A program may redefine Thread.list or Thread#status. Jobs call these functions at any safepoint of the program, and
 * must not run its code there.
 *
 * Threads    under the GVL, in a method or job of the main Ractor: they allocate.
 * Ownership  Ruby owns all values.
 */
#ifndef RB_THREAD_METHODS_H
#define RB_THREAD_METHODS_H

#include "vm/rb_compat.h"

#include <stdbool.h>
#include <sys/types.h>

void rb_rpp_thread_methods_init(void);
/* An Array of all living threads of this Ractor. */
VALUE rb_rpp_thread_list(void);
/* True if Ruby has it as asleep, or in a call that released the GVL. */
bool rb_rpp_thread_is_asleep(VALUE thread);
/* The kernel's id. 0: it is not known, as with RUBY_MN_THREADS. */
pid_t rb_rpp_thread_native_id(VALUE thread);

#endif
