/* rb_compat.h - what differs at compile time between Ruby versions and systems.
 *
 * Put version tests here only. Offsets in the VM's memory are in rb_vm_layout.c.
 *
 * Threads    any thread: macros and constants only.
 * Ownership  nothing to own.
 */
#ifndef RB_COMPAT_H
#define RB_COMPAT_H

#include "extconf.h"

#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <ruby/version.h>
#include <stdbool.h>
#include <stdio.h>

#if !defined(HAVE_RB_POSTPONED_JOB_PREREGISTER) || !defined(HAVE_RB_PROFILE_THREAD_FRAMES) ||                          \
    !defined(HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE)
#error "rperf-push needs Ruby 3.3.1 or newer"
#endif

/* CPU-clock timers that signal one thread: Linux only. */
#if defined(__linux__) && defined(HAVE_TIMER_CREATE)
#define RB_RPP_HAVE_THREAD_TIMERS 1
#else
#define RB_RPP_HAVE_THREAD_TIMERS 0
#endif

/* What the VM says of an object when marking has ended: 3.3 and 3.4 list flags, 4.0 lists pairs. */
#define RB_RPP_MARKED        1u
#define RB_RPP_UNCOLLECTIBLE 2u /* no minor GC frees it */
#if defined(HAVE_RB_GC_OBJECT_METADATA)
#define RB_RPP_TELLS_MARKS 1
struct rb_gc_object_metadata_entry {
    ID name;
    VALUE val;
};
struct rb_gc_object_metadata_entry *rb_gc_object_metadata(VALUE object);

static inline unsigned rb_rpp_marks_of(VALUE object, ID marked, ID uncollectible)
{
    unsigned marks = 0;
    for (const struct rb_gc_object_metadata_entry *e = rb_gc_object_metadata(object); e->name; e++) {
        marks |= e->name == marked ? RB_RPP_MARKED : e->name == uncollectible ? RB_RPP_UNCOLLECTIBLE : 0;
    }
    return marks;
}
#elif defined(HAVE_RB_OBJ_GC_FLAGS)
#define RB_RPP_TELLS_MARKS 1
size_t rb_obj_gc_flags(VALUE object, ID *flags, size_t max);

static inline unsigned rb_rpp_marks_of(VALUE object, ID marked, ID uncollectible)
{
    ID flags[16];
    unsigned marks = 0;
    for (size_t i = rb_obj_gc_flags(object, flags, sizeof flags / sizeof *flags); i > 0; i--) {
        marks |= flags[i - 1] == marked ? RB_RPP_MARKED : flags[i - 1] == uncollectible ? RB_RPP_UNCOLLECTIBLE : 0;
    }
    return marks;
}
#else
#define RB_RPP_TELLS_MARKS 0
static inline unsigned rb_rpp_marks_of(VALUE object, ID marked, ID uncollectible)
{
    return 0;
}
#endif

/* The full version, such as "3.4.5"; headers have only the API version. */
extern const char ruby_version[];

/* Engine signal needs Ruby 3.3.4. */
static inline bool rb_rpp_is_too_old_for_signals(void)
{
    unsigned major = 0, minor = 0, teeny = 0;
    sscanf(ruby_version, "%u.%u.%u", &major, &minor, &teeny);
    return major * 10000 + minor * 100 + teeny < 30304;
}

#endif
