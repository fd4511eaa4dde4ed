/* rb_calls.c - traces every call: the VM's events become a call tree (core/calls). */
#include "rb_calls.h"

#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/hash_index.h"
#include "core/calls/call_trace.h"
#include "rb_call_frames.h"
#include "rb_call_result.h"
#include "rb_threads.h"
#include "rb_values.h"

#define METHODS_MAX 65535u
#define STACKS_MAX  65536u /* of threads and fibers that are alive at the same time */

#define EVENTS_ALWAYS                                                                                                  \
    (RUBY_EVENT_CALL | RUBY_EVENT_RETURN | RUBY_EVENT_FIBER_SWITCH | RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END)
#define EVENTS_OF_C      (RUBY_EVENT_C_CALL | RUBY_EVENT_C_RETURN)
#define EVENTS_OF_BLOCKS (RUBY_EVENT_B_CALL | RUBY_EVENT_B_RETURN)

/* Below a root are the calls of one thread; those of its other fibers have one root of their own. */
typedef struct root {
    VALUE thread;
    const VALUE *ec; /* the thread's first one */
    bool is_of_fibers;
    uint32_t node;
} root;

/* A thread's or fiber's stack. The VM may give its place in memory to another one after its end. */
typedef struct seen_stack {
    rpp_call_stack calls;
    rb_rpp_vm_stack vm;
    VALUE thread;
    bool is_fiber, is_over;
} seen_stack;

typedef struct tracing {
    rpp_call_trace trace;
    rpp_call_methods *methods;
    rb_rpp_callee *callees; /* by id */
    root roots[RPP_CALL_ROOTS_MAX];
    uint32_t root_count;
    seen_stack **stacks; /* by id */
    size_t stack_count, stack_capacity;
    rpp_hash_index stacks_by_ec;
    seen_stack *running;
    const VALUE *ec; /* of the last event */
    rb_event_flag_t events;
    bool with_cpu;
    bool is_verified, is_wrong; /* the VM's memory is as it should be, or not */
    uint64_t began_ns, began_realtime_ns, traced_ns;
    uint64_t unseen_stacks;
} tracing;

static tracing *current;     /* runs; NULL: none */
static VALUE current_object; /* its object */
static VALUE tracing_class;

/* --- memory --- */

static void mark(void *data)
{
    const tracing *t = data;
    for (uint32_t id = 0; t->methods && id < rpp_call_methods_end(t->methods); id++) {
        const rb_rpp_callee *callee = &t->callees[id];
        if (callee->code) rb_gc_mark(callee->code);
        if (callee->entry) rb_gc_mark(callee->entry);
        if (callee->owner) rb_gc_mark(callee->owner);
    }
    for (uint32_t i = 0; i < t->root_count; i++) rb_gc_mark(t->roots[i].thread);
}

static void release(void *data)
{
    tracing *t = data;
    for (size_t i = 0; i < t->stack_count; i++) {
        rpp_call_stack_destroy(&t->stacks[i]->calls);
        rpp_free(t->stacks[i]);
    }
    rpp_free(t->stacks);
    rpp_hash_index_destroy(&t->stacks_by_ec);
    rpp_call_tree_free(t->trace.tree);
    rpp_call_methods_free(t->methods);
    rpp_free(t->callees);
    rpp_free(t);
}

static size_t size_of(const void *data)
{
    const tracing *t = data;
    return sizeof *t + (t->trace.tree ? (size_t)rpp_call_tree_bytes(t->trace.tree) : 0);
}

