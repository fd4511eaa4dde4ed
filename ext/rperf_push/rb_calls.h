/* rb_calls.h - traces every call: the VM's events become a call tree (core/calls).
 *
 * Operation
 *   A hook hears of each call and return, of C methods as well. It reads the clock once, finds the method by the address of its
 *   code, and the place in the tree. Names are found at the end. A stack that is seen for the first time, at the start or when its
 *   thread or fiber runs first, is read from the root up: what is on it already is open.
 *
 * Safety
 *   The hook allocates no Ruby object and does not raise. It calls malloc when a stack is seen for the first time, or is deeper
 *   than before. All code and classes in the tree are marked, and thereby pinned, from the first visit until the tracing ends.
 *   While nothing is traced, there is no hook at all. Only the main Ractor is traced.
 *
 * Threads    under the GVL.
 * Ownership  a tracing is a Ruby object; the process has at most one that runs.
 */
#ifndef RB_CALLS_H
#define RB_CALLS_H

#include "rb_life.h"

/* A forked child is not traced. */
extern const rb_rpp_participant rb_rpp_calls_life;

/* Defines the methods of Native for lib/rperf_push/call_trace.rb. */
void rb_rpp_calls_init(VALUE native);

#endif
