/* rb_call_hook.c - what happens at each call and return while calls are traced: the VM's events become a call tree. */
#include "calls/rb_call_hook.h"

#include <time.h>

#include "calls/rb_call_objects.h"
#include "calls/rb_call_states.h"
#include "captures/rb_alloc_counts.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/tick_clock.h"
#include "sampler/rb_hooks.h"
#include "sampler/rb_sampler.h"
#include "threads/rb_threads.h"

/* One piece of code with the hook: a call of a function would be a fifth of its time. */
#define HOT inline __attribute__((always_inline))

#define STACKS_MAX 65536u /* of threads and fibers that are alive at the same time */

typedef rb_rpp_tracing tracing;
typedef rb_rpp_inspected_stack seen_stack;
typedef rb_rpp_call_root root;

static tracing *current; /* runs; NULL: none */

static inline rpp_call_reading read_clocks(const tracing *t)
{
    return (rpp_call_reading){.wall_ns = t->by_ticks ? rpp_tick_clock_read() : rpp_monotonic_ns(),
                              .cpu_ns = t->with_cpu ? rpp_cpu_clock_ns(CLOCK_PROCESS_CPUTIME_ID) : 0,
                              .objects = t->with_objects ? rb_rpp_alloc_counter() : 0};
}

/* At the ends of the trace, where both clocks together tell what a tick is worth. */
static rpp_call_reading read_end(const tracing *t, uint64_t *now_ns)
{
    rpp_call_reading now = read_clocks(t);
    rpp_tick_instant moment = t->by_ticks ? rpp_tick_clock_now() : (rpp_tick_instant){now.wall_ns, now.wall_ns};
    *now_ns = moment.ns;
    now.wall_ns = moment.ticks;
    return now;
}

static uint32_t id_of(tracing *t, const rb_rpp_callee *callee)
{
    bool is_new;
    uint32_t id = rpp_call_methods_intern(t->methods, callee->key, &is_new);
    if (is_new) t->callees[id] = *callee;
    return id;
}

/* --- stacks --- */

/* The root for a stack of this thread. A thread's first stack is its own, others are its fibers'. */
static const root *root_of(tracing *t, VALUE thread, const rb_rpp_vm_stack *vm)
{
    bool is_of_fibers = !rb_rpp_vm_stack_is_root(vm, thread);
    for (uint32_t i = 0; i < t->root_count; i++) {
        if (t->roots[i].thread == thread && t->roots[i].is_of_fibers == is_of_fibers) return &t->roots[i];
    }
    uint32_t node = rpp_call_tree_root(t->trace.tree, t->root_count);
    if (t->root_count == RPP_CALL_ROOTS_MAX) return &t->roots[RPP_CALL_ROOTS_MAX - 1];
    root *fresh = &t->roots[t->root_count++];
    *fresh = (root){thread, is_of_fibers, node};
    return fresh;
}

typedef struct opening {
    tracing *tracing;
    seen_stack *stack;
} opening;

static void open_call(const rb_rpp_callee *callee, uint32_t depth, void *context)
{
    opening *o = context;
    if (callee->kind == RB_RPP_CALL_C && !(o->tracing->events & RB_RPP_CALLS_OF_C)) return;
    if (callee->kind == RB_RPP_CALL_BLOCK && !(o->tracing->events & RB_RPP_CALLS_OF_BLOCKS)) return;
    rpp_call_trace_open(&o->tracing->trace, &o->stack->calls, depth, id_of(o->tracing, callee), callee->code);
}

/* A stack that is seen for the first time, or whose place belonged to another one before. */
static void begin_stack(tracing *t, seen_stack *stack, VALUE thread, const VALUE *last_frame, uint64_t now_ns)
{
    stack->thread = thread;
    stack->calls.root = root_of(t, thread, &stack->vm)->node;
    rpp_call_tree_touch(t->trace.tree, stack->calls.root);
    stack->calls.count = 0;
    stack->calls.left_ns = now_ns;
    stack->calls.suspended_ns = 0;
    stack->is_over = false;
    opening o = {t, stack};
    if (thread != t->tracer) rb_rpp_vm_stack_each(&stack->vm, last_frame, open_call, &o);
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
    stack->vm.ec = ec;
    t->stacks[t->stack_count] = stack;
    rpp_hash_index_add(&t->stacks_by_ec, hash, (uint32_t)t->stack_count++);
    return stack;
}

