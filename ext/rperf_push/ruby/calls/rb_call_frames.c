/* rb_call_frames.c - for tracing: what an event of the VM is about, and what a stack consists of, read from the VM's
 * memory. */
#include "calls/rb_call_frames.h"

#include "frames/rb_walk.h"

/* The meaning of flag words, the same in every known series. */
enum {
    FRAME_IN_C = 0x80,
    KIND_MASK = 0x7fff0001,
    KIND_METHOD = 0x11110001,
    KIND_BLOCK = 0x22220001,
    KIND_CLASS = 0x33330001,
    KIND_TOP = 0x44440001,
    KIND_C = 0x55550001,
    KIND_EVAL = 0x77770001,
};

rb_rpp_vm_layout rb_rpp_call_layout;
#define layout rb_rpp_call_layout

static const VALUE *words_at(VALUE address)
{
    return rb_rpp_words_at(address);
}

/* --- whose stack it is --- */

#define THREAD_WORDS_MAX 64
static unsigned root_fiber_word; /* of a thread: its first fiber; 0: not known */

static const VALUE *words_of_thread(VALUE thread)
{
    const VALUE *words = RTYPEDDATA_GET_DATA(thread);
    return words && words[layout.thread.self] == thread ? words : NULL;
}

static size_t words_in_thread(VALUE thread)
{
    size_t (*size_of)(const void *) = RTYPEDDATA_TYPE(thread)->function.dsize;
    size_t words = size_of ? size_of(RTYPEDDATA_GET_DATA(thread)) / sizeof(VALUE) : 0;
    return words < THREAD_WORDS_MAX ? words : THREAD_WORDS_MAX;
}

static VALUE fiber_of(const VALUE *thread)
{
    return words_at(thread[layout.thread.ec])[layout.call.fiber];
}

typedef struct search {
    VALUE root; /* the fiber that the thread begins with */
    uint64_t candidates;
} search;

static VALUE look_from_fiber(RB_BLOCK_CALL_FUNC_ARGLIST(unused, argument))
{
    search *s = (search *)argument;
    const VALUE *words = words_of_thread(rb_thread_current());
    if (!words || fiber_of(words) == s->root) s->candidates = 0;
    for (unsigned word = 0; s->candidates && word < THREAD_WORDS_MAX; word++) {
        if (s->candidates >> word & 1 && words[word] != s->root) s->candidates &= ~(UINT64_C(1) << word);
    }
    return Qnil;
}

static unsigned only_one(uint64_t candidates)
{
    unsigned word = 0;
    if (!candidates || candidates & (candidates - 1)) return 0;
    while (!(candidates >> word & 1)) word++;
    return word;
}

/* In a new thread, which is in its first fiber. Several threads may look at the same time. */
static VALUE look_from_thread(void *unused)
{
    VALUE thread = rb_thread_current();
    rb_fiber_current(); /* from now on the thread knows its first fiber */
    const VALUE *words = words_of_thread(thread);
    size_t count = words ? words_in_thread(thread) : 0;
    search s = {words ? fiber_of(words) : 0, 0};
    for (unsigned word = 1; s.root && word < count; word++) {
        if (words[word] == s.root) s.candidates |= UINT64_C(1) << word;
    }
    rb_fiber_resume(rb_fiber_new(look_from_fiber, (VALUE)&s), 0, NULL);
    if (only_one(s.candidates)) root_fiber_word = only_one(s.candidates);
    RB_GC_GUARD(thread);
    return Qnil;
}

/* The word that has the first fiber, in a thread that runs that one and in a thread that runs another one. */
static void find_root_fiber(void)
{
    rb_funcall(rb_thread_create(look_from_thread, NULL), rb_intern("join"), 0);
}

bool rb_rpp_vm_stack_is_root(const rb_rpp_vm_stack *stack, VALUE thread)
{
    const VALUE *words = words_of_thread(thread);
    VALUE root = words ? words[root_fiber_word] : 0;
    return !root || root == stack->ec[layout.call.fiber];
}

bool rb_rpp_vm_stack_is_gone(const rb_rpp_vm_stack *stack)
{
    return !stack->ec[layout.ec.stack];
}

/* --- events --- */

bool rb_rpp_call_frames_prepare(void)
{
    const rb_rpp_vm_layout *claimed = rb_rpp_vm_layout_of(ruby_version);
    if (!claimed || !rb_rpp_walk_prove()) return false;
    layout = *claimed;
    if (!root_fiber_word) find_root_fiber();
    return root_fiber_word;
}

