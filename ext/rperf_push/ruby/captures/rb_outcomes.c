/* rb_outcomes.c - outcomes of requests: when there are any, and what is slow. */
#include "captures/rb_outcomes.h"

#include <stdbool.h>

#include "captures/rb_labels.h"
#include "core/base/clock.h"
#include "core/requests/durations.h"
#include "threads/rb_threads.h"

#define NOT_FOUND 404u

static bool wanted;
static uint64_t slow_ns; /* 0: by the endpoint's own percentile */
static rpp_durations *durations;

void rb_rpp_outcomes_follow(const rpp_settings *settings)
{
    wanted = settings && settings->outcome_labels;
    if (!wanted) return;
    slow_ns = settings->slow_request_ns;
    if (!slow_ns && !durations) durations = rpp_durations_new();
}

/* Clients may ask for any number of endpoints that do not exist. */
static rpp_slow slow_of(uint64_t duration_ns, unsigned status, VALUE label_key)
{
    if (slow_ns) return duration_ns >= slow_ns ? RPP_SLOW_YES : RPP_SLOW_NO;
    if (!durations || status == NOT_FOUND) return RPP_SLOW_UNKNOWN;
    VALUE key = rb_sym2str(label_key);
    rpp_label endpoint;
    bool named = rpp_label_set_find(rb_rpp_labels_current(), RSTRING_PTR(key), (size_t)RSTRING_LEN(key), &endpoint);
    RB_GC_GUARD(key);
    if (!named) return RPP_SLOW_UNKNOWN;
    return rpp_durations_note(durations, endpoint.value, endpoint.value_length, duration_ns);
}

/* --- methods of Native --- */

static VALUE native_are_outcomes_wanted(VALUE self)
{
    return wanted ? Qtrue : Qfalse;
}

/* The outermost of nested requests is the one that ends with the answer. */
static VALUE native_with_outcome(VALUE self)
{
    const rpp_outcome *outer = rpp_label_set_outcome(rb_rpp_labels_current());
    bool has_one = outer && !rpp_outcome_has_ended(outer);
    if (!wanted || has_one || !rb_rpp_in_main_ractor()) return rb_yield(Qnil);
    return rb_rpp_labels_with_outcome();
}

static VALUE native_end_outcome(VALUE self, VALUE handle, VALUE status, VALUE label_key)
{
    rpp_outcome *outcome = rb_rpp_labels_outcome_of(handle);
    uint64_t took_ns = rpp_monotonic_ns() - rpp_outcome_began_ns(outcome);
    bool is_code = FIXNUM_P(status) && FIX2LONG(status) > 0 && FIX2LONG(status) < 600;
    unsigned code = is_code ? (unsigned)FIX2LONG(status) : 0;
    const rb_rpp_thread *t = rb_rpp_thread_of(rb_thread_current());
    rpp_outcome_ends_in(outcome, t ? t->seq : 0);
    rpp_outcome_end(outcome, code, slow_of(took_ns, code, label_key));
    return Qnil;
}

void rb_rpp_outcomes_init(VALUE native)
{
    rb_define_singleton_method(native, "outcomes?", native_are_outcomes_wanted, 0);
    rb_define_singleton_method(native, "with_outcome", native_with_outcome, 0);
    rb_define_singleton_method(native, "end_outcome", native_end_outcome, 3);
}