/* Its thread runs this stack. What the thread has been since its last event belongs to the call that is on top now. */
static void flush(tracing *t, seen_stack *stack, rpp_call_reading now)
{
    rb_rpp_thread *thread = rb_rpp_thread_of(stack->thread);
    if (thread) rpp_call_thread_runs(&thread->calls, &stack->calls, t->trace.tree, now.wall_ns);
}

/* A thread gets its record when it begins, maybe after the first event of its stack. */
static rb_rpp_thread *adopt(seen_stack *stack)
{
    rb_rpp_thread *thread = rb_rpp_thread_of(stack->thread);
    if (thread && !thread->calls.stack) thread->calls.stack = &stack->calls;
    return thread;
}

/* The stack that it ran last may be over, and its place another one's soon. */
static void flush_thread(tracing *t, VALUE thread, rpp_call_reading now)
{
    rb_rpp_thread *record = rb_rpp_thread_of(thread);
    if (record && record->calls.stack)
        rpp_call_thread_runs(&record->calls, record->calls.stack, t->trace.tree, now.wall_ns);
}

/* An event of another stack than the last one. */
static void change_stack(tracing *t, const rb_trace_arg_t *event, rpp_call_reading now)
{
    bool is_new;
    VALUE thread = rb_thread_current();
    const VALUE *ec = rb_rpp_event_ec(event), *frame = rb_rpp_event_frame(event);
    seen_stack *stack = rb_rpp_in_main_ractor() ? stack_at(t, ec, &is_new) : NULL;
    /* The fiber that ran before is alive, at least until this event is over. */
    if (t->running && rb_rpp_event_flag(event) == RUBY_EVENT_FIBER_SWITCH && t->running->thread == thread)
        t->running->is_over = rb_rpp_vm_stack_is_gone(&t->running->vm);
    t->ec = ec;
    t->running = stack;
    if (!stack) {
        t->unseen_stacks++;
        rpp_call_trace_switch(&t->trace, NULL, now);
        return;
    }
    stack->vm = rb_rpp_vm_stack_of(ec);
    bool begins = rb_rpp_vm_stack_depth(&stack->vm, frame) <= rb_rpp_vm_frame_depth();
    flush_thread(t, thread, now);
    if (is_new || begins || stack->is_over || stack->thread != thread)
        begin_stack(t, stack, thread, frame, now.wall_ns);
    rpp_call_trace_switch(&t->trace, &stack->calls, now);
    flush(t, stack, now);
}

/* The event is not known to be of the stack of the last one, or states have passed since. Returns whether it counts. */
static __attribute__((noinline)) bool look_around(tracing *t, const rb_trace_arg_t *event, rpp_call_reading now)
{
    const VALUE *ec = rb_rpp_event_ec(event);
    bool is_same = t->running && !t->running->is_over && t->running->vm.ec == ec;
    if (ec == t->tracer_ec) return false;
    if (!is_same || t->ec) {
        change_stack(t, event, now);
    } else {
        t->ec = t->running->vm.ec;
        adopt(t->running);
        flush(t, t->running, now);
    }
    return t->running;
}

/* A new fiber has nothing on its stack yet. */
static void arrive_in_fiber(tracing *t, uint32_t depth, rpp_call_reading now)
{
    if (depth <= rb_rpp_vm_frame_depth()) rpp_call_tree_node(t->trace.tree, t->running->calls.root)->calls++;
    rpp_call_trace_unwind(&t->trace, depth, now);
}

static void end_thread(tracing *t, rpp_call_reading now)
{
    rpp_call_trace_unwind(&t->trace, 0, now);
    t->running->is_over = true;
    t->ec = NULL; /* its place in memory may be the next thread's */
}

/* --- calls --- */

/* The VM says nothing of the returns that a SystemStackError causes. So whatever is on top must be where its code
 * is. */