static const rb_data_type_t tracing_type = {
    .wrap_struct_name = "rperf_push/tracing",
    .function = {.dmark = mark, .dfree = release, .dsize = size_of},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static tracing *tracing_of(VALUE object)
{
    return rb_check_typeddata(object, &tracing_type);
}

static VALUE tracing_new(uint32_t max_nodes)
{
    tracing *t = rpp_calloc(1, sizeof *t);
    if (!t) rb_memerror();
    VALUE object = TypedData_Wrap_Struct(tracing_class, &tracing_type, t);
    t->trace.tree = rpp_call_tree_new(max_nodes);
    t->callees = rpp_calloc(METHODS_MAX + 1, sizeof *t->callees);
    t->methods = t->trace.tree && t->callees ? rpp_call_methods_new(METHODS_MAX) : NULL;
    if (!t->methods) rb_memerror();
    return object;
}

/* --- what the hook does --- */

static rpp_call_reading read_clocks(const tracing *t)
{
    return (rpp_call_reading){rpp_monotonic_ns(), t->with_cpu ? rpp_cpu_clock_ns(CLOCK_PROCESS_CPUTIME_ID) : 0};
}

/* Of a new method whose frame is there, the frame knows more. */
static uint32_t method_of(tracing *t, const rb_rpp_callee *callee, const VALUE *frame)
{
    bool is_new;
    uint32_t id = rpp_call_methods_intern(t->methods, callee->key, &is_new);
    if (!is_new) return id;
    t->callees[id] = *callee;
    if (frame) t->callees[id].entry = rb_rpp_frame_entry(frame);
    return id;
}

/* The root for a stack of this thread. A thread's first stack is its own, others are its fibers'. */
static root *root_of(tracing *t, VALUE thread, const VALUE *ec)
{
    bool is_of_fibers = false;
    for (uint32_t i = 0; i < t->root_count; i++) {
        root *known = &t->roots[i];
        if (known->thread != thread) continue;
        if (known->is_of_fibers || known->ec == ec) return known;
        is_of_fibers = true;
    }
    if (t->root_count == RPP_CALL_ROOTS_MAX) return &t->roots[RPP_CALL_ROOTS_MAX - 1];
    root *fresh = &t->roots[t->root_count];
    *fresh = (root){thread, ec, is_of_fibers, rpp_call_tree_root(t->trace.tree, t->root_count)};
    t->root_count++;
    return fresh;
}

typedef struct opening {
    tracing *tracing;
    seen_stack *stack;
} opening;

static void open_call(const rb_rpp_callee *callee, uint32_t depth, void *context)
{
    opening *o = context;
    if (callee->kind == RB_RPP_CALL_C && !(o->tracing->events & EVENTS_OF_C)) return;
    if (callee->kind == RB_RPP_CALL_BLOCK && !(o->tracing->events & EVENTS_OF_BLOCKS)) return;
    rpp_call_trace_open(&o->tracing->trace, &o->stack->calls, depth, method_of(o->tracing, callee, NULL));
}

/* A stack that is seen for the first time, or whose place belonged to another one before. */
static void begin_stack(tracing *t, seen_stack *stack, VALUE thread, const VALUE *last_frame, uint64_t now_ns)
{
    if (stack->thread != thread) {
        const root *above = root_of(t, thread, stack->vm.ec);
        stack->thread = thread;
        stack->calls.root = above->node;
        stack->is_fiber = above->is_of_fibers;
    }
    stack->calls.count = 0;
    stack->calls.left_ns = now_ns;
    stack->is_over = false;
    opening o = {t, stack};
    rb_rpp_vm_stack_each(&stack->vm, last_frame, open_call, &o);
}

static bool is_at(const void *table, uint32_t id, const void *ec)
{
    return ((const tracing *)table)->stacks[id]->vm.ec == ec;
}

/* NULL: there are too many, or there is no memory. */
static seen_stack *stack_at(tracing *t, const VALUE *ec, bool *is_new)
{
    uint32_t hash = rpp_hash_words((uint64_t)(uintptr_t)ec, 0);
    uint32_t id = rpp_hash_index_find(&t->stacks_by_ec, hash, is_at, t, ec);
    *is_new = id == RPP_INDEX_NONE;
    if (!*is_new) return t->stacks[id];
    if (t->stack_count == STACKS_MAX || rpp_hash_index_reserve(&t->stacks_by_ec, 1) != RPP_OK ||
        rpp_grow((void **)&t->stacks, &t->stack_capacity, t->stack_count + 1, sizeof(seen_stack *)) != RPP_OK) {
        return NULL;
    }
    seen_stack *stack = rpp_calloc(1, sizeof *stack);
    if (!stack) return NULL;
    t->stacks[t->stack_count] = stack;
    rpp_hash_index_add(&t->stacks_by_ec, hash, (uint32_t)t->stack_count++);
    return stack;
}

/* An event of another stack than the last one. */
static void change_stack(tracing *t, const VALUE *ec, const VALUE *frame, rpp_call_reading now)
{
    bool is_new;
    VALUE thread = rb_thread_current();
    seen_stack *stack = rb_rpp_in_main_ractor() ? stack_at(t, ec, &is_new) : NULL;
    if (t->running && t->running->is_fiber && !t->running->calls.count) t->running->is_over = true;
    t->ec = ec;
    t->running = stack;
    if (!stack) {
        t->unseen_stacks++;
        rpp_call_trace_switch(&t->trace, NULL, now);
        return;
    }
    stack->vm = rb_rpp_vm_stack_of(ec);
    bool begins = rb_rpp_vm_stack_depth(&stack->vm, frame) <= rb_rpp_vm_frame_depth();
    if (is_new || begins || stack->is_over || stack->thread != thread)
        begin_stack(t, stack, thread, frame, now.wall_ns);
    rpp_call_trace_switch(&t->trace, &stack->calls, now);
}

/* A new fiber has nothing on its stack yet. */
static void arrive_in_fiber(tracing *t, uint32_t depth, rpp_call_reading now)
{
    if (depth <= rb_rpp_vm_frame_depth()) rpp_call_tree_node(t->trace.tree, t->running->calls.root)->calls++;
    rpp_call_trace_unwind(&t->trace, depth, now);
}

/* The VM says nothing of the returns that a SystemStackError causes. So whatever is on top must be where its code is. */
static void drop_what_is_gone(tracing *t, uint32_t depth, rpp_call_reading now)
{
    const rpp_call_stack *stack = &t->running->calls;
    if (rpp_call_stack_depth(stack) >= depth) rpp_call_trace_unwind(&t->trace, depth - 1, now);
    for (uint32_t top = rpp_call_stack_depth(stack); top; top = rpp_call_stack_depth(stack)) {
        const rb_rpp_callee *callee = &t->callees[rpp_call_tree_node(t->trace.tree, rpp_call_stack_top(stack))->method];
        if (!callee->code || rb_rpp_frame_code(t->running->vm.end - top) == callee->code) return;
        rpp_call_trace_unwind(&t->trace, top - 1, now);
    }
}

static void enter_c(tracing *t, const rb_trace_arg_t *event, uint32_t depth, rpp_call_reading now)
{
    rb_rpp_callee callee = rb_rpp_event_c_method(event);
    drop_what_is_gone(t, depth + rb_rpp_vm_frame_depth(), now);
    rpp_call_trace_enter(&t->trace, depth + rb_rpp_vm_frame_depth(), method_of(t, &callee, NULL), now);
}

/* The frame is gone already, but not if the call ends by an exception. */
static void leave_c(tracing *t, const VALUE *frame, uint32_t depth, rpp_call_reading now)
{
    bool is_there = rpp_call_stack_depth(&t->running->calls) <= depth && rb_rpp_frame_is_in_c(frame);
    rpp_call_trace_leave(&t->trace, is_there ? depth : depth + rb_rpp_vm_frame_depth(), now);
}

static void enter_method(tracing *t, rb_trace_arg_t *event, const VALUE *frame, uint32_t depth, rpp_call_reading now)
{
    rb_rpp_callee callee = rb_rpp_event_method(event);
    drop_what_is_gone(t, depth, now);
    rpp_call_trace_enter(&t->trace, depth, method_of(t, &callee, callee.owner ? NULL : frame), now);
}

/* A block that is a method has had a RUBY_EVENT_CALL, and will have a RUBY_EVENT_RETURN. */
static void enter_block(tracing *t, const rb_trace_arg_t *event, const VALUE *frame, uint32_t depth,
                        rpp_call_reading now)
{
    if (rb_rpp_frame_is_block_method(frame)) return;
    rb_rpp_callee callee = rb_rpp_event_block(event);
    drop_what_is_gone(t, depth, now);
    rpp_call_trace_enter(&t->trace, depth, method_of(t, &callee, NULL), now);
}

static void end_thread(tracing *t, rpp_call_reading now)
{
    rpp_call_trace_unwind(&t->trace, 0, now);
    t->running->is_over = true;
}

static bool is_verified(tracing *t, rb_trace_arg_t *event)
{
    if (!t->is_verified) t->is_wrong = !rb_rpp_call_frames_verify(event);
    t->is_verified = true;
    return !t->is_wrong;
}

static void on_event(VALUE unused, rb_trace_arg_t *event);

/* As the VM wants it, although with RUBY_EVENT_HOOK_FLAG_RAW_ARG it calls it otherwise. */
static const rb_event_hook_func_t hook = (rb_event_hook_func_t)(void (*)(void))on_event;

static void on_event(VALUE unused, rb_trace_arg_t *event)
{
    tracing *t = current;
    if (!t) rb_remove_event_hook_with_data(hook, Qnil); /* in a forked child */
    if (!t || !is_verified(t, event)) return;
    rpp_call_reading now = read_clocks(t);
    const VALUE *ec = rb_rpp_event_ec(event), *frame = rb_rpp_event_frame(event);
    if (ec != t->ec) change_stack(t, ec, frame, now);
    if (!t->running) return;
    uint32_t depth = rb_rpp_vm_stack_depth(&t->running->vm, frame);
    switch (rb_tracearg_event_flag(event)) {
    case RUBY_EVENT_CALL: enter_method(t, event, frame, depth, now); break;
    case RUBY_EVENT_RETURN: rpp_call_trace_leave(&t->trace, depth, now); break;
    case RUBY_EVENT_C_CALL:
        if (rb_rpp_event_has_frame(event))
            enter_method(t, event, frame, depth, now);
        else
            enter_c(t, event, depth, now);
        break;
    case RUBY_EVENT_C_RETURN:
        if (rb_rpp_event_has_frame(event))
            rpp_call_trace_leave(&t->trace, depth, now);
        else
            leave_c(t, frame, depth, now);
        break;
    case RUBY_EVENT_B_CALL: enter_block(t, event, frame, depth, now); break;
    case RUBY_EVENT_B_RETURN:
        if (!rb_rpp_frame_is_block_method(frame)) rpp_call_trace_leave(&t->trace, depth, now);
        break;
    case RUBY_EVENT_FIBER_SWITCH: arrive_in_fiber(t, depth, now); break;
    case RUBY_EVENT_THREAD_END: end_thread(t, now); break;
    default: break; /* a thread begins: its stack is known now */
    }
}

/* --- start and stop --- */

static void open_thread(tracing *t, VALUE thread, rpp_call_reading now)
{
    bool is_new;
    rb_rpp_vm_stack vm = rb_rpp_vm_stack_of_thread(thread);
    seen_stack *stack = vm.end ? stack_at(t, vm.ec, &is_new) : NULL;
    if (!stack) return;
    stack->vm = vm;
    begin_stack(t, stack, thread, NULL, now.wall_ns);
    if (thread != rb_thread_current()) return;
    t->ec = vm.ec;
    t->running = stack;
    rpp_call_trace_switch(&t->trace, &stack->calls, now);
}

/* All stacks are read anew. */
static void go(VALUE object)
{
    tracing *t = tracing_of(object);
    VALUE threads = rb_funcall(rb_cThread, rb_intern("list"), 0);
    rpp_call_reading now = read_clocks(t);
    for (size_t i = 0; i < t->stack_count; i++) t->stacks[i]->is_over = true;
    t->trace.last = now;
    t->began_ns = now.wall_ns;
    for (long i = 0; i < RARRAY_LEN(threads); i++) open_thread(t, RARRAY_AREF(threads, i), now);
    RB_GC_GUARD(threads);
    current = t;
    current_object = object;
    rb_remove_event_hook_with_data(hook, Qnil); /* of a parent */
    rb_add_event_hook2(hook, t->events, Qnil, RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG);
}

static void halt(tracing *t)
{
    rb_remove_event_hook_with_data(hook, Qnil);
    current = NULL;
    current_object = Qnil;
    rpp_call_reading now = read_clocks(t);
    rpp_call_trace_switch(&t->trace, NULL, now);
    for (size_t i = 0; i < t->stack_count; i++) {
        seen_stack *stack = t->stacks[i];
        if (!stack->is_over) rpp_call_trace_wait(&t->trace, &stack->calls, now.wall_ns);
    }
    t->traced_ns += now.wall_ns - t->began_ns;
    t->running = NULL;
    t->ec = NULL;
}

/* Begins a tracing, and returns it. */
static VALUE native_calls_start(VALUE self, VALUE max_nodes, VALUE with_cpu, VALUE with_c, VALUE with_blocks)
{
    if (current) rb_raise(rb_eRuntimeError, "calls are traced already");
    if (!rb_rpp_in_main_ractor()) rb_raise(rb_eRuntimeError, "only the main Ractor can be traced");
    if (!rb_rpp_call_frames_prepare()) rb_raise(rb_eNotImpError, "calls cannot be traced on this Ruby");
    VALUE object = tracing_new(NUM2UINT(max_nodes));
    tracing *t = tracing_of(object);
    t->with_cpu = RTEST(with_cpu);
    t->events = EVENTS_ALWAYS | (RTEST(with_c) ? EVENTS_OF_C : 0) | (RTEST(with_blocks) ? EVENTS_OF_BLOCKS : 0);
    t->began_realtime_ns = rpp_realtime_ns();
    rb_rpp_life_follow_forks();
    go(object);
    return object;
}

static VALUE native_calls_pause(VALUE self, VALUE object)
{
    tracing *t = tracing_of(object);
    if (t != current) return Qfalse;
    halt(t);
    return Qtrue;
}

static VALUE native_calls_resume(VALUE self, VALUE object)
{
    if (current) return Qfalse;
    go(object);
    return Qtrue;
}

/* --- results --- */

static VALUE describe_roots(const tracing *t)
{
    VALUE all = rb_ary_new();
    for (uint32_t i = 0; i < t->root_count; i++) {
        rb_ary_push(all, rb_ary_new_from_args(2, t->roots[i].thread, t->roots[i].is_of_fibers ? Qtrue : Qfalse));
    }
    return all;
}

/* What a tracing that has ended is about, as a Hash:
 *   methods  [label, path, line, kind, class, own] by id     roots  [thread, whether of its fibers] by number
 *   start_time_ns, duration_ns, events     lost  calls without memory     unseen_stacks     full     bytes */
static VALUE native_calls_facts(VALUE self, VALUE object)
{
    const tracing *t = tracing_of(object);
    if (t == current) rb_raise(rb_eRuntimeError, "calls are still traced");
    if (t->is_wrong) rb_raise(rb_eNotImpError, "calls cannot be traced on this Ruby");
    VALUE facts = rb_hash_new(), methods = rb_ary_new();
    for (uint32_t id = 0; id < rpp_call_methods_end(t->methods); id++) {
        rb_ary_push(methods, rb_rpp_call_description(&t->callees[id]));
    }
    rb_rpp_put(facts, "methods", methods);
    rb_rpp_put(facts, "roots", describe_roots(t));
    rb_rpp_put(facts, "start_time_ns", ULL2NUM(t->began_realtime_ns));
    rb_rpp_put(facts, "duration_ns", ULL2NUM(t->traced_ns));
    rb_rpp_put(facts, "events", ULL2NUM(t->trace.events));
    rb_rpp_put(facts, "lost", ULL2NUM(t->trace.lost));
    rb_rpp_put(facts, "unseen_stacks", ULL2NUM(t->unseen_stacks));
    rb_rpp_put(facts, "full", rpp_call_tree_is_full(t->trace.tree) ? Qtrue : Qfalse);
    rb_rpp_put(facts, "nodes", UINT2NUM(rpp_call_tree_count(t->trace.tree)));
    rb_rpp_put(facts, "bytes", ULL2NUM(rpp_call_tree_bytes(t->trace.tree)));
    RB_GC_GUARD(object);
    return facts;
}

/* See rb_call_result.h. */
static VALUE native_calls_result(VALUE self, VALUE object, VALUE as, VALUE costs)
{
    const tracing *t = tracing_of(object);
    if (t == current) rb_raise(rb_eRuntimeError, "calls are still traced");
    VALUE result = rb_rpp_call_result(t->trace.tree, t->callees, rpp_call_methods_end(t->methods), as, costs);
    RB_GC_GUARD(object);
    return result;
}

/* A C method that does nothing, to measure what tracing one costs. */
static VALUE native_nothing(VALUE self)
{
    return Qnil;
}

/* --- life --- */

/* The hook stays in the child until its next event. */
static void forget_after_fork(void)
{
    current = NULL;
}

const rb_rpp_participant rb_rpp_calls_life = {.forget_after_fork = forget_after_fork};

void rb_rpp_calls_init(VALUE native)
{
    current_object = Qnil;
    rb_gc_register_address(&current_object);
    tracing_class = rb_define_class_under(native, "Tracing", rb_cObject);
    rb_undef_alloc_func(tracing_class);
    rb_gc_register_mark_object(tracing_class);
    rb_define_singleton_method(native, "calls_start", native_calls_start, 4);
    rb_define_singleton_method(native, "calls_pause", native_calls_pause, 1);
    rb_define_singleton_method(native, "calls_resume", native_calls_resume, 1);
    rb_define_singleton_method(native, "calls_facts", native_calls_facts, 1);
    rb_define_singleton_method(native, "calls_result", native_calls_result, 3);
    rb_define_singleton_method(native, "nothing", native_nothing, 0);
}
