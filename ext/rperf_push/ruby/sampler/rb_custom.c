/* rb_custom.c - counts the stack that it is called from: RperfPush.sample. */
#include "sampler/rb_custom.h"

#include <ruby/encoding.h>

#include "captures/rb_capture.h"
#include "captures/rb_labels.h"
#include "captures/rb_rotation.h"
#include "core/base/custom_values.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "sampler/rb_sampler.h"
#include "threads/rb_push.h"
#include "threads/rb_subscribers.h"

#define WEIGHT_MAX (1L << 48) /* so that 32,767 of them fit into a sum */

static ID ids[RPP_CUSTOM_MAX + 1]; /* of the values that have been counted in this process */
static VALUE default_name, default_unit, name_key;

/* --- names --- */

static rpp_status declare(VALUE name, VALUE unit, uint8_t *id)
{
    VALUE text = SYMBOL_P(name) ? rb_sym2str(name) : name, unit_text = SYMBOL_P(unit) ? rb_sym2str(unit) : unit;
    if (!RB_TYPE_P(text, T_STRING) || !RB_TYPE_P(unit_text, T_STRING)) return RPP_INVALID;
    rpp_status status = rpp_custom_value_declare(RSTRING_PTR(text), (size_t)RSTRING_LEN(text), RSTRING_PTR(unit_text),
                                                 (size_t)RSTRING_LEN(unit_text), id);
    if (status == RPP_OK) ids[*id] = rb_intern_str(text);
    RB_GC_GUARD(text);
    RB_GC_GUARD(unit_text);
    return status;
}

/* A name that was not declared counts from its first use on. */
static rpp_status find(VALUE name, uint8_t *id)
{
    bool is_text = RB_TYPE_P(name, T_STRING);
    if (!is_text && !SYMBOL_P(name)) return RPP_INVALID;
    if (is_text && rb_enc_str_coderange(name) == ENC_CODERANGE_BROKEN) return RPP_INVALID; /* rb_check_id raises */
    ID known = rb_check_id(&name);
    for (*id = rpp_custom_value_count(); known && *id; --*id) {
        if (ids[*id] == known) return RPP_OK;
    }
    return declare(name, default_unit, id);
}

/* --- samples --- */

static bool is_any_on(void)
{
    for (rb_rpp_subscriber subscriber = 0; subscriber < rb_rpp_subscribers_end(); subscriber++) {
        if (rb_rpp_subscriber_is_on(subscriber)) return true;
    }
    return false;
}

/* A forked child is restarted at its first safepoint, which may be here. */
static bool is_wanted(void)
{
    if (rb_rpp_sampler_will_restart() && rb_rpp_in_main_ractor()) rb_thread_check_ints();
    return is_any_on();
}

/* In a section. A stack that cannot be had now is unknown, and the number counts. */
static void capture(rb_rpp_thread *t, rpp_sample *sample)
{
    static const rpp_location unknown = {RPP_FRAME_UNKNOWN, 0};
    const rpp_location *stack = &unknown;
    bool begun = rb_rpp_capture_begin_asked();
    sample->depth = begun ? rb_rpp_capture_stack(t, &stack) : 0;
    if (!sample->depth) {
        stack = &unknown;
        sample->depth = 1;
    }
    rb_rpp_push_custom(t, sample, stack);
    if (begun) rb_rpp_capture_end_asked(t);
}

static void count(rb_rpp_thread *t, uint8_t id, uint64_t weight, rpp_label_set *labels)
{
    bool was_busy = rb_rpp_section_begin(t);
    rb_rpp_flush_if_late(t);
    rpp_sample sample = {.custom = weight, .custom_id = id, .labels = labels, .thread_seq = t->seq};
    capture(t, &sample);
    rb_rpp_section_end(t, was_busy);
}

static void refuse(rpp_status status)
{
    static bool told;
    rpp_stats_add(RPP_STAT_samples_refused, 1);
    if (told) return;
    told = true;
    rpp_log(RPP_LOG_WARN, "a call of RperfPush.sample is not counted: %s",
            status == RPP_LIMIT
                ? "there are 16 names already"
                : "the weight must be an Integer from 0 to 2**48, the name one of letters, digits and _");
}

typedef struct call {
    VALUE weight, name;
    VALUE labels; /* nil: it has none of its own */
} call;

/* The keywords may be the caller's Hash, which stays as it is. */
static void read_keywords(call *c, VALUE keywords)
{
    VALUE name = rb_hash_lookup2(keywords, name_key, Qundef);
    if (name != Qundef) c->name = name;
    if (RHASH_SIZE(keywords) == (name != Qundef)) return;
    c->labels = rb_hash_dup(keywords);
    rb_hash_delete(c->labels, name_key);
}

static call read_arguments(int count, const VALUE *arguments)
{
    call c = {.weight = INT2FIX(1), .name = default_name, .labels = Qnil};
    bool has_keywords = rb_keyword_given_p();
    rb_check_arity(count - has_keywords, 0, 1);
    if (count > has_keywords) c.weight = arguments[0];
    if (has_keywords) read_keywords(&c, arguments[count - 1]);
    return c;
}

/* In C as a whole, so that a call allocates nothing but the Hash of its keywords. */
static VALUE sample(int argument_count, VALUE *arguments, VALUE self)
{
    if (!is_wanted()) return Qnil;
    rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    if (!t || !t->in_ruby || t->ended) return Qnil;
    call c = read_arguments(argument_count, arguments);
    uint8_t id;
    bool fits = FIXNUM_P(c.weight) && FIX2LONG(c.weight) >= 0 && FIX2LONG(c.weight) <= WEIGHT_MAX;
    rpp_status status = fits ? find(c.name, &id) : RPP_INVALID;
    if (status != RPP_OK) {
        refuse(status);
    } else if (FIX2LONG(c.weight)) {
        VALUE labels = NIL_P(c.labels) ? Qnil : rb_rpp_labels_with(c.labels);
        count(t, id, (uint64_t)FIX2LONG(c.weight), NIL_P(c.labels) ? t->ledger.labels : rb_rpp_labels_of(labels));
        RB_GC_GUARD(labels);
    }
    return Qnil;
}

static VALUE native_declare(VALUE self, VALUE name, VALUE unit)
{
    uint8_t id;
    rpp_status status = declare(name, unit, &id);
    if (status == RPP_LIMIT) rb_raise(rb_eArgError, "there are %u names already", RPP_CUSTOM_MAX);
    if (status != RPP_OK) {
        rb_raise(rb_eArgError,
                 "a name and its unit must be letters, digits and _, and the name not that of another value, got "
                 "%+" PRIsVALUE " in %+" PRIsVALUE,
                 name, unit);
    }
    return Qnil;
}

void rb_rpp_custom_init(VALUE module, VALUE native)
{
    name_key = ID2SYM(rb_intern("name"));
    default_name = ID2SYM(rb_intern("samples"));
    default_unit = ID2SYM(rb_intern("count"));
    rb_define_singleton_method(native, "declare", native_declare, 2);
    rb_ext_ractor_safe(true);
    rb_define_singleton_method(module, "sample", sample, -1);
    rb_ext_ractor_safe(false);
}
