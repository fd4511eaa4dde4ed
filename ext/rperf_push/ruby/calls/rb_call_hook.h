/* rb_call_hook.h - what happens at each call and return while calls are traced: the VM's events become a call tree.
 *
 * Operation
 *   The hook reads the clock once, finds the method by its entry, and the place in the tree. A stack that is seen for
 *   the first time, at the start or when its thread or fiber runs first, is read from the root up: what is on it
 *   already is open.
 *
 * Safety
 *   The hook allocates no Ruby object and does not raise. It calls malloc when a stack is seen for the first time, or
 *   is deeper than before. While nothing is traced, there is no hook at all. Only the main Ractor is traced.
 *
 * Threads    under the GVL.
 * Ownership  the caller owns a tracing; at most one runs.
 */
#ifndef RB_CALL_HOOK_H
#define RB_CALL_HOOK_H

#include "calls/rb_call_frames.h"

#include "core/base/hash_index.h"
#include "core/calls/call_changes.h"
#include "core/calls/call_objects.h"
#include "core/calls/call_shortcuts.h"
#include "core/calls/call_trace.h"

#define RB_RPP_CALLS_OF_RUBY                                                                                           \
    (RUBY_EVENT_CALL | RUBY_EVENT_RETURN | RUBY_EVENT_FIBER_SWITCH | RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END)
#define RB_RPP_CALLS_OF_C      (RUBY_EVENT_C_CALL | RUBY_EVENT_C_RETURN)
#define RB_RPP_CALLS_OF_BLOCKS (RUBY_EVENT_B_CALL | RUBY_EVENT_B_RETURN)

/* Below a root are the calls of one thread; those of its other fibers have one root of their own. */
typedef struct rb_rpp_call_root {
    VALUE thread;
    bool is_of_fibers;
    uint32_t node;
} rb_rpp_call_root;

/* A thread's or fiber's stack. The VM may give its place in memory to another one after its end. */
typedef struct rb_rpp_inspected_stack {
    rpp_call_stack calls;
    rb_rpp_vm_stack vm;
    VALUE thread;
    bool is_over;
} rb_rpp_inspected_stack;

typedef struct rb_rpp_tracing {
    rpp_call_trace trace;
    rb_rpp_inspected_stack *running;
    const VALUE *ec; /* of the last event; NULL: the next one must look around */
    VALUE tracer;    /* a thread that traces for a peer: its calls do not count; Qfalse: none */
    const VALUE *tracer_ec;
    bool with_cpu, with_objects, by_ticks;
    bool is_right, is_wrong; /* the VM's memory is as it should be, or not; neither: not checked yet */
    bool is_method_verified;
    rb_event_flag_t events;
    rpp_call_methods *methods;
    rb_rpp_callee *callees;          /* by id */
    rpp_call_objects *objects;       /* NULL: they are not told apart */
    rb_rpp_inspected_stack **stacks; /* by id */
    size_t stack_count, stack_capacity;
    rpp_hash_index stacks_by_ec;
    uint64_t began_ns, began_ticks, began_realtime_ns, traced_ns, traced_ticks;
    uint64_t unseen_stacks;
    rpp_call_changes *changes; /* NULL: there are no updates */
    uint32_t told_nodes, told_roots;
    uint32_t root_count;
    rb_rpp_call_root roots[RPP_CALL_ROOTS_MAX];
    rpp_call_shortcuts shortcuts;
} rb_rpp_tracing;

/* Whether one runs. */
rb_rpp_tracing *rb_rpp_call_hook_tracing(void);
/* From now on. Each stack is read anew. May raise. */
void rb_rpp_call_hook_go(rb_rpp_tracing *t);
void rb_rpp_call_hook_halt(rb_rpp_tracing *t);
/* While it runs: all that is open counts until now, and goes on. */
void rb_rpp_call_hook_flush(rb_rpp_tracing *t);
/* The hook stays in the child until its next event. */
void rb_rpp_call_hook_discard_after_fork(void);

#endif