static HOT void drop_what_is_gone(tracing *t, uint32_t depth)
{
    rpp_call_stack *calls = &t->running->calls;
    while (calls->count) {
        const rpp_call_entry *top = &calls->entries[calls->count - 1];
        bool is_there = !top->code || rb_rpp_frame_code(t->running->vm.end - top->depth) == top->code;
        if (top->depth < depth && is_there) return;
        calls->count--;
    }
}

/* Its node below this one, in two steps, and the next time in one. Methods past the limit may be gone when their place
 * is looked at. */
static uint32_t look_up(tracing *t, uint32_t parent, const rb_rpp_callee *callee)
{
    uint32_t id = id_of(t, callee);
    uint32_t child = rpp_call_tree_called(t->trace.tree, t->running->calls.root, parent, id);
    if (id != RPP_CALL_OTHER)
        *rpp_call_shortcut_at(&t->shortcuts, parent, &callee->key) = (rpp_call_shortcut){callee->key, parent, child};
    return child;
}

static uint32_t look_up_method(tracing *t, rb_trace_arg_t *event, uint32_t parent, const rpp_call_key *key, VALUE entry)
{
    rb_rpp_callee callee = rb_rpp_callee_of_method(key, rb_rpp_event_frame(event), entry);
    if (entry && !t->is_method_verified && rb_rpp_event_flag(event) == RUBY_EVENT_CALL) {
        t->is_wrong |= !rb_rpp_callee_verify(&callee, event);
        t->is_right = !t->is_wrong;
        t->is_method_verified = true;
    }
    return look_up(t, parent, &callee);
}

/* Time goes to the call on top, and what is gone is dropped. The node that calls now. */
static HOT uint32_t arrive(tracing *t, uint32_t depth, rpp_call_reading now)
{
    rpp_call_trace_charge(&t->trace, now);
    t->trace.events++;
    drop_what_is_gone(t, depth);
    return rpp_call_stack_top(&t->running->calls);
}

static HOT void enter_c(tracing *t, const rb_trace_arg_t *event, uint32_t depth, rpp_call_reading now)
{
    rpp_call_key key = rb_rpp_event_c_key(event);
    depth += rb_rpp_vm_frame_depth();
    uint32_t parent = arrive(t, depth, now);
    const rpp_call_shortcut *known = rpp_call_shortcut_at(&t->shortcuts, parent, &key);
    uint32_t node = known->child;
    if (!rpp_call_shortcut_is(known, parent, &key)) {
        rb_rpp_callee callee = rb_rpp_callee_of_c(&key);
        node = look_up(t, parent, &callee);
    }
    rpp_call_trace_push(&t->trace, (rpp_call_entry){depth, node, 0});
}

/* The frame is gone already, but not if the call ends by an exception. */
static HOT void leave_c(tracing *t, const VALUE *frame, uint32_t depth, rpp_call_reading now)
{
    bool is_there = rpp_call_stack_depth(&t->running->calls) <= depth && rb_rpp_frame_is_in_c(frame);
    rpp_call_trace_leave(&t->trace, is_there ? depth : depth + rb_rpp_vm_frame_depth(), now);
}

static HOT void enter_method(tracing *t, rb_trace_arg_t *event, uint32_t depth, rpp_call_reading now)
{
    const VALUE *frame = rb_rpp_event_frame(event);
    VALUE entry = rb_rpp_frame_entry(frame);
    rpp_call_key key = rb_rpp_frame_method_key(frame, entry);
    uint32_t parent = arrive(t, depth, now);
    const rpp_call_shortcut *known = rpp_call_shortcut_at(&t->shortcuts, parent, &key);
    uint32_t node = known->child;
    if (!rpp_call_shortcut_is(known, parent, &key)) node = look_up_method(t, event, parent, &key, entry);
    rpp_call_trace_push(&t->trace, (rpp_call_entry){depth, node, rb_rpp_frame_code(frame)});
}

/* A block that is a method has had a RUBY_EVENT_CALL, and will have a RUBY_EVENT_RETURN. */
static void enter_block(tracing *t, const VALUE *frame, uint32_t depth, rpp_call_reading now)
{
    if (rb_rpp_frame_is_block_method(frame)) return;
    rb_rpp_callee callee = rb_rpp_callee_of_block(frame);
    uint32_t parent = arrive(t, depth, now);
    const rpp_call_shortcut *known = rpp_call_shortcut_at(&t->shortcuts, parent, &callee.key);
    uint32_t node = rpp_call_shortcut_is(known, parent, &callee.key) ? known->child : look_up(t, parent, &callee);
    rpp_call_trace_push(&t->trace, (rpp_call_entry){depth, node, callee.code});
}

