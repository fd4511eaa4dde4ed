/* rb_chain.c - the delivery chain of a continuous session: it creates and frees all parts together. */
#include "session/rb_chain.h"

#include "captures/rb_heap.h"
#include "control/rb_inspect.h"
#include "core/backends/backend_kinds.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "frames/rb_frames.h"
#include "sampler/rb_sampler.h"

#define BUFFER_HALF_BYTES  (1024 * 1024)
#define QUEUE_MAX_PAYLOADS 4096

static void deliver(rpp_profile *profile, void *context)
{
    rpp_exporter_export(((rb_rpp_chain *)context)->exporter, profile);
}

static void chain_free(rb_rpp_chain *c)
{
    rb_rpp_sampler_free_pipeline(c->pipeline);
    rpp_uploader_free(c->uploader);
    rpp_spool_free(c->spool);
    rpp_exporter_free(c->exporter);
    if (c->backend) c->backend->free(c->backend);
    if (c->http) c->http->free(c->http);
    rpp_payload_queue_free(c->queue);
    rpp_settings_free(c->settings);
    rpp_free(c);
}

void rb_rpp_chain_let_go(rb_rpp_chain *c)
{
    if (atomic_fetch_sub(&c->users, 1) == 1) chain_free(c);
}

static rpp_uploader *new_uploader(rb_rpp_chain *c)
{
    rpp_uploader_options options = {
        .upload_timeout_ns = c->settings->upload_timeout_ns,
        .max_age_ns = c->backend->rules.max_age_ns,
        .backoff = rpp_retry_session_policy(c->spool != NULL, c->settings->resend_unconfirmed),
        .spool = c->spool,
    };
    return rpp_uploader_new(&options, c->queue, c->backend, c->http);
}

static rpp_pipeline *new_pipeline(rb_rpp_chain *c)
{
    rpp_pipeline_options options = {
        .interval_ns = c->settings->upload_interval_ns,
        .buffer_half_bytes = BUFFER_HALF_BYTES,
        .limits = rpp_profile_default_limits,
        .class_labels = c->settings->class_labels,
        .watched_max = rb_rpp_watched_max(c->settings->mode, 0),
        .warns_without_samples = true,
        .seen = rb_rpp_inspect_current_stacks(),
    };
    if (options.seen) rpp_current_stacks_clear(options.seen);
    return rb_rpp_sampler_new_pipeline(&options, deliver, c);
}

rb_rpp_chain *rb_rpp_chain_new(rpp_settings *settings, pthread_mutex_t *fork_lock)
{
    rb_rpp_chain *c = rpp_calloc(1, sizeof *c);
    if (!c) {
        rpp_settings_free(settings);
        return NULL;
    }
    c->users = 1;
    c->settings = settings;
    c->queue = rpp_payload_queue_new(QUEUE_MAX_PAYLOADS, settings->queue_max_bytes);
    c->http = rpp_curl_client_new(settings, fork_lock);
    if (c->http) c->backend = rpp_backend_new(settings, c->http);
    bool wants_spool = settings->spool_directory && *settings->spool_directory;
    if (wants_spool) c->spool = rpp_spool_new(settings);
    if (c->backend && c->queue && (c->spool || !wants_spool)) {
        c->exporter = rpp_exporter_new(settings, rb_rpp_frames_names(), c->queue, &c->backend->rules);
        c->uploader = new_uploader(c);
        c->pipeline = new_pipeline(c);
    }
    if (c->exporter && c->uploader && c->pipeline) return c;
    chain_free(c);
    return NULL;
}
