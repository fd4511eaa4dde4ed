/* rb_push.c - moves what a ledger holds into the buffers of all outlets that are on. */
#include "rb_push.h"

#include <sched.h>

#include "core/base/stats.h"
#include "rb_outlets.h"

/* The collector holds a buffer's lock only briefly, so it is worth waiting for. */
#define PUSH_TRIES 100

static rpp_status push_to(rb_rpp_outlet outlet, const rb_rpp_thread *t, rpp_sample *sample, const rpp_location *stack)
{
    rpp_sample_buffer *buffer = rpp_pipeline_buffer(rb_rpp_outlet_pipeline(outlet));
    rpp_status status;
    int tries = PUSH_TRIES;
    sample->window = t->windows[outlet];
    while ((status = rpp_sample_buffer_push(buffer, sample, stack)) == RPP_BUSY && --tries > 0) sched_yield();
    if (status == RPP_OK && rpp_sample_buffer_is_filling(buffer)) rpp_pipeline_wake(rb_rpp_outlet_pipeline(outlet));
    return status;
}

/* To all outlets that are on. False: there was no room, and the sample is in the ledger again. */
static bool push(rb_rpp_thread *t, rpp_sample *sample, const rpp_location *stack)
{
    bool taken = false;
    for (rb_rpp_outlet outlet = 0; outlet < rb_rpp_outlets_end(); outlet++) {
        if (!rb_rpp_outlet_is_on(outlet)) continue;
        rpp_sample copy = *sample;
        copy.labels = rpp_label_set_retain(sample->labels);
        rpp_status status = push_to(outlet, t, &copy, stack);
        if (status == RPP_OK) {
            taken = true;
            continue;
        }
        rpp_label_set_release(copy.labels); /* never the last reference: `sample` holds one */
        if (!taken) {
            rpp_stats_add(status == RPP_BUSY ? RPP_STAT_samples_deferred_busy : RPP_STAT_samples_deferred_full, 1);
            rpp_ledger_untake(&t->ledger, sample);
            return false;
        }
        rpp_stats_add(RPP_STAT_time_lost_ns, sample->wall_ns);
    }
    rpp_label_set_release(sample->labels); /* nor here: the ledger holds one */
    return true;
}

bool rb_rpp_push_due(rb_rpp_thread *t, const rpp_location *stack, uint32_t depth)
{
    bool all = true;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample = {.thread_seq = t->seq, .depth = depth};
        if (rpp_ledger_take_due(&t->ledger, state, &sample)) all &= push(t, &sample, stack);
    }
    return all;
}

bool rb_rpp_push_sums(rb_rpp_thread *t)
{
    bool all = true;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample = {.thread_seq = t->seq};
        if (rpp_ledger_take_sum(&t->ledger, state, &sample)) all &= push(t, &sample, NULL);
    }
    return all;
}
