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
