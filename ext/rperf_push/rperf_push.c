/* rperf_push.c - where Ruby comes in. The path of a sample, as a reading order:
 *
 *   rb_engine, rb_timers, rb_hooks            when: a tick of the thread's CPU clock, or something ended
 *   rb_capture, rb_walk                       the stack, and what the thread's ledger owes
 *                                             (core/sampling/thread_ledger)
 *   rb_frames, rb_naming                      VALUE -> id at once, the name later
 *   rb_push, core/sampling/sample_buffer      to the collector
 *   core/profile/pipeline, profile, shares    summed, shared out and closed at the window's end
 *   core/delivery/exporter, core/encoding/pprof_encoder, core/base/gzip_sink    a payload
 *   core/delivery/payload_queue, uploader, core/backends/backend_*           on its way
 *
 *   rb_chain creates these parts for rb_session, which starts and ends them. rb_demand_methods has the sessions whose
 *   samples stay in the process (core/profile/recording). rb_fork_and_exit tells both of fork and exit. rb_settings,
 *   rb_labels, rb_log and rb_tables are their Ruby side. No file includes one that includes it; ARCHITECTURE.md lists
 *   the files from the bottom up.
 */
#include "calls/rb_call_updates.h"
#include "calls/rb_calls.h"
#include "captures/rb_labels.h"
#include "captures/rb_outcomes.h"
#include "control/rb_control.h"
#include "data/rb_json_memory.h"
#include "data/rb_pprof.h"
#include "data/rb_sample_text.h"
#include "data/rb_session_folder.h"
#include "data/rb_sums.h"
#include "data/rb_tables.h"
#include "frames/rb_frames.h"
#include "frames/rb_naming.h"
#include "frames/rb_walk.h"
#include "recordings/rb_demand.h"
#include "recordings/rb_demand_methods.h"
#include "sampler/rb_custom.h"
#include "sampler/rb_fork_and_exit.h"
#include "sampler/rb_log.h"
#include "sampler/rb_sampler.h"
#include "session/rb_session.h"
#include "session/rb_stats.h"
#include "session/rb_tools.h"
#include "testing/rb_testing_checks.h"
#include "vm/rb_compat.h"
#include "vm/rb_usage.h"

RUBY_FUNC_EXPORTED void Init_rperf_push(void);

/* A forked child goes through them in this order: the log comes first, because others may log. At the exit, in reverse
 * order: the sessions on demand come first, because no call waits for them. */
static const rb_rpp_participant *const participants[] = {
    &rb_rpp_log_participant,    &rb_rpp_control_participant, &rb_rpp_session_participant,
    &rb_rpp_demand_participant, &rb_rpp_calls_participant,
};

static VALUE native_set_root(VALUE self, VALUE path)
{
    rb_rpp_naming_set_root(StringValueCStr(path));
    return path;
}

/* Each Ruby::Box that requires the library gets a copy of its file, with variables of its own. The object ENV is the
 * same in all. */
static void be_the_only_one(void)
{
    VALUE of_all_boxes = rb_const_get(rb_cObject, rb_intern("ENV"));
    ID mark = rb_intern("rperf_push"); /* Ruby code sees only names that begin with @ */
    if (RTEST(rb_attr_get(of_all_boxes, mark))) {
        rb_raise(rb_eLoadError,
                 "rperf_push is loaded already in this process: it profiles the code of every Ruby::Box, "
                 "so require it in one of them only");
    }
    rb_ivar_set(of_all_boxes, mark, Qtrue);
}

void Init_rperf_push(void)
{
    be_the_only_one();
    VALUE module = rb_define_module("RperfPush");
    VALUE native = rb_define_module_under(module, "Native");

    VALUE lib_dir = rb_const_defined(native, rb_intern("LIB_DIR")) ? rb_const_get(native, rb_intern("LIB_DIR")) : Qnil;
    rb_rpp_naming_init(NIL_P(lib_dir) ? "" : StringValueCStr(lib_dir));
    rb_rpp_frames_init();
    rb_define_singleton_method(native, "root=", native_set_root, 1);
    rb_rpp_walk_init(native);
    rb_rpp_sampler_init();
    rb_rpp_process_init(native, participants, sizeof participants / sizeof *participants);
    rb_rpp_testing_checks_init(native);
    rb_rpp_log_init();
    rb_rpp_labels_init(native);
    rb_rpp_custom_init(module, native);
    rb_rpp_outcomes_init(native);
    rb_rpp_session_init(native);
    rb_rpp_stats_init(native);
    rb_rpp_demand_methods_init(native);
    rb_rpp_session_folder_init(native);
    rb_rpp_control_init(native);
    rb_rpp_tools_init(native);
    rb_rpp_pprof_init(native);
    rb_rpp_json_memory_init(native);
    rb_rpp_sums_init(native);
    rb_rpp_tables_init(native);
    rb_rpp_sample_text_init(native);
    rb_rpp_usage_init(native);
    rb_rpp_calls_init(native);
    rb_rpp_call_updates_init(native);
}
