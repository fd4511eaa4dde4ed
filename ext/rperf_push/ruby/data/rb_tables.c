/* rb_tables.c - gives Ruby the core's tables: values of a profile, states of a thread, reasons of failed uploads. */
#include "data/rb_tables.h"

#include "core/base/value_types.h"
#include "core/http/http_failure.h"
#include "core/sampling/states.h"

/* mode => the bits of its values. */
static VALUE native_modes(VALUE self)
{
    VALUE modes = rb_hash_new();
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        const char *mode = rpp_value_types[value].mode;
        rb_hash_aset(modes, ID2SYM(rb_intern(mode)), UINT2NUM(rpp_mode_of(mode, strlen(mode))));
    }
    return modes;
}

/* [type, unit, the number of its group, mode, whether it is a level] of each value. */
static VALUE native_value_types(VALUE self)
{
    VALUE types = rb_ary_new();
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        const rpp_value_type *known = &rpp_value_types[value];
        VALUE row[] = {rb_utf8_str_new_cstr(known->type), rb_utf8_str_new_cstr(known->unit), UINT2NUM(known->group),
                       ID2SYM(rb_intern(known->mode)), known->scaled_by == RPP_LEVEL ? Qtrue : Qfalse};
        rb_ary_push(types, rb_ary_new_from_values(5, row));
    }
    return types;
}

/* [name, type and unit of its period, whether it has levels] of each group, by number. */
static VALUE native_value_groups(VALUE self)
{
    VALUE groups = rb_ary_new();
    for (unsigned group = 0; group < RPP_GROUP_COUNT; group++) {
        const rpp_value_group_type *known = &rpp_value_groups[group];
        bool has_levels = rpp_group_mode(group) & rpp_level_mode();
        VALUE row[] = {rb_utf8_str_new_cstr(known->name), rb_utf8_str_new_cstr(known->period_type),
                       rb_utf8_str_new_cstr(known->period_unit), has_levels ? Qtrue : Qfalse};
        rb_ary_push(groups, rb_ary_new_from_values(4, row));
    }
    return groups;
}

/* [number, key, value, frame, title] of each state that has a label. */
static VALUE native_states(VALUE self)
{
    VALUE states = rb_ary_new();
    for (unsigned state = 0; state < RPP_STATE_COUNT; state++) {
        const rpp_state_name *named = &rpp_state_names[state];
        if (!named->key) continue;
        VALUE row[] = {UINT2NUM(state), rb_utf8_str_new_cstr(named->key), rb_utf8_str_new_cstr(named->value),
                       rb_utf8_str_new_cstr(named->frame), rb_utf8_str_new_cstr(named->title)};
        rb_ary_push(states, rb_ary_new_from_values(5, row));
    }
    return states;
}

/* Codes of Native.deliver. */
static VALUE native_failures(VALUE self)
{
    VALUE names = rb_ary_new();
#define X(id, name) rb_ary_push(names, ID2SYM(rb_intern(name)));
    RPP_FAILURES(X)
#undef X
    return names;
}

void rb_rpp_tables_init(VALUE native)
{
    rb_define_singleton_method(native, "modes", native_modes, 0);
    rb_define_singleton_method(native, "value_types", native_value_types, 0);
    rb_define_singleton_method(native, "value_groups", native_value_groups, 0);
    rb_define_singleton_method(native, "states", native_states, 0);
    rb_define_singleton_method(native, "failures", native_failures, 0);
}
