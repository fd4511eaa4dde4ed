/* rb_thread_methods.c - what only Ruby's methods say of threads: the methods as they were when the gem was loaded. */
#include "vm/rb_thread_methods.h"

#include <string.h>

/* Methods: a Method keeps its definition, whatever its name means later. */
static VALUE list, call_status, call_native_id;

static VALUE kept(VALUE method)
{
    rb_gc_register_mark_object(method);
    return method;
}

/* UnboundMethod#bind_call of the instance method, which is called with the thread. */
static VALUE caller_of(const char *name)
{
    VALUE unbound = rb_funcall(rb_cThread, rb_intern("instance_method"), 1, ID2SYM(rb_intern(name)));
    return kept(rb_obj_method(unbound, ID2SYM(rb_intern("bind_call"))));
}

void rb_rpp_thread_methods_init(void)
{
    list = kept(rb_obj_method(rb_cThread, ID2SYM(rb_intern("list"))));
    call_status = caller_of("status");
    call_native_id = caller_of("native_thread_id");
}

VALUE rb_rpp_thread_list(void)
{
    return rb_method_call(0, NULL, list);
}

bool rb_rpp_thread_is_asleep(VALUE thread)
{
    static const char asleep[] = "sleep";
    VALUE status = rb_method_call(1, &thread, call_status);
    return RB_TYPE_P(status, T_STRING) && strncmp(RSTRING_PTR(status), asleep, sizeof asleep - 1) == 0;
}

pid_t rb_rpp_thread_native_id(VALUE thread)
{
    VALUE id = rb_method_call(1, &thread, call_native_id);
    return FIXNUM_P(id) ? (pid_t)FIX2LONG(id) : 0;
}
