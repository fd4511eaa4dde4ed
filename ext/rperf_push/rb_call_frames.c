/* rb_call_frames.c - for tracing: what an event of the VM is about, and what a stack consists of, read from the VM's memory. */
#include "rb_call_frames.h"

#include "rb_vm_layout.h"
#include "rb_walk.h"

/* The meaning of flag words, the same in every known series. */
enum {
    FRAME_OF_BLOCK_METHOD = 0x40,
    FRAME_IN_C = 0x80,
    KIND_MASK = 0x7fff0001,
    KIND_METHOD = 0x11110001,
    KIND_BLOCK = 0x22220001,
    KIND_CLASS = 0x33330001,
    KIND_TOP = 0x44440001,
    KIND_C = 0x55550001,
    KIND_EVAL = 0x77770001,
    OBJECT_MASK = 0xf << FL_USHIFT | RUBY_T_MASK,
    OBJECT_SVAR = 2 << FL_USHIFT | RUBY_T_IMEMO,
    OBJECT_METHOD = 6 << FL_USHIFT | RUBY_T_IMEMO,
};

#define ENV_METHOD (-2)

static rb_rpp_vm_layout layout;

static const VALUE *words_at(VALUE address)
{
    return (const VALUE *)address;
}

static VALUE flags_of(const VALUE *frame)
{
    return words_at(frame[layout.frame.ep])[0];
}

/* --- events --- */

bool rb_rpp_call_frames_prepare(void)
{
    const rb_rpp_vm_layout *claimed = rb_rpp_vm_layout_of(ruby_version);
    if (!claimed || !rb_rpp_walk_prove()) return false;
    layout = *claimed;
    return true;
}

static VALUE word_of(const rb_trace_arg_t *event, unsigned word)
{
    return ((const VALUE *)event)[word];
}

const VALUE *rb_rpp_event_ec(const rb_trace_arg_t *event)
{
    return words_at(word_of(event, layout.event.ec));
}

const VALUE *rb_rpp_event_frame(const rb_trace_arg_t *event)
{
    return words_at(word_of(event, layout.event.frame));
}

bool rb_rpp_call_frames_verify(rb_trace_arg_t *event)
{
    rb_rpp_vm_stack stack = rb_rpp_vm_stack_of_thread(rb_thread_current());
    return rb_rpp_event_ec(event) == stack.ec && word_of(event, layout.event.self) == rb_tracearg_self(event) &&
           rb_rpp_event_frame(event) == words_at(stack.ec[layout.ec.frame]);
}

bool rb_rpp_event_has_frame(const rb_trace_arg_t *event)
{
    return !word_of(event, layout.event.name);
}

rb_rpp_callee rb_rpp_event_c_method(const rb_trace_arg_t *event)
{
    VALUE owner = word_of(event, layout.event.owner);
    ID name = word_of(event, layout.event.name);
    return (rb_rpp_callee){.key = {owner, name}, .kind = RB_RPP_CALL_C, .owner = owner, .name = name};
}

VALUE rb_rpp_frame_entry(const VALUE *frame)
{
    VALUE value = words_at(frame[layout.frame.ep])[ENV_METHOD];
    if (value && (words_at(value)[0] & OBJECT_MASK) == OBJECT_SVAR) value = words_at(value)[layout.svar.cref_or_method];
    return value && (words_at(value)[0] & OBJECT_MASK) == OBJECT_METHOD ? value : 0;
}

static rb_rpp_callee callee_of_code(const VALUE *frame, rb_rpp_call_kind kind)
{
    VALUE code = frame[layout.frame.iseq];
    return (rb_rpp_callee){.key = {code, 0}, .kind = kind, .code = code};
}

/* One block can be several methods, so these are told apart by their names. */
rb_rpp_callee rb_rpp_event_method(rb_trace_arg_t *event)
{
    const VALUE *frame = rb_rpp_event_frame(event);
    rb_rpp_callee callee = callee_of_code(frame, RB_RPP_CALL_RUBY);
    if (!rb_rpp_frame_is_block_method(frame)) return callee;
    VALUE symbol = rb_tracearg_method_id(event);
    callee.name = NIL_P(symbol) ? 0 : SYM2ID(symbol);
    callee.owner = NIL_P(symbol) ? 0 : rb_tracearg_defined_class(event);
    callee.key.name = callee.name;
    return callee;
}

rb_rpp_callee rb_rpp_event_block(const rb_trace_arg_t *event)
{
    return callee_of_code(rb_rpp_event_frame(event), RB_RPP_CALL_BLOCK);
}

bool rb_rpp_frame_is_block_method(const VALUE *frame)
{
    return flags_of(frame) & FRAME_OF_BLOCK_METHOD;
}

VALUE rb_rpp_frame_code(const VALUE *frame)
{
    return frame[layout.frame.iseq];
}

bool rb_rpp_frame_is_in_c(const VALUE *frame)
{
    return (flags_of(frame) & KIND_MASK) == KIND_C;
}

/* --- stacks --- */

rb_rpp_vm_stack rb_rpp_vm_stack_of(const VALUE *ec)
{
    const VALUE *begin = words_at(ec[layout.ec.stack]);
    return (rb_rpp_vm_stack){ec, begin ? begin + ec[layout.ec.stack_words] : NULL};
}

rb_rpp_vm_stack rb_rpp_vm_stack_of_thread(VALUE thread)
{
    const VALUE *words = RTYPEDDATA_GET_DATA(thread);
    const VALUE *ec = words && words[layout.thread.self] == thread ? words_at(words[layout.thread.ec]) : NULL;
    return ec ? rb_rpp_vm_stack_of(ec) : (rb_rpp_vm_stack){NULL, NULL};
}

uint32_t rb_rpp_vm_stack_depth(const rb_rpp_vm_stack *stack, const VALUE *frame)
{
    return (uint32_t)(stack->end - frame);
}

uint32_t rb_rpp_vm_frame_depth(void)
{
    return layout.frame.words;
}

/* False: nothing that is shown. */
static bool callee_in(const VALUE *frame, rb_rpp_callee *callee)
{
    VALUE kind = flags_of(frame) & KIND_MASK;
    if (kind == KIND_C) {
        VALUE entry = rb_rpp_frame_entry(frame);
        *callee = (rb_rpp_callee){.key = {entry, 0}, .kind = RB_RPP_CALL_C, .entry = entry};
        return entry != 0;
    }
    bool is_block = kind == KIND_BLOCK && !rb_rpp_frame_is_block_method(frame);
    bool is_body = kind == KIND_TOP || kind == KIND_CLASS || kind == KIND_EVAL;
    if (flags_of(frame) & FRAME_IN_C || !frame[layout.frame.iseq]) return false;
    if (kind != KIND_METHOD && kind != KIND_BLOCK && !is_body) return false;
    *callee = callee_of_code(frame, is_block ? RB_RPP_CALL_BLOCK : RB_RPP_CALL_RUBY);
    if (kind == KIND_METHOD) callee->entry = rb_rpp_frame_entry(frame);
    return true;
}

void rb_rpp_vm_stack_each(const rb_rpp_vm_stack *stack, const VALUE *last, rb_rpp_call_seen seen, void *context)
{
    if (!stack->end) return;
    const VALUE *frame = stack->end - layout.frame.words;
    if (!last) last = words_at(stack->ec[layout.ec.frame]);
    for (; frame >= last; frame -= layout.frame.words) {
        rb_rpp_callee callee;
        if (callee_in(frame, &callee)) seen(&callee, rb_rpp_vm_stack_depth(stack, frame), context);
    }
}
