/* rperf_push.c - where Ruby comes in. The path of a sample, as a reading order:
 *
 *   rb_timers    a thread's CPU clock has gathered a period
 *   rb_sampler   captures its stack and gives it the time of its clocks (core/thread_clocks)
 *   rb_frames    VALUE -> id at once, the name later
 *   core/sample_buffer, pipeline, profile    summed by the collector, sealed at the window's end
 *   core/exporter, pprof_encoder, gzip_sink  a payload
 *   core/payload_queue, uploader, backend_*  on its way
 *
 *   rb_session holds the chain together, rb_on_demand (core/recording) the one that stays in the process; rb_settings, rb_labels and rb_log are its Ruby side.
 */
#include "rb_compat.h"
#include "rb_frames.h"
#include "rb_labels.h"
#include "rb_log.h"
#include "rb_on_demand.h"
#include "rb_sampler.h"
#include "rb_session.h"
#include "rb_testing.h"
#include "rb_tools.h"

RUBY_FUNC_EXPORTED void Init_rperf_push(void);

void Init_rperf_push(void)
{
    static bool initialized; /* Ruby::Box may load a second copy of the library; one image has one profiler */
    VALUE module = rb_define_module("RperfPush");
    VALUE native = rb_define_module_under(module, "Native");
    if (initialized) rb_raise(rb_eLoadError, "rperf_push is loaded already");
    initialized = true;

    VALUE lib_dir = rb_const_defined(native, rb_intern("LIB_DIR")) ? rb_const_get(native, rb_intern("LIB_DIR")) : Qnil;
    rb_rpp_frames_init(NIL_P(lib_dir) ? "" : StringValueCStr(lib_dir));
    rb_rpp_sampler_init();
    rb_rpp_testing_init(native);
    rb_rpp_log_init();
    rb_rpp_labels_init(native);
    rb_rpp_session_init(native);
    rb_rpp_on_demand_init(native);
    rb_rpp_tools_init(native);
}
