/* rb_subscribers.c - the subscribers: who gets samples. */
#include "threads/rb_subscribers.h"

rb_rpp_subscribers rb_rpp_all_subscribers;
rpp_ticker rb_rpp_ticker;

void rb_rpp_subscribers_init(void)
{
    rpp_ticker_init(&rb_rpp_ticker, RPP_NS_PER_S); /* the first session sets its own period */
}

bool rb_rpp_subscribers_any(void)
{
    return rb_rpp_all_subscribers.end > 0;
}

void rb_rpp_subscriber_set_pipeline(rb_rpp_subscriber subscriber, rpp_pipeline *pipeline)
{
    rb_rpp_subscribers *o = &rb_rpp_all_subscribers;
    o->each[subscriber].on = false;
    o->each[subscriber].pipeline = pipeline;
    o->end = RB_RPP_SUBSCRIBERS;
    while (o->end > 0 && !o->each[o->end - 1].pipeline) o->end--;
}

void rb_rpp_subscriber_switch(rb_rpp_subscriber subscriber, bool on)
{
    rb_rpp_all_subscribers.each[subscriber].on = on;
    rpp_pipeline_set_ticking(rb_rpp_subscriber_pipeline(subscriber), on);
}

void rb_rpp_subscribers_discard_after_fork(void)
{
    rb_rpp_all_subscribers = (rb_rpp_subscribers){0};
    rpp_ticker_discard_after_fork(&rb_rpp_ticker);
}

void rb_rpp_join_window(rb_rpp_thread *t, rb_rpp_subscriber subscriber)
{
    const rpp_pipeline *pipeline = rb_rpp_subscriber_pipeline(subscriber);
    if (pipeline) t->windows[subscriber] = rpp_pipeline_window(pipeline);
}
