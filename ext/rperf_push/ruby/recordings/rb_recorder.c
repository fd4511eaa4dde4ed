/* rb_recorder.c - records for a session on demand. */
#include "recordings/rb_recorder.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/errno_text.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "core/delivery/window_encoder.h"
#include "core/delivery/window_files.h"
#include "core/profile/recording.h"
#include "core/sampling/thread_time.h"
#include "frames/rb_frames.h"
#include "sampler/rb_sampler.h"
#include "vm/rb_jobs.h"
#include "vm/rb_values.h"
#include "vm/rb_waiting.h"

#define BUFFER_HALF_BYTES (1024 * 1024)
/* Their contents are summed, so windows only keep the tables small. */
#define WINDOW_NS         (10 * RPP_NS_PER_S)
/* With files, a killed process loses at most this. */
#define FILE_WINDOW_NS    (2 * RPP_NS_PER_S)
#define WAIT_NS           (30 * RPP_NS_PER_S)

/* Of what is recorded now. */
typedef struct beginning {
    uint64_t start_ns; /* since the epoch */
    uint64_t began_ns; /* monotonic */
    uint64_t overhead_ns, ticks;
} beginning;

struct rb_rpp_recorder {
    rpp_pipeline *pipeline;
    rpp_recording *recording;
    rpp_window_files *files; /* NULL: it writes no files */
    bool summed;             /* windows also go into the recording */
    _Atomic bool unwanted;   /* the process that reads the files is gone */
    void (*on_unwanted)(void);
    rb_rpp_shape shape;
    uint32_t frequency;
    pthread_mutex_t lock;
    beginning since; /* under lock */
};

static void deliver_to_file(rb_rpp_recorder *r, const rpp_profile *profile)
{
    char why[RPP_ERRNO_TEXT_MAX];
    rpp_status status = rpp_window_files_write(r->files, profile, rb_rpp_frames_names());
    if (status == RPP_OK) return;
    if (status == RPP_STOPPED) {
        atomic_store(&r->unwanted, true);
        rb_rpp_jobs_request(RB_RPP_REQUEST_END, r->on_unwanted);
        return;
    }
    const char *text = status == RPP_IO ? rpp_errno_text(errno, why) : rpp_status_text(status);
    rpp_log(RPP_LOG_ERROR, "a window of the recorded session is lost: %s", text);
}

static void deliver(rpp_profile *profile, void *context)
{
    rb_rpp_recorder *r = context;
    if (r->files) deliver_to_file(r, profile);
    if (r->summed && rpp_recording_add(r->recording, profile, rb_rpp_frames_names()) != RPP_OK) {
        rpp_log(RPP_LOG_ERROR, "out of memory: a window of the session on demand is incomplete");
    }
    rpp_profile_free(profile);
}

/* Counts the ticks of both engines. */
static uint64_t ticks_of_all(void)
{
    return rpp_stats_get(RPP_STAT_ticks) + rpp_stats_get(RPP_STAT_timer_ticks);
}

static beginning begun_at(rb_rpp_recorder *r)
{
    pthread_mutex_lock(&r->lock);
    beginning since = r->since;
    pthread_mutex_unlock(&r->lock);
    return since;
}

/* Never back: the server takes until now, and the latest boundary may be older. */
static void begin_at(rb_rpp_recorder *r, uint64_t began_ns)
{
    beginning since = {
        .start_ns = rpp_realtime_ns() - (rpp_monotonic_ns() - began_ns),
        .began_ns = began_ns,
        .overhead_ns = rpp_stats_get(RPP_STAT_overhead_ns),
        .ticks = ticks_of_all(),
    };
    pthread_mutex_lock(&r->lock);
    if (began_ns >= r->since.began_ns) r->since = since;
    pthread_mutex_unlock(&r->lock);
}

void rb_rpp_recorder_begin_counting(rb_rpp_recorder *r)
{
    begin_at(r, rpp_pipeline_boundary_ns(r->pipeline));
}

void rb_rpp_recorder_free(rb_rpp_recorder *r)
{
    rb_rpp_sampler_free_pipeline(r->pipeline);
    rpp_recording_free(r->recording);
    rpp_window_files_free(r->files);
    pthread_mutex_destroy(&r->lock);
    rpp_free(r);
}

rb_rpp_recorder *rb_rpp_recorder_new(const rb_rpp_shape *shape, uint32_t frequency, const char *directory, bool summed,
                                     void (*on_unwanted)(void))
{
    rb_rpp_recorder *r = rpp_calloc(1, sizeof *r);
    if (!r) return NULL;
    pthread_mutex_init(&r->lock, NULL);
    r->shape = *shape;
    r->frequency = frequency;
    r->summed = summed;
    r->on_unwanted = on_unwanted;
    rpp_pipeline_options options = {
        .interval_ns = directory ? FILE_WINDOW_NS : WINDOW_NS,
        .buffer_half_bytes = BUFFER_HALF_BYTES,
        .limits = rpp_profile_default_limits,
        .class_labels = shape->class_labels,
        .watched_max = shape->watched_max,
        .ages = true,
    };
    options.limits.separate_rows = shape->separate;
    r->recording = rpp_recording_new(shape->separate);
    r->pipeline = rb_rpp_sampler_new_pipeline(&options, deliver, r);
    if (directory) r->files = rpp_window_files_new(directory, shape->mode | RPP_MODE_PRECISION, frequency);
    bool whole = r->recording && r->pipeline && (r->files || !directory);
    if (whole && rpp_pipeline_start(r->pipeline) == RPP_OK) return r;
    rb_rpp_recorder_free(r);
    return NULL;
}

