/* rb_calls.c - traces every call: the VM's events become a call tree (core/calls). */
#include "calls/rb_calls.h"

#include "calls/rb_call_hook.h"
#include "calls/rb_call_objects.h"
#include "calls/rb_call_result.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/tick_clock.h"
#include "core/calls/call_sums.h"
#include "threads/rb_threads.h"
#include "vm/rb_values.h"

#define METHODS_MAX ((1u << 18) - 1)
/* What a tracing takes in memory, more or less: the GC is told, because only it gives that back. */
#define USUAL_BYTES (1 << 20)

typedef rb_rpp_tracing tracing;

static VALUE current_object; /* of the tracing that runs; nil: none */
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
    rb_rpp_call_objects_mark(t->objects);
    if (t->tracer) rb_gc_mark(t->tracer);
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
    rpp_call_objects_free(t->objects);
    rpp_call_changes_free(t->changes);
    rpp_unreserve(t->callees, METHODS_MAX + (size_t)1, sizeof *t->callees);
    rpp_free(t);
    rb_gc_adjust_memory_usage(-USUAL_BYTES);
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

rb_rpp_tracing *rb_rpp_tracing_of(VALUE object)
{
    return rb_check_typeddata(object, &tracing_type);
}

static VALUE tracing_new(uint32_t max_nodes, bool with_objects)
{
    tracing *t = rpp_calloc(1, sizeof *t);
    if (!t) rb_memerror();
    VALUE object = TypedData_Wrap_Struct(tracing_class, &tracing_type, t);
    rb_gc_adjust_memory_usage(USUAL_BYTES);
    t->trace.tree = rpp_call_tree_new(max_nodes);
    t->callees = rpp_reserve(METHODS_MAX + (size_t)1, sizeof *t->callees);
    t->methods = t->trace.tree && t->callees ? rpp_call_methods_new(METHODS_MAX) : NULL;
    t->objects = t->methods && with_objects ? rpp_call_objects_new(RPP_CALL_OBJECTS_MAX) : NULL;
    if (!t->methods || (with_objects && !t->objects)) rb_memerror();
    return object;
}

/* --- start and stop --- */

static void go(VALUE object)
{
    rb_rpp_call_hook_go(rb_rpp_tracing_of(object)); /* may raise */
    current_object = object;
}

static void halt(tracing *t)
{
    rb_rpp_call_hook_halt(t);
    current_object = Qnil;
}

/* Returns a tracing that does not trace yet: an interrupt may come as this returns, and then nothing would stop it. */
static VALUE native_calls_new(VALUE self, VALUE max_nodes, VALUE with_cpu, VALUE with_objects, VALUE with_c,
                              VALUE with_blocks)
{
    if (!rb_rpp_in_main_ractor()) rb_raise(rb_eRuntimeError, "only the main Ractor can be traced");
    if (!rb_rpp_call_frames_prepare()) rb_raise(rb_eNotImpError, "calls cannot be traced on this Ruby");
    if (rb_rpp_call_hook_tracing()) rb_raise(rb_eRuntimeError, "calls are traced already");
    VALUE object = tracing_new(NUM2UINT(max_nodes), RTEST(with_objects));
    tracing *t = rb_rpp_tracing_of(object);
    t->with_cpu = RTEST(with_cpu);
    t->with_objects = RTEST(with_objects);
    t->by_ticks = rpp_tick_clock_is_usable();
    t->events = RB_RPP_CALLS_OF_RUBY | (RTEST(with_c) ? RB_RPP_CALLS_OF_C : 0) |
                (RTEST(with_blocks) ? RB_RPP_CALLS_OF_BLOCKS : 0);
    t->began_realtime_ns = rpp_realtime_ns();
    rb_rpp_process_follow_forks();
    return object;
}

/* The calls of this thread do not count: it traces for a peer. Before the first resume. */
static VALUE native_calls_by(VALUE self, VALUE object, VALUE thread)
{
    rb_rpp_tracing_of(object)->tracer = thread;
    return Qnil;
}

