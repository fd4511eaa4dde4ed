/* rb_call_updates.c - what calls do while they are traced, for a viewer: again and again what is new
 * (core/calls). */
#include "calls/rb_call_updates.h"

#include <stdio.h>

#include "calls/rb_call_result.h"
#include "calls/rb_calls.h"
#include "core/base/alloc.h"
#include "core/calls/call_fold.h"
#include "core/calls/call_update.h"
#include "threads/rb_threads.h"
#include "vm/rb_values.h"

#define UPDATE_MAX_BYTES (12u * 1024u * 1024u) /* an outbox has room for one */
#define MOST_NODES       10000u /* of an update: the GVL is held for some milliseconds. Others are of the next one */

typedef rb_rpp_tracing tracing;

static tracing *watched(VALUE object)
{
    tracing *t = rb_rpp_tracing_of(object);
    if (!t->changes) rb_raise(rb_eRuntimeError, "nobody looks on");
    return t;
}

/* Before the first resume: updates will be asked for. */
static VALUE native_calls_follow(VALUE self, VALUE object, VALUE costs)
{
    tracing *t = rb_rpp_tracing_of(object);
    rpp_call_cost by_kind[RB_RPP_CALL_KINDS];
    if (t->changes || t->began_ns) rb_raise(rb_eRuntimeError, "it has begun already");
    rb_rpp_call_costs(costs, by_kind);
    t->changes = rpp_call_changes_new(t->trace.tree, by_kind, RB_RPP_CALL_KINDS);
    if (!t->changes) rb_memerror();
    RB_GC_GUARD(object);
    return Qnil;
}

/* --- names --- */

/* [methods as rb_rpp_call_description has them, roots as [thread, whether of its fibers]]: those without a name. */
static VALUE native_calls_unnamed(VALUE self, VALUE object)
{
    const tracing *t = watched(object);
    VALUE methods = rb_ary_new(), roots = rb_ary_new();
    uint32_t end = rpp_call_methods_end(t->methods);
    for (uint32_t id = rpp_call_changes_named(t->changes); id < end; id++)
        rb_ary_push(methods, rb_rpp_call_description(&t->callees[id]));
    for (uint32_t i = t->told_roots; i < t->root_count; i++)
        rb_ary_push(roots, rb_assoc_new(t->roots[i].thread, t->roots[i].is_of_fibers ? Qtrue : Qfalse));
    RB_GC_GUARD(object);
    return rb_assoc_new(methods, roots);
}

/* What the first methods of those become, as for calls_result, and how many of the roots have a name now. */
static VALUE native_calls_name(VALUE self, VALUE object, VALUE as, VALUE roots)
{
    tracing *t = watched(object);
    for (long i = 0; i < RARRAY_LEN(rb_rpp_array(as)); i++) {
        uint32_t id = rpp_call_changes_named(t->changes);
        VALUE name = RARRAY_AREF(as, i);
        uint32_t becomes = NIL_P(name) ? RPP_CALL_HIDDEN : NUM2UINT(name);
        if (id >= rpp_call_methods_end(t->methods) || (becomes != RPP_CALL_HIDDEN && becomes > id))
            rb_raise(rb_eRangeError, "no such method");
        rb_rpp_check(rpp_call_changes_name(t->changes, (uint8_t)t->callees[id].kind, becomes), rb_eRuntimeError);
    }
    t->told_roots += NUM2UINT(roots);
    RB_GC_GUARD(object);
    return Qnil;
}

/* --- an update --- */

/* A thread that wants the lock but for us runs. */
static const char *state_of(const tracing *t, const rb_rpp_inspected_stack *stack, const rpp_call_thread *thread)
{
    switch (thread->state) {
    case RPP_CALL_BLOCKED:
        if (!atomic_load_explicit(&thread->wanted_ns, memory_order_relaxed)) return "blocked";
        return stack == t->running ? "running" : "gvl";
    case RPP_CALL_GC_MARKING:
    case RPP_CALL_GC_SWEEPING: return "gc";
    default: return "running";
    }
}

