/* rb_labels.c - labels of the current fiber: RperfPush.label and what the sampler reads of it. */
#include "captures/rb_labels.h"

#include "captures/rb_capture.h"
#include "core/base/clock.h"
#include "threads/rb_subscribers.h"

static VALUE fiber_class; /* Ruby exports no rb_cFiber */
static ID id_aref, id_aset, id_to_s;
static VALUE storage_key;
static bool in_use; /* a label was set in this era */
/* From the first session that begins to the last one that ends. Storages keep the sets of earlier ones, which mean
 * nothing. */
static uint32_t era = 1;

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
    rpp_label_set *set = NIL_P(wrapper) ? NULL : RTYPEDDATA_GET_DATA(wrapper);
    return set && rpp_label_set_is_of(set, era) ? set : NULL;
}

rpp_label_set *rb_rpp_labels_current(void)
{
    return in_use ? set_of(stored()) : NULL;
}

/* --- the ledger of the current thread --- */

void rb_rpp_labels_changed(rpp_label_set *labels)
{
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || !t->in_ruby || t->ended || t->ledger.labels == labels) return;
    bool was_busy = rb_rpp_section_begin(t);
    rpp_ledger_relabelled(&t->ledger, labels);
    rb_rpp_section_end(t, was_busy);
}

void rb_rpp_labels_follow_fiber(void)
{
    rb_rpp_labels_changed(rb_rpp_labels_current());
}

/* Sampling is off, so no handler reads a ledger's labels. */
void rb_rpp_labels_end_era(void)
{
    era++;
    in_use = false;
    for (rb_rpp_thread *t = rb_rpp_threads_first(); t; t = rb_rpp_threads_next(t)) {
        rpp_ledger_relabelled(&t->ledger, NULL);
    }
}

/* The equal set that the current thread's ledger holds; NULL: these labels are not current. */
static rpp_label_set *kept_by_ledger(const rpp_label_set *labels)
{
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    rpp_label_set *kept = t && !t->ended ? t->ledger.labels : NULL;
    return kept && rpp_label_set_equal(kept, labels) ? kept : NULL;
}

/* Ruby may interrupt this function as soon as it has stored the set. */
static void store(VALUE wrapper)
{
    rb_rpp_labels_changed(set_of(wrapper));
    rb_funcall(fiber_class, id_aset, 2, storage_key, wrapper);
}

/* Call it first, because it may raise. */
static VALUE new_wrapper(void)
{
    return TypedData_Wrap_Struct(rb_cObject, &set_type, NULL);
}

static VALUE wrapped(VALUE wrapper, rpp_status status, rpp_label_set *set)
{
    if (status != RPP_OK) rb_memerror();
    if (!set) return Qnil;
    rpp_label_set_begin_in(set, era);
    RTYPEDDATA(wrapper)->data = set;
    rb_obj_freeze(wrapper);
    return wrapper;
}

/* --- Hash -> changes --- */

typedef struct changes {
    rpp_label *items;
    size_t count, room;
    VALUE kept; /* the strings that items point into */
} changes;

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
    if (c->count == c->room) return ST_STOP; /* a to_s has made the Hash larger */
    rpp_label *label = &c->items[c->count++];
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
    VALUE buffer;
    changes c = {.count = 0, .room = RHASH_SIZE(hash), .kept = rb_ary_new()};
    c.items = ALLOCV_N(rpp_label, buffer, c.room + 1);
    rb_hash_foreach(hash, add_pair, (VALUE)&c);
    VALUE wrapper = new_wrapper();
    rpp_label_set *set;
    rpp_status status = rpp_label_set_merge(set_of(base), c.items, c.count, &set);
    RB_GC_GUARD(c.kept);
    ALLOCV_END(buffer);
    return wrapped(wrapper, status, set);
}

VALUE rb_rpp_labels_with(VALUE changes)
{
    return merged(in_use ? stored() : Qnil, changes);
}

rpp_label_set *rb_rpp_labels_of(VALUE kept)
{
    return set_of(kept);
}

/* --- methods of Native --- */

/* Labels are needed only while something is sampled, or in a forked child that has not been restarted yet. */
static bool are_wanted(void)
{
    if (rb_rpp_subscribers_any()) return true;
    rb_thread_check_ints();
    return rb_rpp_subscribers_any();
}

static VALUE native_label(VALUE self, VALUE hash)
{
    if (!are_wanted()) return Qnil;
    in_use = true;
    store(merged(stored(), hash));
    return Qnil;
}

/* The last session may have ended within the block. */
static VALUE restore(VALUE before)
{
    store(set_of(before) ? before : Qnil);
    return Qnil;
}

static VALUE yield_under(VALUE wrapper)
{
    store(wrapper);
    return rb_yield_values(0);
}

static VALUE native_with_labels(VALUE self, VALUE hash)
{
    if (!are_wanted()) return rb_yield_values(0);
    in_use = true;
    VALUE before = stored();
    return rb_ensure(yield_under, merged(before, hash), restore, before);
}

static VALUE yield_it_under(VALUE wrapper)
{
    store(wrapper);
    return rb_yield(wrapper);
}

VALUE rb_rpp_labels_with_outcome(void)
{
    in_use = true;
    VALUE before = stored(), wrapper = new_wrapper();
    rpp_label_set *set = NULL;
    rpp_outcome *outcome = rpp_outcome_new(rpp_monotonic_ns());
    rpp_status status = outcome ? rpp_label_set_with_outcome(set_of(before), outcome, &set) : RPP_NO_MEMORY;
    rpp_outcome_release(outcome);
    return rb_ensure(yield_it_under, wrapped(wrapper, status, set), restore, before);
}

rpp_outcome *rb_rpp_labels_outcome_of(VALUE handle)
{
    return rpp_label_set_outcome(rb_check_typeddata(handle, &set_type));
}

/* The ledger may hold an equal set that the thread met before, so that one is marked, too. */
static VALUE native_no_route(VALUE self, VALUE key, VALUE none)
{
    if (!in_use) return Qnil;
    VALUE text = rb_sym2str(key);
    rpp_label_set *set = set_of(stored()), *kept = kept_by_ledger(set);
    rpp_label_set_has_no_route(set, RSTRING_PTR(text), (size_t)RSTRING_LEN(text), RTEST(none));
    rpp_label_set_has_no_route(kept, RSTRING_PTR(text), (size_t)RSTRING_LEN(text), RTEST(none));
    RB_GC_GUARD(text);
    return Qnil;
}

VALUE rb_rpp_labels_hash(const rpp_label_set *set)
{
    VALUE hash = rb_hash_new();
    for (size_t i = 0; i < rpp_label_set_count(set); i++) {
        rpp_label label = rpp_label_set_at(set, i);
        rb_hash_aset(hash, ID2SYM(rb_intern3(label.key, label.key_length, rb_utf8_encoding())),
                     rb_utf8_str_new(label.value, label.value_length));
    }
    return hash;
}

static VALUE native_labels(VALUE self)
{
    return rb_rpp_labels_hash(are_wanted() ? rb_rpp_labels_current() : NULL);
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
    rb_define_singleton_method(native, "no_route", native_no_route, 2);
}