static VALUE native_calls_pause(VALUE self, VALUE object)
{
    tracing *t = rb_rpp_tracing_of(object);
    if (t != rb_rpp_call_hook_tracing()) return Qfalse;
    halt(t);
    return Qtrue;
}

/* Also the first time. False: calls are traced already. */
static VALUE native_calls_resume(VALUE self, VALUE object)
{
    if (rb_rpp_call_hook_tracing()) return Qfalse;
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
 *   allocations  whether they were counted
 *   start_time_ns, duration_ns, events, nodes, bytes, node_bytes     by_ticks  of the processor's counter
 *   lost  calls without memory     unseen_stacks     full, methods_full, roots_full  a limit was met */
static VALUE native_calls_facts(VALUE self, VALUE object)
{
    const tracing *t = rb_rpp_tracing_of(object);
    if (t == rb_rpp_call_hook_tracing()) rb_raise(rb_eRuntimeError, "calls are still traced");
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
    rb_rpp_put(facts, "methods_full", rpp_call_methods_is_full(t->methods) ? Qtrue : Qfalse);
    rb_rpp_put(facts, "roots_full", rpp_call_tree_has_too_many_roots(t->trace.tree) ? Qtrue : Qfalse);
    rb_rpp_put(facts, "allocations", t->with_objects ? Qtrue : Qfalse);
    rb_rpp_put(facts, "by_ticks", t->by_ticks ? Qtrue : Qfalse);
    rb_rpp_put(facts, "nodes", UINT2NUM(rpp_call_tree_count(t->trace.tree)));
    rb_rpp_put(facts, "bytes", ULL2NUM(rpp_call_tree_bytes(t->trace.tree)));
    RB_GC_GUARD(object);
    return facts;
}

/* The tree has all of them, in nanoseconds, also with updates. */
static void end_times(tracing *t)
{
    if (t->changes)
        rpp_call_changes_give_back(t->changes, t->trace.tree, t->traced_ns, t->traced_ticks);
    else if (t->by_ticks)
        rpp_call_tree_scale(t->trace.tree, t->traced_ns, t->traced_ticks);
    rpp_call_changes_free(t->changes);
    t->changes = NULL;
}

/* See rb_call_result.h. */
static VALUE native_calls_result(VALUE self, VALUE object, VALUE as, VALUE costs)
{
    tracing *t = rb_rpp_tracing_of(object);
    if (t == rb_rpp_call_hook_tracing()) rb_raise(rb_eRuntimeError, "calls are still traced");
    end_times(t);
    rpp_call_tree_limit_states(t->trace.tree);
    VALUE result =
        rb_rpp_call_result(t->trace.tree, t->callees, rpp_call_methods_end(t->methods), t->objects, as, costs);
    RB_GC_GUARD(object);
    return result;
}

/* A C method that does nothing, to measure what tracing one costs. */
static VALUE native_nothing(VALUE self)
{
    return Qnil;
}

/* --- life --- */

/* The thread that traced in the parent has the result; here nothing keeps the tree. */
static void discard_after_fork(void)
{
    rb_rpp_call_hook_discard_after_fork();
    current_object = Qnil;
}

const rb_rpp_participant rb_rpp_calls_participant = {.discard_after_fork = discard_after_fork};

void rb_rpp_calls_init(VALUE native)
{
    current_object = Qnil;
    rb_gc_register_address(&current_object);
    tracing_class = rb_define_class_under(native, "Tracing", rb_cObject);
    rb_undef_alloc_func(tracing_class);
    rb_gc_register_mark_object(tracing_class);
    rb_define_singleton_method(native, "calls_new", native_calls_new, 5);
    rb_define_singleton_method(native, "calls_by", native_calls_by, 2);
    rb_define_singleton_method(native, "calls_pause", native_calls_pause, 1);
    rb_define_singleton_method(native, "calls_resume", native_calls_resume, 1);
    rb_define_singleton_method(native, "calls_facts", native_calls_facts, 1);
    rb_define_singleton_method(native, "calls_result", native_calls_result, 3);
    rb_define_singleton_method(native, "nothing", native_nothing, 0);
}