/* The calls that are open are those on the way to it. */
static bool find_position(const tracing *t, const rb_rpp_inspected_stack *stack, rpp_call_position *position)
{
    const rb_rpp_thread *thread = rb_rpp_thread_of(stack->thread);
    if (stack->is_over || stack->vm.ec == t->tracer_ec || !thread || thread->calls.stack != &stack->calls) return false;
    position->root = rpp_call_tree_node(t->trace.tree, stack->calls.root)->method;
    position->node = rpp_call_changes_shown_as(t->changes, t->trace.tree, rpp_call_stack_top(&stack->calls));
    position->state = state_of(t, stack, &thread->calls);
    return true;
}

/* Returns whether nothing is left. */
static bool take(tracing *t)
{
    bool is_all = rpp_call_changes_take(t->changes, t->trace.tree, MOST_NODES, t->traced_ns, t->traced_ticks);
    for (size_t i = 0; i < t->stack_count; i++) rpp_call_stack_touch(&t->stacks[i]->calls, t->trace.tree);
    return is_all;
}

/* What an update is made with: freed however that ends. */
typedef struct maker {
    tracing *t;
    VALUE head;
    rpp_byte_buffer text;
    rpp_call_position *positions;
    size_t count;
} maker;

static VALUE free_maker(VALUE argument)
{
    maker *m = (maker *)argument;
    rpp_byte_buffer_destroy(&m->text);
    rpp_free(m->positions);
    return Qnil;
}

static void find_positions(maker *m)
{
    m->positions = rpp_calloc(m->t->stack_count + 1, sizeof *m->positions);
    if (!m->positions) rb_memerror();
    for (size_t i = 0; rb_rpp_call_hook_tracing() == m->t && i < m->t->stack_count; i++)
        m->count += find_position(m->t, m->t->stacks[i], &m->positions[m->count]);
}

static rpp_status write_update(maker *m)
{
    char numbers[128];
    tracing *t = m->t;
    rpp_status status = rpp_byte_sink_write(&m->text.sink, RSTRING_PTR(m->head), (size_t)RSTRING_LEN(m->head));
    if (status == RPP_OK)
        status = rpp_call_update_write(&m->text.sink, t->changes, t->told_nodes, m->positions, m->count);
    int length =
        snprintf(numbers, sizeof numbers, ",\"traced\":%llu,\"overhead\":%llu}", (unsigned long long)t->traced_ns,
                 (unsigned long long)rpp_call_changes_overhead_ns(t->changes));
    if (status == RPP_OK) status = rpp_byte_sink_write(&m->text.sink, numbers, (size_t)length);
    t->told_nodes = rpp_call_tree_count(rpp_call_changes_shown(t->changes));
    return status;
}

static bool have_names(const tracing *t)
{
    return rpp_call_changes_named(t->changes) == rpp_call_methods_end(t->methods) && t->told_roots == t->root_count;
}

/* From the look at the names on, no other thread runs. */
static VALUE make(VALUE argument)
{
    maker *m = (maker *)argument;
    if (!have_names(m->t)) return Qnil;
    if (rb_rpp_call_hook_tracing() == m->t) rb_rpp_call_hook_flush(m->t);
    bool is_all = take(m->t);
    find_positions(m);
    rb_rpp_check(write_update(m), rb_eRuntimeError);
    VALUE text = rb_utf8_str_new((const char *)m->text.bytes, (long)m->text.length);
    return rb_assoc_new(text, is_all ? Qfalse : Qtrue);
}

/* [what is new, whether there is more]. The first is JSON: `head` is its beginning, "{" and members that end with a
 * comma. nil: some methods or threads have no name. */
static VALUE native_calls_update(VALUE self, VALUE object, VALUE head)
{
    maker m = {.t = watched(object), .head = head};
    Check_Type(head, T_STRING);
    if (m.t->is_wrong) rb_raise(rb_eNotImpError, "calls cannot be traced on this Ruby");
    rpp_byte_buffer_init(&m.text, UPDATE_MAX_BYTES);
    VALUE update = rb_ensure(make, (VALUE)&m, free_maker, (VALUE)&m);
    RB_GC_GUARD(object);
    RB_GC_GUARD(head);
    return update;
}

void rb_rpp_call_updates_init(VALUE native)
{
    rb_define_singleton_method(native, "calls_follow", native_calls_follow, 2);
    rb_define_singleton_method(native, "calls_unnamed", native_calls_unnamed, 1);
    rb_define_singleton_method(native, "calls_name", native_calls_name, 3);
    rb_define_singleton_method(native, "calls_update", native_calls_update, 2);
}