/* --- the hook --- */

static void on_event(VALUE unused, rb_trace_arg_t *event);

/* As the VM wants it, although with RUBY_EVENT_HOOK_FLAG_RAW_ARG it calls it otherwise. */
static const rb_event_hook_func_t hook = (rb_event_hook_func_t)(void (*)(void))on_event;

static bool verify(tracing *t, rb_trace_arg_t *event)
{
    if (!t->is_wrong) t->is_wrong = !rb_rpp_call_frames_verify(event);
    return t->is_right = !t->is_wrong;
}

static void remove_hooks(void)
{
    rb_remove_event_hook_with_data(hook, Qnil);
    rb_rpp_call_objects_halt();
}

/* The call on top, as for the counter: rpp_call_trace_charge. */
static bool place_of_object(rb_trace_arg_t *event, uint32_t *node)
{
    tracing *t = current;
    if (!t || !t->running) return false;
    if (!t->is_right && !verify(t, event)) return false;
    *node = rpp_call_stack_top(&t->running->calls);
    return true;
}

static void on_event(VALUE unused, rb_trace_arg_t *event)
{
    tracing *t = current;
    if (RB_UNLIKELY(!t)) remove_hooks(); /* in a forked child */
    if (RB_UNLIKELY(!t) || (RB_UNLIKELY(!t->is_right) && !verify(t, event))) return;
    rpp_call_reading now = read_clocks(t);
    if (RB_UNLIKELY(rb_rpp_event_ec(event) != t->ec) && !look_around(t, event, now)) return;
    if (RB_UNLIKELY(!t->running)) return;
    const VALUE *frame = rb_rpp_event_frame(event);
    uint32_t depth = rb_rpp_vm_stack_depth(&t->running->vm, frame);
    switch (rb_rpp_event_flag(event)) {
    case RUBY_EVENT_CALL: enter_method(t, event, depth, now); break;
    case RUBY_EVENT_RETURN: rpp_call_trace_leave(&t->trace, depth, now); break;
    case RUBY_EVENT_C_CALL:
        if (rb_rpp_event_has_frame(event))
            enter_method(t, event, depth, now);
        else
            enter_c(t, event, depth, now);
        break;
    case RUBY_EVENT_C_RETURN:
        if (rb_rpp_event_has_frame(event))
            rpp_call_trace_leave(&t->trace, depth, now);
        else
            leave_c(t, frame, depth, now);
        break;
    case RUBY_EVENT_B_CALL: enter_block(t, frame, depth, now); break;
    case RUBY_EVENT_B_RETURN:
        if (!rb_rpp_frame_is_block_method(frame)) rpp_call_trace_leave(&t->trace, depth, now);
        break;
    case RUBY_EVENT_FIBER_SWITCH: arrive_in_fiber(t, depth, now); break;
    case RUBY_EVENT_THREAD_END: end_thread(t, now); break;
    default: t->ec = NULL; break; /* a thread begins: its stack is known now, its record with the next event */
    }
}

/* --- start and stop --- */

rb_rpp_tracing *rb_rpp_call_hook_tracing(void)
{
    return current;
}

static void open_thread(tracing *t, VALUE thread, rpp_call_reading now)
{
    bool is_new;
    rb_rpp_vm_stack vm = rb_rpp_vm_stack_of_thread(thread);
    seen_stack *stack = vm.end ? stack_at(t, vm.ec, &is_new) : NULL;
    if (!stack) return;
    stack->vm = vm;
    begin_stack(t, stack, thread, NULL, now.wall_ns);
    rb_rpp_thread *record = rb_rpp_thread_of(thread);
    if (record) record->calls.stack = &stack->calls;
    if (thread == t->tracer) t->tracer_ec = vm.ec;
    if (thread != (t->tracer ? rb_thread_main() : rb_thread_current())) return;
    t->ec = t->tracer ? NULL : vm.ec; /* the first thread that calls */
    t->running = stack;
    rpp_call_trace_switch(&t->trace, &stack->calls, now);
}

