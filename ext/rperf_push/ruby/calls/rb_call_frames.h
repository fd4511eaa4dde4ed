/* rb_call_frames.h - for tracing: what an event of the VM is about, and what a stack consists of, read from the VM's
 * memory.
 *
 * Why not the VM's functions
 *   An event occurs at every call. The functions that tell its method look it up in several steps; the frame has it at
 *   hand. And no function tells where a frame is on the stack, which is what pairs returns with calls
 *   (core/calls/call_trace.h).
 *
 * Methods
 *   A method is its definition, the name that it is called by, and the class that has it: so one body can be several
 *   methods, and the same method in the caches of several classes is one.
 *
 * Threads    the thread that holds the GVL. No allocation, except where noted.
 * Ownership  frames and objects are borrowed from the VM.
 */
#ifndef RB_CALL_FRAMES_H
#define RB_CALL_FRAMES_H

#include "vm/rb_compat.h"

#include "core/calls/call_methods.h"
#include "vm/rb_vm_layout.h"

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
    VALUE code;  /* an iseq; 0: a C method */
    VALUE entry; /* a method entry that has the definition; 0: none */
    VALUE owner; /* the class that has the method; 0: no method */
    ID name;     /* that it is called by; 0: no method */
    rb_rpp_call_kind kind;
} rb_rpp_callee;

typedef struct rb_rpp_vm_stack {
    const VALUE *ec, *end;
} rb_rpp_vm_stack;

/* Finds out whether the VM's memory is as it should be. False: not on this Ruby. Only in a method: it calls Ruby, and
 * may raise. */
bool rb_rpp_call_frames_prepare(void);
/* Whether the event is where it should be. In a hook, once. */
bool rb_rpp_call_frames_verify(rb_trace_arg_t *event);
/* Whether the method of a RUBY_EVENT_CALL is what it should be. */
bool rb_rpp_callee_verify(const rb_rpp_callee *callee, rb_trace_arg_t *event);

/* --- at each event --- */

/* Of this Ruby, from prepare on. */
extern rb_rpp_vm_layout rb_rpp_call_layout;

#define RB_RPP_ENV_METHOD (-2)

static inline const VALUE *rb_rpp_words_at(VALUE address)
{
    return (const VALUE *)address;
}

static inline VALUE rb_rpp_event_word(const rb_trace_arg_t *event, unsigned word)
{
    return ((const VALUE *)event)[word];
}

/* The stack that an event occurs on, and its frame. */
static inline const VALUE *rb_rpp_event_ec(const rb_trace_arg_t *event)
{
    return rb_rpp_words_at(rb_rpp_event_word(event, rb_rpp_call_layout.event.ec));
}

static inline const VALUE *rb_rpp_event_frame(const rb_trace_arg_t *event)
{
    return rb_rpp_words_at(rb_rpp_event_word(event, rb_rpp_call_layout.event.frame));
}

/* The first word; the same in every known series. */
static inline rb_event_flag_t rb_rpp_event_flag(const rb_trace_arg_t *event)
{
    return *(const rb_event_flag_t *)(const void *)event;
}

/* False: this is a call of a C method, or its return. There is no frame for it. But C methods that are written in Ruby
 * have one. */
static inline bool rb_rpp_event_has_frame(const rb_trace_arg_t *event)
{
    return !rb_rpp_event_word(event, rb_rpp_call_layout.event.name);
}

static inline VALUE rb_rpp_frame_flags(const VALUE *frame)
{
    return rb_rpp_words_at(frame[rb_rpp_call_layout.frame.ep])[0];
}

/* The iseq that it runs; 0: none. */
static inline VALUE rb_rpp_frame_code(const VALUE *frame)
{
    return frame[rb_rpp_call_layout.frame.iseq];
}

