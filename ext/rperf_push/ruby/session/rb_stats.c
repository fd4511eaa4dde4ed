/* rb_stats.c - RperfPush.stats. */
#include "session/rb_stats.h"

#include "captures/rb_budget.h"
#include "core/base/stats.h"
#include "sampler/rb_sampler.h"
#include "session/rb_session.h"
#include "vm/rb_values.h"

static VALUE native_stats(VALUE self)
{
    bool runs = rb_rpp_session_runs();
    VALUE hash = rb_hash_new();
    char error[RPP_LAST_ERROR_MAX];
    double frequency = rpp_stats_effective_frequency();
    uint64_t error_at = rpp_stats_last_error(error, sizeof error);
    rb_rpp_put(hash, "running", runs ? Qtrue : Qfalse);
    rb_rpp_put(hash, "engine", runs ? rb_utf8_str_new_cstr(rb_rpp_sampler_engine()) : Qnil);
    rb_rpp_put(hash, "effective_frequency", runs && frequency > 0 ? DBL2NUM(frequency) : Qnil);
    rb_rpp_put(hash, "overhead", runs ? DBL2NUM(rb_rpp_budget_share()) : Qnil);
    for (int stat = 0; stat < RPP_STAT_COUNT; stat++) {
        rb_rpp_put(hash, rpp_stats_name((rpp_stat)stat), ULL2NUM(rpp_stats_get((rpp_stat)stat)));
    }
    rb_rpp_put(hash, "last_error", error_at ? rb_utf8_str_new_cstr(error) : Qnil);
    rb_rpp_put(hash, "last_error_at_ns", error_at ? ULL2NUM(error_at) : Qnil);
    return hash;
}

void rb_rpp_stats_init(VALUE native)
{
    rb_define_singleton_method(native, "stats", native_stats, 0);
}
