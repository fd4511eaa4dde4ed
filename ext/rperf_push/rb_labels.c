/* rb_labels.c - labels of the current fiber: RperfPush.label and what the sampler reads of it. */
#include "rb_labels.h"

#include "rb_hooks.h"
#include "rb_sampler.h"

#define CHANGES_MAX 64

static VALUE fiber_class; /* Ruby exports no rb_cFiber */
static ID id_aref, id_aset, id_to_s;
static VALUE storage_key;
static bool in_use; /* some label was set in this process */

static void free_set(void *set)
{
    rpp_label_set_release(set);
}

static const rb_data_type_t set_type = {
    .wrap_struct_name = "rperf_push/label_set",
    .function = {.dfree = free_set},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE,
};

static VALUE stored(void)
{
    return rb_funcall(fiber_class, id_aref, 1, storage_key);
}

static rpp_label_set *set_of(VALUE wrapper)
{
    return NIL_P(wrapper) ? NULL : RTYPEDDATA_GET_DATA(wrapper);
}

rpp_label_set *rb_rpp_labels_current(void)
{
    return in_use ? set_of(stored()) : NULL;
}

static void store(VALUE wrapper)
{
    rb_funcall(fiber_class, id_aset, 2, storage_key, wrapper);
    rb_rpp_labels_changed(set_of(wrapper));
}

/* --- Hash -> changes --- */

typedef struct changes {
    rpp_label items[CHANGES_MAX];
    size_t count;
    VALUE kept; /* the strings that items point into */
} changes;

static rpp_label *add_change(changes *c)
{
    if (c->count == CHANGES_MAX) rb_raise(rb_eArgError, "more than %d labels", CHANGES_MAX);
    return &c->items[c->count++];
}

static VALUE text_of(VALUE value, VALUE kept)
{
    VALUE text = SYMBOL_P(value) ? rb_sym2str(value) : rb_funcall(value, id_to_s, 0);
    StringValue(text);
    rb_ary_push(kept, text);
    return text;
}

static int add_pair(VALUE key, VALUE value, VALUE argument)
{
    changes *c = (changes *)argument;
    rpp_label *label = add_change(c);
    VALUE key_text = text_of(key, c->kept);
    label->key = RSTRING_PTR(key_text);
    label->key_length = (uint32_t)RSTRING_LEN(key_text);
    label->value = NULL;
    if (!NIL_P(value)) {
        VALUE value_text = text_of(value, c->kept);
        label->value = RSTRING_PTR(value_text);
        label->value_length = (uint32_t)RSTRING_LEN(value_text);
    }
    return ST_CONTINUE;
}

static VALUE merged(VALUE base, VALUE hash)
{
    Check_Type(hash, T_HASH);
    changes c = {.count = 0, .kept = rb_ary_new()};
    rb_hash_foreach(hash, add_pair, (VALUE)&c);
    VALUE wrapper = TypedData_Wrap_Struct(rb_cObject, &set_type, NULL);
    rpp_label_set *set;
    rpp_status status = rpp_label_set_merge(set_of(base), c.items, c.count, &set);
    RB_GC_GUARD(c.kept);
    if (status == RPP_LIMIT) rb_raise(rb_eArgError, "more than %d labels", CHANGES_MAX);
    if (status != RPP_OK) rb_memerror();
    if (!set) return Qnil;
    RTYPEDDATA(wrapper)->data = set;
    rb_obj_freeze(wrapper);
    return wrapper;
}

/* --- methods of Native --- */

/* While nothing is sampled, labels are worth nothing. A forked child may only have to come to its restart. */
static bool are_wanted(void)
{
    if (rb_rpp_sampler_is_attached()) return true;
    rb_thread_check_ints();
    return rb_rpp_sampler_is_attached();
}

static VALUE native_label(VALUE self, VALUE hash)
{
    if (!are_wanted()) return Qnil;
    in_use = true;
    store(merged(stored(), hash));
    return Qnil;
}

static VALUE restore(VALUE before)
{
    store(before);
    return Qnil;
}

static VALUE native_with_labels(VALUE self, VALUE hash)
{
    if (!are_wanted()) return rb_yield_values(0);
    in_use = true;
    VALUE before = stored();
    store(merged(before, hash));
    return rb_ensure(rb_yield, Qundef, restore, before);
}

static VALUE native_labels(VALUE self)
{
    VALUE hash = rb_hash_new();
    const rpp_label_set *set = rb_rpp_labels_current();
    for (size_t i = 0; i < rpp_label_set_count(set); i++) {
        rpp_label label = rpp_label_set_at(set, i);
        rb_hash_aset(hash, ID2SYM(rb_intern3(label.key, label.key_length, rb_utf8_encoding())),
                     rb_utf8_str_new(label.value, label.value_length));
    }
    return hash;
}

void rb_rpp_labels_init(VALUE native)
{
    fiber_class = rb_const_get(rb_cObject, rb_intern("Fiber"));
    id_aref = rb_intern("[]");
    id_aset = rb_intern("[]=");
    id_to_s = rb_intern("to_s");
    storage_key = ID2SYM(rb_intern("__rperf_push_labels__"));
    rb_define_singleton_method(native, "label", native_label, 1);
    rb_define_singleton_method(native, "with_labels", native_with_labels, 1);
    rb_define_singleton_method(native, "labels", native_labels, 0);
}
