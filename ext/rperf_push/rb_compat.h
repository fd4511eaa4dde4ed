/* rb_compat.h - what differs between Ruby versions and systems. The only place for version tests. */
#ifndef RB_COMPAT_H
#define RB_COMPAT_H

#include "extconf.h"

#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/thread.h>
#include <ruby/version.h>

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

/* "3.4.5": headers know the API version only. */
extern const char ruby_version[];

#endif
