/* rb_session_folder.c - methods of Native for the folders of recorded sessions. */
#include "data/rb_session_folder.h"

#include "core/delivery/session_folder.h"

static VALUE native_session_name(VALUE self)
{
    char name[RPP_SESSION_NAME_MAX];
    rpp_session_folder_name(name);
    return rb_usascii_str_new_cstr(name);
}

static VALUE native_is_abandoned(VALUE self, VALUE directory)
{
    return rpp_session_folder_is_abandoned(StringValueCStr(directory)) ? Qtrue : Qfalse;
}

static VALUE native_is_own_session(VALUE self, VALUE directory)
{
    return rpp_session_folder_is_own(StringValueCStr(directory)) ? Qtrue : Qfalse;
}

static VALUE native_is_left_over(VALUE self, VALUE directory)
{
    return rpp_session_folder_is_left_over(StringValueCStr(directory)) ? Qtrue : Qfalse;
}

void rb_rpp_session_folder_init(VALUE native)
{
    rb_define_singleton_method(native, "session_name", native_session_name, 0);
    rb_define_singleton_method(native, "abandoned?", native_is_abandoned, 1);
    rb_define_singleton_method(native, "own_session?", native_is_own_session, 1);
    rb_define_singleton_method(native, "left_over?", native_is_left_over, 1);
}
