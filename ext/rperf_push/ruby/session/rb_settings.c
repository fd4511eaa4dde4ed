/* rb_settings.c - converts Ruby values to settings. */
#include "session/rb_settings.h"

#include <string.h>

#include "captures/rb_heap.h"
#include "core/base/alloc.h"
#include "core/base/quote.h"
#include "core/http/http_url.h"
#include "core/settings/options.h"

typedef struct reader {
    rpp_settings *settings;
    rpp_errors *errors;
    const char *option; /* being read */
    VALUE texts, options;
} reader;

static void check(rpp_status status)
{
    if (status != RPP_OK) rb_memerror();
}

static VALUE as_string(VALUE value)
{
    return SYMBOL_P(value) ? rb_sym2str(value) : value;
}

static bool is_text(VALUE value)
{
    return RB_TYPE_P(value, T_STRING) || SYMBOL_P(value);
}

/* Text instead of a number or a boolean is shown: these options contain no secrets. */
static bool is_plain_option(const char *name)
{
    rpp_option_type type;
    if (rpp_option_type_of(name, &type) != RPP_OK) return false;
    return type == RPP_OPTION_BOOLEAN || type == RPP_OPTION_INTEGER || type == RPP_OPTION_SECONDS ||
           type == RPP_OPTION_SHARE;
}

