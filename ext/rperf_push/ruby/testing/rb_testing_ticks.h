/* rb_testing_ticks.h - the testing build's count of ticks by method: taken at their instants, deferred, deferred too
 * long.
 *
 * A deferred tick is taken at the stack of a later moment, so a method in which ticks are deferred gives time to the
 * code after it.
 *
 * Native.ticks_by_method   { method => [ticks, deferred, late] }: of all ticks that drew, how many were taken at the
 *                          end of a section, at a job's end or at a safepoint, and how many of these more than 5 us
 *                          after their instant. The method is the one at which they were taken.
 *
 * Threads    the thread that holds the GVL, also in handlers; nothing here allocates, except the method.
 * Ownership  the process has one count; it names frames by the frame table, which may have dropped them.
 */
#ifndef RB_TESTING_TICKS_H
#define RB_TESTING_TICKS_H

#include "vm/rb_compat.h"

#ifdef RPP_TESTING

void rb_rpp_testing_ticks_init(VALUE native);

#endif

#endif
