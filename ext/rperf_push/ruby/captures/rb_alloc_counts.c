/* rb_alloc_counts.c - how many objects each subscriber's windows have, by the VM's counter. */
#include "captures/rb_alloc_counts.h"

#include <string.h>

#include "threads/rb_push.h"
#include "threads/rb_subscribers.h"

typedef struct counting {
    rb_rpp_alloc_settings settings;
    bool on;
    uint64_t from, sum; /* the counter when it was last read; objects since the window began */
    uint64_t cut;       /* of the window that has ended, not pushed yet */
} counting;

static counting each[RB_RPP_SUBSCRIBERS];
/* Of the objects on the way to the n-th, those of the windows before; by subscriber. */
static uint64_t elsewhere[RB_RPP_SUBSCRIBERS];
rb_rpp_alloc_paces rb_rpp_alloc_pace = {.left = UINT64_MAX};
static VALUE counter_name;

uint64_t rb_rpp_alloc_counter(void)
{
    return rb_gc_stat(counter_name);
}

const rb_rpp_alloc_settings *rb_rpp_alloc_counted(rb_rpp_subscriber subscriber)
{
    return each[subscriber].on ? &each[subscriber].settings : NULL;
}

static void read_counter(counting *c)
{
    uint64_t now = rb_rpp_alloc_counter();
    c->sum += now - c->from;
    c->from = now;
}

void rb_rpp_alloc_counts_attach(rb_rpp_subscriber subscriber, const rb_rpp_alloc_settings *settings)
{
    each[subscriber] = (counting){.settings = *settings};
}

bool rb_rpp_alloc_counts_begin(rb_rpp_subscriber subscriber)
{
    counting *c = &each[subscriber];
    c->on = c->settings.wanted;
    c->from = rb_rpp_alloc_counter();
    return c->on;
}

bool rb_rpp_alloc_counts_end(rb_rpp_subscriber subscriber)
{
    counting *c = &each[subscriber];
    if (!c->on) return false;
    read_counter(c);
    c->on = false;
    return true;
}

void rb_rpp_alloc_counts_cut(rb_rpp_subscriber subscriber)
{
    counting *c = &each[subscriber];
    if (c->on) read_counter(c);
    c->cut += c->sum;
    c->sum = 0;
    rb_rpp_alloc_leave_behind(subscriber);
}

void rb_rpp_alloc_pace_begin(uint64_t nth)
{
    rb_rpp_alloc_pace = (rb_rpp_alloc_paces){nth, nth ? nth : UINT64_MAX};
    memset(elsewhere, 0, sizeof elsewhere);
}

uint64_t rb_rpp_alloc_nth_weighs(rb_rpp_subscriber subscriber)
{
    return rb_rpp_alloc_pace.nth - elsewhere[subscriber];
}

void rb_rpp_alloc_leave_behind(rb_rpp_subscriber subscriber)
{
    elsewhere[subscriber] = rb_rpp_alloc_pace.nth ? rb_rpp_alloc_pace.nth - rb_rpp_alloc_pace.left : 0;
}

bool rb_rpp_alloc_counts_push(rb_rpp_subscriber subscriber)
{
    counting *c = &each[subscriber];
    if (!c->cut) return true;
    rpp_sample sum = {.alloc_objects = c->cut, .is_total = true};
    uint32_t ended = rpp_pipeline_window(rb_rpp_subscriber_pipeline(subscriber)) - 1;
    if (rb_rpp_push_counted(subscriber, ended, &sum, NULL) != RPP_OK) return false;
    c->cut = 0;
    return true;
}

void rb_rpp_alloc_counts_discard_after_fork(void)
{
    memset(each, 0, sizeof each);
}

void rb_rpp_alloc_counts_init(void)
{
    counter_name = ID2SYM(rb_intern("total_allocated_objects"));
}