bool rb_rpp_recorder_is_unwanted(const rb_rpp_recorder *r)
{
    return atomic_load(&r->unwanted);
}

rpp_pipeline *rb_rpp_recorder_pipeline(const rb_rpp_recorder *r)
{
    return r->pipeline;
}

typedef struct delivery {
    rpp_pipeline *pipeline;
    uint32_t window;
} delivery;

static rpp_status wait_delivered(void *context, rpp_cancellation *cancellation)
{
    const delivery *wanted = context;
    return rpp_pipeline_wait_delivered(wanted->pipeline, wanted->window, cancellation);
}

void rb_rpp_recorder_bring_in(rb_rpp_recorder *r, rb_rpp_subscriber subscriber)
{
    uint64_t deadline_ns = rpp_monotonic_ns() + WAIT_NS;
    if (!rb_rpp_flush_until(subscriber, deadline_ns)) return;
    delivery wanted = {r->pipeline, rpp_pipeline_window(r->pipeline)};
    rpp_status status;
    int thrown = rb_rpp_wait_until(wait_delivered, &wanted, deadline_ns, &status);
    if (thrown) rb_jump_tag(thrown);
}

rpp_status rb_rpp_recorder_take(rb_rpp_recorder *r, uint64_t until_ns, rpp_byte_buffer *into, uint64_t *samples)
{
    rpp_status status = RPP_NO_MEMORY;
    beginning since = begun_at(r);
    const rpp_frame_names *names;
    rpp_window_encoder *encoder = rpp_window_encoder_new(r->shape.mode | RPP_MODE_PRECISION, r->frequency, false);
    rpp_profile *taken = encoder ? rpp_recording_take(r->recording, &names) : NULL;
    if (taken) {
        rpp_profile_close(taken, since.start_ns, rpp_ns_since(until_ns, since.began_ns));
        status = rpp_window_encoder_encode(encoder, taken, names, into, samples);
    }
    if (taken && status != RPP_OK && rpp_recording_add(r->recording, taken, names) != RPP_OK) {
        rpp_log(RPP_LOG_ERROR, "out of memory: a part of the session on demand is lost");
    }
    if (status == RPP_OK) begin_at(r, until_ns);
    rpp_profile_free(taken);
    rpp_window_encoder_free(encoder);
    return status;
}

rpp_status rb_rpp_recorder_clear(rb_rpp_recorder *r, uint64_t changes)
{
    rpp_status status = rpp_recording_clear_if(r->recording, changes);
    if (status == RPP_OK) rb_rpp_recorder_begin_counting(r);
    return status;
}

/* Returns :cpu, or [:cpu, :wall]. */
static VALUE mode_symbols(unsigned mode)
{
    VALUE modes = rb_hash_new();
    for (unsigned value = 0; value < RPP_VALUE_COUNT; value++) {
        VALUE name = ID2SYM(rb_intern(rpp_value_types[value].mode));
        if (mode >> value & 1) rb_hash_aset(modes, name, Qtrue);
    }
    VALUE names = rb_funcall(modes, rb_intern("keys"), 0);
    return RARRAY_LEN(names) == 1 ? RARRAY_AREF(names, 0) : names;
}

VALUE rb_rpp_recorder_data(rb_rpp_recorder *r, uint64_t *changes)
{
    beginning since = begun_at(r);
    uint64_t until_ns = rpp_pipeline_boundary_ns(r->pipeline);
    VALUE data = rb_hash_new();
    rb_rpp_put(data, "mode", mode_symbols(r->shape.mode));
    rb_rpp_put(data, "frequency", UINT2NUM(r->frequency));
    rb_rpp_put(data, "effective_frequency", ULL2NUM((uint64_t)llround(rpp_stats_effective_frequency())));
    rb_rpp_put(data, "start_time_ns", ULL2NUM(since.start_ns));
    rb_rpp_put(data, "duration_ns", ULL2NUM(rpp_ns_since(until_ns, since.began_ns)));
    rb_rpp_put(data, "trigger_count", ULL2NUM(ticks_of_all() - since.ticks));
    rb_rpp_put(data, "sampling_time_ns", ULL2NUM(rpp_stats_get(RPP_STAT_overhead_ns) - since.overhead_ns));
    *changes = rb_rpp_recorded_into(data, r->recording, &r->shape);
    return data;
}
