/* rb_call_objects.c - the objects that are created while calls are traced: how many, by call, class, file and line. */
#include "calls/rb_call_objects.h"

#include "calls/rb_call_frames.h"
#include "threads/rb_threads.h"
#include "vm/rb_new_object.h"

static rpp_call_objects *table; /* NULL: none are counted */
static rb_rpp_call_objects_place place_of;

/* --- the hook --- */

static void on_new_object(VALUE unused, rb_trace_arg_t *event)
{
    rpp_call_object kind;
    if (!rb_rpp_in_main_ractor() || !table || !place_of(event, &kind.node)) return;
    VALUE object = rb_tracearg_object(event), line = rb_tracearg_lineno(event);
    kind.klass = rb_rpp_class_of_new(object);
    kind.code = rb_rpp_event_code(event);
    kind.line = kind.code && FIXNUM_P(line) ? (uint32_t)FIX2LONG(line) : 0;
    rpp_call_objects_add(table, &kind, rb_gc_obj_slot_size(object));
}

/* As the VM wants it, although with RUBY_EVENT_HOOK_FLAG_RAW_ARG it calls it otherwise. */
static const rb_event_hook_func_t hook = (rb_event_hook_func_t)(void (*)(void))on_new_object;

void rb_rpp_call_objects_go(rpp_call_objects *objects, rb_rpp_call_objects_place place)
{
    rb_remove_event_hook_with_data(hook, Qnil); /* of a parent */
    if (!objects) return;
    table = objects;
    place_of = place;
    rb_add_event_hook2(hook, RUBY_INTERNAL_EVENT_NEWOBJ, Qnil,
                       RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG);
}

void rb_rpp_call_objects_halt(void)
{
    rb_remove_event_hook_with_data(hook, Qnil);
    table = NULL;
}

void rb_rpp_call_objects_discard_after_fork(void)
{
    table = NULL;
}

void rb_rpp_call_objects_mark(const rpp_call_objects *objects)
{
    for (uint32_t i = 0; objects && i < rpp_call_objects_count(objects); i++) {
        const rpp_call_object *kind = rpp_call_objects_at(objects, i);
        if (kind->klass) rb_gc_mark(kind->klass);
        if (kind->code) rb_gc_mark(kind->code);
    }
}