void rb_rpp_call_hook_go(rb_rpp_tracing *t)
{
    VALUE threads = rb_funcall(rb_cThread, rb_intern("list"), 0);
    rb_rpp_sampler_follow_threads();
    rb_rpp_call_states_prepare(threads);
    if (current) rb_raise(rb_eRuntimeError, "calls are traced already"); /* by another thread, meanwhile */
    rb_rpp_sampler_follow_threads(); /* again, if the last session has ended meanwhile */
    rb_rpp_hooks_know_current();
    rpp_call_reading now = read_end(t, &t->began_ns);
    rb_rpp_call_states_begin(t->by_ticks, now.wall_ns, &t->ec);
    t->began_ticks = now.wall_ns;
    for (size_t i = 0; i < t->stack_count; i++) t->stacks[i]->is_over = true;
    t->trace.last = now;
    for (long i = 0; i < RARRAY_LEN(threads); i++) open_thread(t, RARRAY_AREF(threads, i), now);
    RB_GC_GUARD(threads);
    current = t;
    rb_remove_event_hook_with_data(hook, Qnil); /* of a parent */
    rb_rpp_call_objects_go(t->objects, place_of_object);
    rb_add_event_hook2(hook, t->events, Qnil, RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG);
}

/* Of a stack that is alive: what its call on top was until now. */
static void flush_at_end(tracing *t, seen_stack *stack, uint64_t now_ns)
{
    rb_rpp_thread *thread = adopt(stack);
    rpp_call_trace_wait(&t->trace, &stack->calls, now_ns);
    if (thread && thread->calls.stack == &stack->calls)
        rpp_call_thread_flush(&thread->calls, t->trace.tree, now_ns);
    else if (stack->calls.suspended_ns)
        rpp_call_stack_suspended(&stack->calls, t->trace.tree, now_ns);
}

/* Of another thread's stack, whose record is the parent's. */
static void flush_in_child(tracing *t, seen_stack *stack, uint64_t now_ns)
{
    rpp_call_trace_wait(&t->trace, &stack->calls, now_ns);
}

/* All calls have run until now. No stack runs afterwards. */
static void count_until_now(tracing *t, void (*flush)(tracing *, seen_stack *, uint64_t))
{
    uint64_t now_ns;
    rpp_call_reading now = read_end(t, &now_ns);
    if (now.cpu_ns < t->trace.last.cpu_ns) now.cpu_ns = t->trace.last.cpu_ns; /* a forked child's begins at zero */
    rpp_call_trace_switch(&t->trace, NULL, now);
    if (now.wall_ns < t->trace.last.wall_ns) now = t->trace.last;
    for (size_t i = 0; i < t->stack_count; i++) {
        if (!t->stacks[i]->is_over) flush(t, t->stacks[i], now.wall_ns);
    }
    t->traced_ns += now_ns - t->began_ns;
    t->traced_ticks += now.wall_ns - t->began_ticks;
    t->began_ns = now_ns;
    t->began_ticks = now.wall_ns;
}

void rb_rpp_call_hook_flush(rb_rpp_tracing *t)
{
    rpp_call_stack *running = t->trace.running;
    count_until_now(t, flush_at_end);
    rpp_call_trace_switch(&t->trace, running, t->trace.last);
}

static void end_times(tracing *t, void (*flush)(tracing *, seen_stack *, uint64_t))
{
    count_until_now(t, flush);
    t->running = NULL;
    t->ec = NULL;
}

void rb_rpp_call_hook_halt(rb_rpp_tracing *t)
{
    remove_hooks();
    rb_rpp_call_states_end();
    rb_rpp_sampler_leave_threads();
    current = NULL;
    end_times(t, flush_at_end);
}

/* What the parent traced until the fork is in the child, too: a block that both leave returns it. */
void rb_rpp_call_hook_discard_after_fork(void)
{
    tracing *t = current;
    rb_rpp_call_states_end();
    rb_rpp_call_objects_discard_after_fork();
    current = NULL;
    if (t) end_times(t, flush_in_child);
}
