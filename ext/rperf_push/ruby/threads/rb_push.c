/* rb_push.c - moves what a ledger holds into the buffers of all subscribers that are on. */
#include "threads/rb_push.h"

#include <sched.h>
#include <string.h>

#include "core/base/custom_values.h"
#include "core/base/stats.h"
#include "threads/rb_subscribers.h"

/* The collector holds a buffer's lock only briefly, so it is worth waiting for. */
#define PUSH_TRIES 100

static rpp_status push_to(rb_rpp_subscriber subscriber, const rpp_sample *sample, const rpp_location *stack)
{
    rpp_sample_buffer *buffer = rpp_pipeline_buffer(rb_rpp_subscriber_pipeline(subscriber));
    rpp_status status;
    int tries = PUSH_TRIES;
    while ((status = rpp_sample_buffer_push(buffer, sample, stack)) == RPP_BUSY && --tries > 0) sched_yield();
    if (status == RPP_OK && rpp_sample_buffer_is_filling(buffer))
        rpp_pipeline_wake(rb_rpp_subscriber_pipeline(subscriber));
    return status;
}

/* Whether the request of its labels is over, and of another thread. */
static bool is_after_request(const rpp_sample *sample)
{
    const rpp_outcome *outcome = rpp_label_set_outcome(sample->labels);
    return outcome && rpp_outcome_is_over_for(outcome, sample->thread_seq);
}

/* To all subscribers that are on. False: there was no room, and the sample is in the ledger again. */
static bool push(rb_rpp_thread *t, rpp_sample *sample, const rpp_location *stack)
{
    bool taken = false;
    sample->after_request = is_after_request(sample);
    for (rb_rpp_subscriber subscriber = 0; subscriber < rb_rpp_subscribers_end(); subscriber++) {
        if (!rb_rpp_subscriber_is_on(subscriber)) continue;
        sample->window = t->windows[subscriber];
        rpp_label_set_retain(sample->labels);
        rpp_status status = push_to(subscriber, sample, stack);
        if (status == RPP_OK) {
            taken = true;
            continue;
        }
        rpp_label_set_release(sample->labels); /* not the last reference: the ledger holds one */
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

rpp_status rb_rpp_push_counted(rb_rpp_subscriber subscriber, uint32_t window, const rpp_sample *sample,
                               const rpp_location *stack)
{
    rpp_sample copy = *sample;
    copy.labels = rpp_label_set_retain(sample->labels);
    copy.after_request = is_after_request(sample);
    copy.window = window;
    rpp_status status = push_to(subscriber, &copy, stack);
    if (status != RPP_OK) rpp_label_set_release(copy.labels); /* never the last reference */
    return status;
}

bool rb_rpp_push_due(rb_rpp_thread *t, const rpp_location *stack, uint32_t depth)
{
    bool all = true;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        if (!rpp_ledger_may_be_due_in(&t->ledger, state)) continue;
        rpp_sample sample = {.thread_seq = t->seq, .depth = depth};
        if (rpp_ledger_take_due(&t->ledger, state, &sample)) all &= push(t, &sample, stack);
    }
    return all;
}

bool rb_rpp_push_totals(rb_rpp_thread *t)
{
    bool all = true;
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        rpp_sample sample = {.thread_seq = t->seq};
        if (rpp_ledger_take_total(&t->ledger, state, &sample)) all &= push(t, &sample, NULL);
    }
    return all;
}

/* --- values that the program counts --- */

/* What found no room. Samples may be lost, but each of these counts. */
static uint64_t carried[RB_RPP_SUBSCRIBERS][RPP_CUSTOM_MAX + 1];

static bool push_with_carried(rb_rpp_subscriber subscriber, rpp_sample *sample, const rpp_location *stack)
{
    uint64_t *before = &carried[subscriber][sample->custom_id], all = sample->custom + *before;
    sample->custom = all;
    rpp_label_set_retain(sample->labels);
    rpp_status status = push_to(subscriber, sample, stack);
    *before = status == RPP_OK ? 0 : all;
    if (status == RPP_OK) return true;
    rpp_label_set_release(sample->labels); /* never the last reference: the caller holds one */
    rpp_stats_add(status == RPP_BUSY ? RPP_STAT_samples_deferred_busy : RPP_STAT_samples_deferred_full, 1);
    return false;
}

void rb_rpp_push_custom(const rb_rpp_thread *t, const rpp_sample *sample, const rpp_location *stack)
{
    for (rb_rpp_subscriber subscriber = 0; subscriber < rb_rpp_subscribers_end(); subscriber++) {
        if (!rb_rpp_subscriber_is_on(subscriber)) continue;
        rpp_sample copy = *sample;
        copy.window = t->windows[subscriber];
        copy.after_request = is_after_request(sample);
        (void)push_with_carried(subscriber, &copy, stack);
    }
}

bool rb_rpp_push_carried(rb_rpp_subscriber subscriber, uint32_t window)
{
    static const rpp_location lost = {RPP_FRAME_OVERFLOW, 0};
    for (uint8_t id = 1; id <= rpp_custom_value_count(); id++) {
        rpp_sample sample = {.custom_id = id, .window = window, .depth = 1};
        if (carried[subscriber][id] && !push_with_carried(subscriber, &sample, &lost)) return false;
    }
    return true;
}

void rb_rpp_discard_carried(rb_rpp_subscriber subscriber)
{
    memset(carried[subscriber], 0, sizeof carried[subscriber]);
}