/* A method that was defined by a block. */
static inline bool rb_rpp_frame_is_block_method(const VALUE *frame)
{
    enum { FRAME_OF_BLOCK_METHOD = 0x40 };
    return rb_rpp_frame_flags(frame) & FRAME_OF_BLOCK_METHOD;
}

/* Of the C method of an event without a frame. */
static inline rpp_call_key rb_rpp_event_c_key(const rb_trace_arg_t *event)
{
    return (rpp_call_key){0, rb_rpp_event_word(event, rb_rpp_call_layout.event.called),
                          rb_rpp_event_word(event, rb_rpp_call_layout.event.owner)};
}

/* The method entry of a frame that runs a method; 0: it has none. */
static inline VALUE rb_rpp_frame_entry(const VALUE *frame)
{
    enum {
        MASK = 0xf << FL_USHIFT | RUBY_T_MASK,
        SVAR = 2 << FL_USHIFT | RUBY_T_IMEMO,
        METHOD = 6 << FL_USHIFT | RUBY_T_IMEMO,
    };
    VALUE value = rb_rpp_words_at(frame[rb_rpp_call_layout.frame.ep])[RB_RPP_ENV_METHOD];
    if (!value) return 0;
    if ((rb_rpp_words_at(value)[0] & MASK) == SVAR)
        value = rb_rpp_words_at(value)[rb_rpp_call_layout.svar.cref_or_method];
    return value && (rb_rpp_words_at(value)[0] & MASK) == METHOD ? value : 0;
}

/* Of the method that this frame runs, with that entry. */
static inline rpp_call_key rb_rpp_frame_method_key(const VALUE *frame, VALUE entry)
{
    const VALUE *words = rb_rpp_words_at(entry);
    if (!entry) return (rpp_call_key){rb_rpp_frame_code(frame), 0, 0};
    return (rpp_call_key){words[rb_rpp_call_layout.method.definition], words[rb_rpp_call_layout.call.called],
                          words[rb_rpp_call_layout.call.owner]};
}

/* --- at new methods and stacks --- */

rb_rpp_callee rb_rpp_callee_of_c(const rpp_call_key *key);
rb_rpp_callee rb_rpp_callee_of_method(const rpp_call_key *key, const VALUE *frame, VALUE entry);
rb_rpp_callee rb_rpp_callee_of_block(const VALUE *frame);
/* Code of a C method. */
bool rb_rpp_frame_is_in_c(const VALUE *frame);
/* The innermost code in Ruby where the event occurs; 0: none. */
VALUE rb_rpp_event_code(const rb_trace_arg_t *event);

/* A depth is at least 1, and larger for each frame further up. */
rb_rpp_vm_stack rb_rpp_vm_stack_of(const VALUE *ec);
/* Of a thread that does not run: the one that it ran last. The end is NULL if it has none yet. */
rb_rpp_vm_stack rb_rpp_vm_stack_of_thread(VALUE thread);
/* False: it is the stack of a fiber of the thread, other than the one that it began with. */
bool rb_rpp_vm_stack_is_root(const rb_rpp_vm_stack *stack, VALUE thread);
/* The fiber has ended, and the VM has taken its stack away. */
bool rb_rpp_vm_stack_is_gone(const rb_rpp_vm_stack *stack);

static inline uint32_t rb_rpp_vm_stack_depth(const rb_rpp_vm_stack *stack, const VALUE *frame)
{
    return (uint32_t)(stack->end - frame);
}

/* What the frame of a C method that is called from here adds to the depth. */
static inline uint32_t rb_rpp_vm_frame_depth(void)
{
    return rb_rpp_call_layout.frame.words;
}

/* Calls the function for each call on the stack, from the root to the frame `last`, or to the top if that is NULL. */
typedef void (*rb_rpp_call_seen)(const rb_rpp_callee *callee, uint32_t depth, void *context);
void rb_rpp_vm_stack_each(const rb_rpp_vm_stack *stack, const VALUE *last, rb_rpp_call_seen seen, void *context);

#endif