/* The user's value for a message; "a String" if it may be secret or is too large to show. */
static void reject(reader *r, VALUE value)
{
    char got[RPP_QUOTED_MAX];
    if (RB_INTEGER_TYPE_P(value) || RB_FLOAT_TYPE_P(value) || RB_TYPE_P(value, T_TRUE) || RB_TYPE_P(value, T_FALSE)) {
        VALUE text = rb_inspect(value);
        snprintf(got, sizeof got, "%.*s", RSTRING_LENINT(text) < 40 ? RSTRING_LENINT(text) : 40, RSTRING_PTR(text));
    } else if (is_text(value) && is_plain_option(r->option)) {
        VALUE text = as_string(value);
        rpp_quote(got, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
        RB_GC_GUARD(text);
    } else {
        snprintf(got, sizeof got, "%s %s", strchr("AEIOU", rb_obj_classname(value)[0]) ? "an" : "a",
                 rb_obj_classname(value));
    }
    check(rpp_settings_reject(r->option, got, r->errors));
}

static void put(reader *r, VALUE key, VALUE value)
{
    if (!is_text(key)) {
        reject(r, key);
        return;
    }
    VALUE key_text = as_string(key), value_text = Qnil;
    if (!NIL_P(value)) {
        bool plain =
            is_text(value) || RB_INTEGER_TYPE_P(value) || RB_FLOAT_TYPE_P(value) || value == Qtrue || value == Qfalse;
        if (!plain) {
            reject(r, value);
            return;
        }
        value_text = is_text(value) ? as_string(value) : rb_obj_as_string(value);
    }
    check(rpp_settings_put(r->settings, r->option, RSTRING_PTR(key_text), (size_t)RSTRING_LEN(key_text),
                           NIL_P(value_text) ? NULL : RSTRING_PTR(value_text),
                           NIL_P(value_text) ? 0 : (size_t)RSTRING_LEN(value_text), r->errors));
    RB_GC_GUARD(key_text);
    RB_GC_GUARD(value_text);
}

static int put_pair(VALUE key, VALUE value, VALUE argument)
{
    reader *r = (reader *)argument;
    if (NIL_P(value)) {
        reject(r, value);
    } else {
        put(r, key, value);
    }
    return ST_CONTINUE;
}

/* In the environment's form: "env=production,region=eu". */
static bool read_pairs_in_text(reader *r, VALUE value)
{
    VALUE text = as_string(value);
    if (!is_text(value) || memchr(RSTRING_PTR(text), '\0', (size_t)RSTRING_LEN(text))) return false;
    check(rpp_settings_set_text(r->settings, r->option, StringValueCStr(text), NULL, r->errors));
    return true;
}

static void read_pairs(reader *r, VALUE value)
{
    if (read_pairs_in_text(r, value)) return;
    if (!RB_TYPE_P(value, T_HASH)) {
        reject(r, value);
        return;
    }
    check(rpp_settings_clear(r->settings, r->option, r->errors));
    rb_hash_foreach(value, put_pair, (VALUE)r);
}

static void read_list(reader *r, VALUE value)
{
    VALUE items = is_text(value) ? rb_ary_new_from_args(1, value) : value;
    if (!RB_TYPE_P(items, T_ARRAY)) {
        reject(r, value);
        return;
    }
    check(rpp_settings_clear(r->settings, r->option, r->errors));
    for (long i = 0; i < RARRAY_LEN(items); i++) put(r, RARRAY_AREF(items, i), Qnil);
}

static void read_text(reader *r, VALUE value)
{
    if (NIL_P(value)) {
        check(rpp_settings_set_string(r->settings, r->option, NULL, 0, r->errors));
    } else if (is_text(value)) {
        VALUE text = as_string(value);
        check(rpp_settings_set_string(r->settings, r->option, RSTRING_PTR(text), (size_t)RSTRING_LEN(text), r->errors));
        RB_GC_GUARD(text);
    } else {
        reject(r, value);
    }
}

/* Several backends mean "the first that the server knows" and become one text. */
static void read_choice(reader *r, VALUE value)
{
    bool is_list = RB_TYPE_P(value, T_ARRAY);
    for (long i = 0; is_list && i < RARRAY_LEN(value); i++) {
        if (is_text(RARRAY_AREF(value, i))) continue;
        reject(r, RARRAY_AREF(value, i));
        return;
    }
    read_text(r, is_list ? rb_ary_join(value, rb_utf8_str_new_cstr(",")) : value);
}

static void read_value(reader *r, rpp_option_type type, VALUE value)
{
    bool integer = FIXNUM_P(value), real = integer || RB_FLOAT_TYPE_P(value);
    switch (type) {
    case RPP_OPTION_STRING: read_text(r, value); return;
    case RPP_OPTION_CHOICE: read_choice(r, value); return;
    case RPP_OPTION_PAIRS: read_pairs(r, value); return;
    case RPP_OPTION_LIST:
    case RPP_OPTION_MODE: read_list(r, value); return;
    case RPP_OPTION_BOOLEAN:
        if (value != Qtrue && value != Qfalse) break;
        check(rpp_settings_set_boolean(r->settings, r->option, value == Qtrue, r->errors));
        return;
    case RPP_OPTION_INTEGER:
        if (!integer) break;
        check(rpp_settings_set_integer(r->settings, r->option, FIX2LONG(value), r->errors));
        return;
    case RPP_OPTION_SECONDS:
    case RPP_OPTION_SHARE:
        if (!real) break;
        check(rpp_settings_set_real(r->settings, r->option, NUM2DBL(value), r->errors));
        return;
    }
    reject(r, value);
}

static int read_option(VALUE key, VALUE value, VALUE argument)
{
    reader *r = (reader *)argument;
    VALUE name = as_string(key);
    rpp_option_type type;
    r->option = StringValueCStr(name);
    if (rpp_option_type_of(r->option, &type) == RPP_OK) {
        read_value(r, type, value);
    } else {
        check(rpp_settings_reject(r->option, "", r->errors));
    }
    RB_GC_GUARD(name);
    return ST_CONTINUE;
}

static int read_environment(VALUE key, VALUE pair, VALUE argument)
{
    reader *r = (reader *)argument;
    VALUE name = as_string(key), text = rb_ary_entry(pair, 0), source = rb_ary_entry(pair, 1);
    check(rpp_settings_set_text(r->settings, StringValueCStr(name), StringValueCStr(text), StringValueCStr(source),
                                r->errors));
    return ST_CONTINUE;
}

static VALUE read_all(VALUE argument)
{
    reader *r = (reader *)argument;
    rb_hash_foreach(r->texts, read_environment, argument);
    rb_hash_foreach(r->options, read_option, argument);
    check(rpp_settings_check(r->settings, r->errors));
    const char *why_not = r->settings->mode & RPP_MODE_INUSE_OBJECTS ? rb_rpp_heap_why_not() : NULL;
    if (why_not) check(rpp_errors_add(r->errors, "%s", why_not));
    return Qnil;
}

rpp_settings *rb_rpp_settings_from(VALUE texts, VALUE options, VALUE errors)
{
    rpp_errors found = {0};
    reader r = {.settings = rpp_settings_new(), .errors = &found, .texts = texts, .options = options};
    if (!r.settings) rb_memerror();
    int failed = 0;
    rb_protect(read_all, (VALUE)&r, &failed);
    for (size_t i = found.count; i > 0 && !failed; i--) {
        rb_ary_unshift(errors, rb_utf8_str_new_cstr(found.lines[i - 1]));
    }
    bool wrong = RARRAY_LEN(errors) > 0;
    rpp_errors_destroy(&found);
    if (failed || wrong) {
        rpp_settings_free(r.settings);
        if (failed) rb_jump_tag(failed);
        return NULL;
    }
    return r.settings;
}

VALUE rb_rpp_settings_target(const rpp_settings *settings)
{
    if (settings->backend == RPP_BACKEND_DIRECTORY) return rb_utf8_str_new_cstr(settings->directory);
    char *url = rpp_url_without_userinfo(settings->server_address);
    if (!url) rb_memerror();
    VALUE shown = rb_utf8_str_new(url, (long)strcspn(url, "?#"));
    rpp_free(url);
    return shown;
}