bool rb_rpp_call_frames_verify(rb_trace_arg_t *event)
{
    rb_rpp_vm_stack stack = rb_rpp_vm_stack_of_thread(rb_thread_current());
    return rb_rpp_event_ec(event) == stack.ec &&
           rb_rpp_event_word(event, layout.event.self) == rb_tracearg_self(event) &&
           rb_rpp_event_flag(event) == rb_tracearg_event_flag(event) &&
           rb_rpp_event_frame(event) == words_at(stack.ec[layout.ec.frame]);
}

bool rb_rpp_callee_verify(const rb_rpp_callee *callee, rb_trace_arg_t *event)
{
    VALUE name = rb_tracearg_callee_id(event);
    return callee->owner == rb_tracearg_defined_class(event) && !NIL_P(name) && callee->name == SYM2ID(name);
}

rb_rpp_callee rb_rpp_callee_of_c(const rpp_call_key *key)
{
    return (rb_rpp_callee){.key = *key, .kind = RB_RPP_CALL_C, .owner = key->owner, .name = key->name};
}

rb_rpp_callee rb_rpp_callee_of_method(const rpp_call_key *key, const VALUE *frame, VALUE entry)
{
    return (rb_rpp_callee){.key = *key,
                           .kind = RB_RPP_CALL_RUBY,
                           .code = rb_rpp_frame_code(frame),
                           .entry = entry,
                           .owner = key->owner,
                           .name = key->name};
}

rb_rpp_callee rb_rpp_callee_of_block(const VALUE *frame)
{
    VALUE code = rb_rpp_frame_code(frame);
    return (rb_rpp_callee){.key = {code, 0, 0}, .kind = RB_RPP_CALL_BLOCK, .code = code};
}

bool rb_rpp_frame_is_in_c(const VALUE *frame)
{
    return (rb_rpp_frame_flags(frame) & KIND_MASK) == KIND_C;
}

VALUE rb_rpp_event_code(const rb_trace_arg_t *event)
{
    const VALUE *frame = rb_rpp_event_frame(event), *end = rb_rpp_vm_stack_of(rb_rpp_event_ec(event)).end;
    while (frame < end && (rb_rpp_frame_flags(frame) & FRAME_IN_C || !rb_rpp_frame_code(frame)))
        frame += layout.frame.words;
    return frame < end ? rb_rpp_frame_code(frame) : 0;
}

/* --- stacks --- */

rb_rpp_vm_stack rb_rpp_vm_stack_of(const VALUE *ec)
{
    const VALUE *begin = words_at(ec[layout.ec.stack]);
    return (rb_rpp_vm_stack){ec, begin ? begin + ec[layout.ec.stack_words] : NULL};
}

rb_rpp_vm_stack rb_rpp_vm_stack_of_thread(VALUE thread)
{
    const VALUE *words = words_of_thread(thread), *ec = words ? words_at(words[layout.thread.ec]) : NULL;
    return ec ? rb_rpp_vm_stack_of(ec) : (rb_rpp_vm_stack){NULL, NULL};
}

/* False: nothing that is shown. */
static bool callee_in(const VALUE *frame, rb_rpp_callee *callee)
{
    VALUE kind = rb_rpp_frame_flags(frame) & KIND_MASK;
    if (kind == KIND_C) {
        VALUE entry = rb_rpp_frame_entry(frame);
        if (!entry) return false;
        rpp_call_key key = rb_rpp_frame_method_key(frame, entry);
        key.code = 0; /* as events have it */
        *callee = rb_rpp_callee_of_c(&key);
        return true;
    }
    if (rb_rpp_frame_flags(frame) & FRAME_IN_C || !rb_rpp_frame_code(frame)) return false;
    if (kind == KIND_BLOCK && !rb_rpp_frame_is_block_method(frame)) {
        *callee = rb_rpp_callee_of_block(frame);
        return true;
    }
    bool is_body = kind == KIND_TOP || kind == KIND_CLASS || kind == KIND_EVAL;
    if (kind != KIND_METHOD && kind != KIND_BLOCK && !is_body) return false;
    VALUE entry = is_body ? 0 : rb_rpp_frame_entry(frame);
    rpp_call_key key = rb_rpp_frame_method_key(frame, entry);
    *callee = rb_rpp_callee_of_method(&key, frame, entry);
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
