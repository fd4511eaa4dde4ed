/* rb_outlets.c - the outlets: who gets samples. */
#include "threads/rb_outlets.h"

rb_rpp_outlets rb_rpp_all_outlets;
rpp_ticker rb_rpp_ticker;

void rb_rpp_outlets_init(void)
{
    rpp_ticker_init(&rb_rpp_ticker, RPP_NS_PER_S); /* the first session sets its own period */
}

bool rb_rpp_outlets_any(void)
{
    return rb_rpp_all_outlets.end > 0;
}

void rb_rpp_outlet_set_pipeline(rb_rpp_outlet outlet, rpp_pipeline *pipeline)
{
    rb_rpp_outlets *o = &rb_rpp_all_outlets;
    o->each[outlet].on = false;
    o->each[outlet].pipeline = pipeline;
    o->end = RB_RPP_OUTLETS;
    while (o->end > 0 && !o->each[o->end - 1].pipeline) o->end--;
}

void rb_rpp_outlet_switch(rb_rpp_outlet outlet, bool on)
{
    rb_rpp_all_outlets.each[outlet].on = on;
    rpp_pipeline_set_ticking(rb_rpp_outlet_pipeline(outlet), on);
}

void rb_rpp_outlets_forget_after_fork(void)
{
    rb_rpp_all_outlets = (rb_rpp_outlets){0};
    rpp_ticker_forget_after_fork(&rb_rpp_ticker);
}

void rb_rpp_join_window(rb_rpp_thread *t, rb_rpp_outlet outlet)
{
    const rpp_pipeline *pipeline = rb_rpp_outlet_pipeline(outlet);
    if (pipeline) t->windows[outlet] = rpp_pipeline_window(pipeline);
}
