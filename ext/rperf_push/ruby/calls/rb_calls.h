/* rb_calls.h - traces every call: the VM's events become a call tree (core/calls).
 *
 * Operation
 *   The hook (rb_call_hook.h) builds the tree. Names are found at the end.
 *   All code and classes in the tree are marked, and thereby pinned, from the first visit until the tracing ends.
 *
 * Threads    under the GVL.
 * Ownership  a tracing is a Ruby object; the process has at most one that runs.
 */
#ifndef RB_CALLS_H
#define RB_CALLS_H

#include "calls/rb_call_hook.h"
#include "sampler/rb_fork_and_exit.h"

/* A forked child is not traced. */
extern const rb_rpp_participant rb_rpp_calls_participant;

/* Raises if it is no tracing. */
rb_rpp_tracing *rb_rpp_tracing_of(VALUE object);

/* Defines the methods of Native for lib/rperf_push/calls/call_trace.rb. */
void rb_rpp_calls_init(VALUE native);

#endif
