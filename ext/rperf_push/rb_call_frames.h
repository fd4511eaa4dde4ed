/* rb_call_frames.h - for tracing: what an event of the VM is about, and what a stack consists of, read from the VM's memory.
 *
 * Why not the VM's functions
 *   An event occurs at every call. The functions that tell its method look it up in several steps; the frame has it at hand. And no
 *   function tells where a frame is on the stack, which is what pairs returns with calls (core/calls/call_trace.h).
 *
 * Threads    the thread that holds the GVL. No allocation, except where noted.
 * Ownership  frames and objects are borrowed from the VM.
 */
#ifndef RB_CALL_FRAMES_H
#define RB_CALL_FRAMES_H

#include "rb_compat.h"

#include "core/calls/call_methods.h"

typedef enum rb_rpp_call_kind {
    RB_RPP_CALL_OTHER, /* past a limit */
    RB_RPP_CALL_RUBY,
    RB_RPP_CALL_C,
    RB_RPP_CALL_BLOCK,
    RB_RPP_CALL_KINDS
} rb_rpp_call_kind;

/* What a call is a call of. */
typedef struct rb_rpp_callee {
    rpp_call_key key;
    rb_rpp_call_kind kind;
    VALUE code;  /* an iseq; 0: a C method */
    VALUE entry; /* the method entry; 0: unknown, or none */
    VALUE owner; /* the class that has the method; 0: the entry knows it */
    ID name;     /* 0: the entry or the code knows it */
} rb_rpp_callee;

typedef struct rb_rpp_vm_stack {
    const VALUE *ec, *end;
} rb_rpp_vm_stack;

/* Finds out whether the VM's memory is as it should be. False: not on this Ruby. Only in a method: it calls Ruby, and may raise. */
bool rb_rpp_call_frames_prepare(void);
/* Whether the event is where it should be. In a hook, once. */
bool rb_rpp_call_frames_verify(rb_trace_arg_t *event);

/* The stack that an event occurs on, and its frame. */
const VALUE *rb_rpp_event_ec(const rb_trace_arg_t *event);
const VALUE *rb_rpp_event_frame(const rb_trace_arg_t *event);
/* False: this is a call of a C method, or its return. There is no frame for it. But C methods that are written in Ruby have one. */
bool rb_rpp_event_has_frame(const rb_trace_arg_t *event);
/* The C method of such an event. */
rb_rpp_callee rb_rpp_event_c_method(const rb_trace_arg_t *event);
/* The method that begins in this frame, at a RUBY_EVENT_CALL; the frame has its entry. */
rb_rpp_callee rb_rpp_event_method(rb_trace_arg_t *event);
/* The block that begins in this frame. */
rb_rpp_callee rb_rpp_event_block(const rb_trace_arg_t *event);
/* The method entry of a frame that runs a method; 0: it has none. */
VALUE rb_rpp_frame_entry(const VALUE *frame);
/* The iseq that it runs; 0: none. */
VALUE rb_rpp_frame_code(const VALUE *frame);
/* Of a frame: a method that was defined by a block; code of a C method. */
bool rb_rpp_frame_is_block_method(const VALUE *frame);
bool rb_rpp_frame_is_in_c(const VALUE *frame);

/* A depth is at least 1, and larger for each frame further up. */
rb_rpp_vm_stack rb_rpp_vm_stack_of(const VALUE *ec);
/* Of a thread that does not run: the one that it ran last. The end is NULL if it has none yet. */
rb_rpp_vm_stack rb_rpp_vm_stack_of_thread(VALUE thread);
uint32_t rb_rpp_vm_stack_depth(const rb_rpp_vm_stack *stack, const VALUE *frame);
/* What the frame of a C method that is called from here adds to the depth. */
uint32_t rb_rpp_vm_frame_depth(void);

/* Calls the function for each call on the stack, from the root to the frame `last`, or to the top if that is NULL. */
typedef void (*rb_rpp_call_seen)(const rb_rpp_callee *callee, uint32_t depth, void *context);
void rb_rpp_vm_stack_each(const rb_rpp_vm_stack *stack, const VALUE *last, rb_rpp_call_seen seen, void *context);

#endif
